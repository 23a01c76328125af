// Rung 2: Hz, Ex and Ey in one kernel, with Hz in local memory; OpenCL's counterpart of cuda_fused.
//
// Changed: one launch per step, and Hz is not read again: a group keeps Hz of its cells in local memory, and recomputes
// what it needs from its neighbours. Two sets of arrays take turns.
// Limit: memory: 6 numbers per cell and step instead of 9. On a CPU local memory is ordinary memory, and the
// barrier splits the kernel into two loops.
#include "02_local_tile.cl.hpp"
#include "book.cl.hpp"
#include "book.hpp"
#include "fields.hpp"

namespace fdtd {

template <class T> void opencl_local_tile(const Problem<T>& p, Output<T>& out, Stopwatch& watch) {
    const BookProblem<T> book = book_of(p);
    const Book<T>& g = book.g;
    cl::Kernel kernel =
        gpulab::opencl_kernel(std::string(book_cl) + local_tile_cl, "one_step",
                              fmt::format("{} -DLX={} -DLY={}", gpulab::real_option<T>(), Groups::x, Groups::y));
    const ClFields<T> start(book.start);
    ClFields<T> one(book.start), other(book.start.u.size());
    const Groups groups(kernel, book.nx() + 1, book.ny() + 1, watch);
    gpulab::watch_queue(
        watch,
        [&](const cl::CommandQueue& queue, gpulab::ClEvents& events) {
            ClFields<T>*from = &one, *to = &other;
            for (std::size_t step = 0; step < book.steps; ++step) {
                gpulab::set_args(kernel, g, from->u.data(), from->p.data(), from->q.data(), to->u.data(), to->p.data(),
                                 to->q.data(), book.source(step));
                // Two events are enough: the time runs from the first step to the last.
                const bool timed = step == 0 || step + 1 == book.steps;
                gpulab::enqueue(queue, kernel, groups.global, groups.local, timed ? events.add() : nullptr);
                std::swap(from, to);
            }
        },
        [&](const cl::CommandQueue& queue) {
            copy(start, one, queue);
            gpulab::poisoning(other.u, other.p, other.q)(queue);
        });
    (book.steps % 2 == 1 ? other : one).copy_to(out.field);
}

INSTANTIATE_RUNG(opencl_local_tile);

} // namespace fdtd
