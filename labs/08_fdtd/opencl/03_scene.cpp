// Rung 3: everything that a scene may have, OpenCL's counterpart of cuda_scene.
//
// Changed: both modes, media, absorbing layers, all boundaries, any number of sources, and probes. rules.hpp introduces
// what such a problem consists of; yee.cl computes one number of a cell. The kernels are compiled for the problem at
// run time, without the features that it does not have. A group away from borders, layers, sources and probes takes the
// book's equations.
// Limit: memory: 9 numbers per cell and step; and two launches per step.
#include "03_scene.cl.hpp"
#include "launch.hpp"

namespace fdtd {

template <class T> void opencl_scene(const Problem<T>& p, Output<T>& out, Stopwatch& watch) {
    ClProblem<T> problem(p);
    const std::string group = fmt::format("-DLX={} -DLY={}", Groups::x, Groups::y);
    cl::Kernel u_kernel = problem.kernel(scene_cl, "update_u", group);
    cl::Kernel edges_kernel = problem.kernel(scene_cl, "update_edges", group);
    const ClFields<T> start(p.start);
    ClFields<T> field(p.start);
    const Groups groups(u_kernel, p.nx() + 1, p.ny() + 1, watch);
    ClProblem<T>::set_more(u_kernel, field.u.data(), field.p.data(), field.q.data(), field.v.data(), region_of(p.rules),
                           hole_of(p.rules));
    ClProblem<T>::set_more(edges_kernel, field.u.data(), field.p.data(), field.q.data(), region_of(p.rules),
                           hole_of(p.rules));
    gpulab::watch_queue(
        watch,
        [&](const cl::CommandQueue& queue, gpulab::ClEvents& events) {
            for (cl_int step = 0; step < p.rules.steps; ++step) {
                u_kernel.setArg(15, step);
                edges_kernel.setArg(14, step);
                // Two events are enough: the time runs from the first kernel to the last.
                gpulab::enqueue(queue, u_kernel, groups.global, groups.local, step == 0 ? events.add() : nullptr);
                gpulab::enqueue(queue, edges_kernel, groups.global, groups.local,
                                step == p.rules.steps - 1 ? events.add() : nullptr);
            }
        },
        [&](const cl::CommandQueue& queue) { // a fresh start: the steps overwrite it
            copy(start, field, queue);
            gpulab::poison(problem.recorded, queue);
        });
    field.copy_to(out.field);
    problem.recorded.copy_to(out.recorded);
}

INSTANTIATE_RUNG(opencl_scene);

} // namespace fdtd
