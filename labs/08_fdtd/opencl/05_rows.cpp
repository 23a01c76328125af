// Rung 5: one work-item per band of rows, for a device that is a CPU; the counterpart of cpu_threads.
//
// Changed: a CPU device runs the items of a group in a loop, one after the other, and a work-item per cell leaves the
// tests for borders, layers and sources in that loop. Here the loops are in the kernel: along a row, without tests
// wherever none are needed, so that the compiler turns them into vector instructions. A step is one launch, and it
// changes the field in place: U, P and Q of a row are computed one after the other, while the row is in the cache, and
// no second field takes up cache. There are four bands per core. A band reads the rows of its neighbours, which change
// at the same time, from copies that they made after the previous step.
// Limit: on a CPU, its memory or cache, and a launch per step. On a GPU neighbouring items access numbers that are
// rows apart, and there are few items.
#include "05_rows.cl.hpp"
#include "launch.hpp"

namespace fdtd {

template <class T> void opencl_rows(const Problem<T>& p, Output<T>& out, Stopwatch& watch) {
    ClProblem<T> problem(p);
    cl::Kernel first = problem.kernel(rows_cl, "copies_of_band"), kernel = problem.kernel(rows_cl, "step_of_band");
    const std::size_t wanted = 4 * gpulab::opencl().device().template getInfo<CL_DEVICE_MAX_COMPUTE_UNITS>();
    const std::size_t rows = gpulab::ceil_div(p.ny(), wanted), bands = gpulab::ceil_div(p.ny(), rows);
    const ClFields<T> start(p.start);
    ClFields<T> field(p.start);
    constexpr std::size_t copies = 5; // of each band: see 05_rows.cl
    gpulab::ClBuffer<T> one(copies * bands * p.pitch()), other(copies * bands * p.pitch());
    // The hole in the region without tests. Probes are not in it: they are only read, and a box around sources and
    // probes can be a large part of the grid.
    const Box& driven = p.rules.driven;
    const cl_int4 sources = {{driven.x0, driven.y0, driven.x1, driven.y1}};
    ClProblem<T>::set_more(first, field.u.data(), field.p.data(), field.q.data(), field.v.data(), one.data(),
                           static_cast<cl_int>(rows));
    watch.tile(rows, "ny");
    gpulab::watch_queue(
        watch,
        [&](const cl::CommandQueue& queue, gpulab::ClEvents& events) {
            gpulab::enqueue(queue, first, bands, 1, events.add());
            for (cl_int step = 0; step < p.rules.steps; ++step) {
                const bool even = step % 2 == 0;
                ClProblem<T>::set_more(kernel, field.u.data(), field.p.data(), field.q.data(), field.v.data(),
                                       (even ? one : other).data(), (even ? other : one).data(),
                                       static_cast<cl_int>(rows), region_of(p.rules), sources, step);
                gpulab::enqueue(queue, kernel, bands, 1, step == p.rules.steps - 1 ? events.add() : nullptr);
            }
        },
        [&](const cl::CommandQueue& queue) { // a fresh start: the steps overwrite it
            copy(start, field, queue);
            gpulab::poisoning(problem.recorded, one, other)(queue);
        });
    field.copy_to(out.field);
    problem.recorded.copy_to(out.recorded);
}

INSTANTIATE_RUNG(opencl_rows);

} // namespace fdtd
