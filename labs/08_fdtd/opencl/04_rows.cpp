// Rung 4: one work-item per band of rows, for a device that is a CPU; the counterpart of cpu_threads.
//
// Changed: a CPU device runs the items of a group in a loop, one after the other, and a work-item per cell leaves the
// tests for borders, layers and sources in that loop. Here the loops are in the kernel: along a row, without tests
// wherever none are needed, so that the compiler turns them into vector instructions. U, P and Q of a row are computed
// one after the other, while the row is in the cache, and a step is one launch. There are four bands per core. Only
// the first row of a band is computed twice.
// Limit: on a CPU, its memory or cache, and a launch per step. On a GPU neighbouring items access numbers that are
// rows apart, and the items are few.
#include "04_rows.cl.hpp"
#include "launch.hpp"

namespace fdtd {

template <class T> void opencl_rows(const Problem<T>& p, Output<T>& out, Stopwatch& watch) {
    ClProblem<T> problem(p);
    cl::Kernel kernel = problem.kernel(rows_cl, "step_of_band");
    const std::size_t wanted = 4 * gpulab::opencl().device().template getInfo<CL_DEVICE_MAX_COMPUTE_UNITS>();
    const std::size_t rows = gpulab::ceil_div(p.ny(), wanted), bands = gpulab::ceil_div(p.ny(), rows);
    const gpulab::ClBuffer<T> below(bands * p.pitch());
    // The hole in the region without tests. Probes are not in it: they are only read, and a box around sources and
    // probes can be a large part of the grid.
    const Box& driven = p.rules.driven;
    const cl_int4 sources = {{driven.x0, driven.y0, driven.x1, driven.y1}};
    watch.tile(rows, "ny");
    run_in_turns(p, problem, out, watch,
                 [&](const cl::CommandQueue& queue, gpulab::ClEvents& events, ClFields<T>& one, ClFields<T>& other) {
                     ClFields<T>*from = &one, *to = &other;
                     for (cl_int step = 0; step < p.rules.steps; ++step) {
                         ClProblem<T>::set_more(kernel, from->u.data(), from->p.data(), from->q.data(), from->v.data(),
                                                to->u.data(), to->p.data(), to->q.data(), to->v.data(), below.data(),
                                                static_cast<cl_int>(rows), region_of(p.rules), sources, step);
                         const bool end = step == 0 || step == p.rules.steps - 1;
                         queue.enqueueNDRangeKernel(kernel, cl::NullRange, cl::NDRange(bands), cl::NDRange(1), nullptr,
                                                    end ? events.add() : nullptr);
                         std::swap(from, to);
                     }
                     return p.rules.steps % 2 == 1;
                 });
}

template void opencl_rows(const Problem<float>&, Output<float>&, Stopwatch&);
template void opencl_rows(const Problem<double>&, Output<double>&, Stopwatch&);

} // namespace fdtd
