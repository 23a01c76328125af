// Study block-shapes: opencl_plain with groups of block_x x block_y items, the counterpart of cuda_block_shape.
#include "01_plain.cl.hpp"
#include "book.cl.hpp"
#include "fields.hpp"
#include "studies.hpp"

namespace fdtd {

template <class T> void opencl_block_shape(const Problem<T>& p, Output<T>& out, Stopwatch& watch) {
    const BookProblem<T> book = book_of(p);
    const std::string source = std::string(book_cl) + plain_cl, options = gpulab::real_option<T>();
    cl::Kernel h_kernel = gpulab::opencl_kernel(source, "update_h", options);
    cl::Kernel e_kernel = gpulab::opencl_kernel(source, "update_e", options);
    const std::size_t x = book.block_x, y = book.block_y;
    if (x * y > gpulab::opencl().max_work_group(h_kernel))
        throw gpulab::Unsupported(fmt::format("a group of {} work-items is more than this device takes", x * y));
    const ClFields<T> start(book.start);
    ClFields<T> field(book.start);
    gpulab::set_args(e_kernel, book.g, field.u.data(), field.p.data(), field.q.data());
    const cl::NDRange local(x, y), global(gpulab::round_up(book.nx(), x), gpulab::round_up(book.ny(), y));
    const auto launch = [&](const cl::CommandQueue& queue, gpulab::ClEvents& events) {
        for (std::size_t step = 0; step < book.steps; ++step) {
            gpulab::set_args(h_kernel, book.g, field.u.data(), field.p.data(), field.q.data(), book.source(step));
            gpulab::enqueue(queue, h_kernel, global, local, step == 0 ? events.add() : nullptr);
            gpulab::enqueue(queue, e_kernel, global, local, step + 1 == book.steps ? events.add() : nullptr);
        }
    };
    gpulab::watch_queue(watch, launch, [&](const cl::CommandQueue& queue) { copy(start, field, queue); });
    field.copy_to(out.field);
}

INSTANTIATE_RUNG(opencl_block_shape);

} // namespace fdtd
