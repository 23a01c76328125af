// Rung 4: four steps per pass over the memory, in local memory; the counterpart of cuda_steps.
//
// Changed: a group loads its cells into local memory and computes four steps before it writes them. It has one
// work-item per cell, but completes only the cells at least four away from its edge. Groups have 64 x 32 items where
// the device allows that many, otherwise 32 x 32, or 16 x 16.
// Limit: cells that are computed more than once (64 x 32 for 56 x 24 completed: half as many again), and on a GPU
// the barriers, two per step.
#include "04_steps.cl.hpp"
#include "launch.hpp"

namespace fdtd {

template <class T> void opencl_steps(const Problem<T>& p, Output<T>& out, Stopwatch& watch) {
    constexpr int steps_per_pass = 4;
    ClProblem<T> problem(p);
    cl::Kernel kernel;
    std::size_t x = 0, y = 0;
    const cl::Device& device = gpulab::opencl().device();
    for (const auto& [try_x, try_y] : {std::pair<std::size_t, std::size_t>{64, 32}, {32, 32}, {16, 16}}) {
        if (x != 0 || try_x * try_y > device.getInfo<CL_DEVICE_MAX_WORK_GROUP_SIZE>() ||
            3 * try_x * try_y * sizeof(T) > device.getInfo<CL_DEVICE_LOCAL_MEM_SIZE>())
            continue;
        kernel = problem.kernel(steps_cl, "some_steps",
                                fmt::format("-DLX={} -DLY={} -DSTEPS={}", try_x, try_y, steps_per_pass));
        if (try_x * try_y <= gpulab::opencl().max_work_group(kernel)) {
            x = try_x;
            y = try_y;
        }
    }
    if (x == 0) throw gpulab::Unsupported(gpulab::opencl().description().name + " has no room for a group of 16 x 16");
    const std::size_t tile_x = x - 2 * steps_per_pass, tile_y = y - 2 * steps_per_pass;
    const cl::NDRange local(x, y);
    const cl::NDRange global(gpulab::ceil_div(p.nx() + 1, tile_x) * x, gpulab::ceil_div(p.ny() + 1, tile_y) * y);
    watch.tile(tile_x, "nx");
    watch.tile(tile_y, "ny");
    watch.tile(steps_per_pass, "steps");
    run_in_turns(p, problem, out, watch, (p.rules.steps + steps_per_pass - 1) / steps_per_pass,
                 [&](const cl::CommandQueue& queue, cl_int pass, const ClFields<T>& from, const ClFields<T>& to,
                     cl::Event* event) {
                     const cl_int first = pass * steps_per_pass;
                     const cl_int count = std::min(steps_per_pass, p.rules.steps - first);
                     ClProblem<T>::set_more(kernel, from.u.data(), from.p.data(), from.q.data(), from.v.data(),
                                            to.u.data(), to.p.data(), to.q.data(), to.v.data(), first, count);
                     gpulab::enqueue(queue, kernel, global, local, event);
                 });
}

INSTANTIATE_RUNG(opencl_steps);

} // namespace fdtd
