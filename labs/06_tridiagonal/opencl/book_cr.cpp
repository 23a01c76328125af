// Study book-launch: opencl_cr with a group of n / 2 items, as the book launches it. (Book 3.4 and 3.5, section 3.4)
#include <algorithm>

#include "02_cr.cl.hpp"
#include "gpulab/opencl/timing.hpp"
#include "launch.hpp"
#include "studies.hpp"

namespace tridiagonal {

template <class T> void opencl_book_cr(const Problem<T>& p, Output<T>& out, Stopwatch& watch) {
    check_local_memory(5 * p.n * sizeof(T));
    const std::size_t local = std::max<std::size_t>(p.n / 2, 1);
    cl::Kernel kernel = gpulab::opencl_kernel(cr_cl, "cr", gpulab::real_option<T>());
    if (local > gpulab::opencl().max_work_group(kernel))
        throw gpulab::Unsupported(std::to_string(p.n) + " unknowns need larger groups than this device allows");
    const ClProblem<T> in(p);
    ClOutput<T> result(p);
    const auto numbers = cl::Local(p.n * sizeof(T));
    const auto d_and_x = cl::Local(2 * p.n * sizeof(T)); // the book keeps them apart: 5 n numbers for a group
    gpulab::set_args(kernel, in.a.data(), in.b.data(), in.c.data(), in.d.data(), result.x.data(),
                     result.zero_pivot.data(), in.n, numbers, numbers, numbers, d_and_x);
    gpulab::watch_kernel(watch, kernel, p.systems * local, local, gpulab::poisoning(result));
    result.copy_to(out);
}

INSTANTIATE_RUNG(opencl_book_cr);

} // namespace tridiagonal
