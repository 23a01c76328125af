// Rung 1: two kernels per step, one work-item per cell, OpenCL's counterpart of cuda_coalesced.
//
// update_h computes Hz, update_e Ex and Ey; the queue runs one kernel after the other, so all of Hz is there when Ex
// and Ey are computed. This rung and the next compute the book's problem only (book.hpp).
// Limit: memory: 9 numbers per cell and step, as in cuda_coalesced; and two launches per step.
#include "01_plain.cl.hpp"
#include "book.cl.hpp"
#include "book.hpp"
#include "fields.hpp"

namespace fdtd {

template <class T> void opencl_plain(const Problem<T>& p, Output<T>& out, Stopwatch& watch) {
    const BookProblem<T> book = book_of(p);
    const Book<T>& g = book.g;
    const std::string source = std::string(book_cl) + plain_cl, options = gpulab::real_option<T>();
    cl::Kernel h_kernel = gpulab::opencl_kernel(source, "update_h", options);
    cl::Kernel e_kernel = gpulab::opencl_kernel(source, "update_e", options);
    const ClFields<T> start(book.start);
    ClFields<T> field(book.start);
    const Groups groups(h_kernel, book.nx(), book.ny(), watch);
    gpulab::set_args(e_kernel, g, field.u.data(), field.p.data(), field.q.data());
    const auto launch = [&](const cl::CommandQueue& queue, gpulab::ClEvents& events) {
        for (std::size_t step = 0; step < book.steps; ++step) {
            gpulab::set_args(h_kernel, g, field.u.data(), field.p.data(), field.q.data(), book.source(step));
            // Two events are enough: the time runs from the first kernel to the last.
            gpulab::enqueue(queue, h_kernel, groups.global, groups.local, step == 0 ? events.add() : nullptr);
            gpulab::enqueue(queue, e_kernel, groups.global, groups.local,
                            step + 1 == book.steps ? events.add() : nullptr);
        }
    };
    const auto reset = [&](const cl::CommandQueue& queue) { copy(start, field, queue); };
    gpulab::watch_queue(watch, launch, reset); // a fresh start: the steps overwrite it
    field.copy_to(out.field);
}

INSTANTIATE_RUNG(opencl_plain);

} // namespace fdtd
