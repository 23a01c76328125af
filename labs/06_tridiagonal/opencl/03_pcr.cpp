// OpenCL rung 3: parallel cyclic reduction, a group for each system and an item for each equation, the counterpart of
// cuda_pcr. (Book 3.7, exercise 3.1)
//
// Changed: no item becomes idle, and there is no back substitution.
// Limit: n log2 n reductions; and n items must fit in a group.
#include <algorithm>
#include <bit>

#include "03_pcr.cl.hpp"
#include "gpulab/opencl/timing.hpp"
#include "launch.hpp"

namespace tridiagonal {

template <class T> void opencl_pcr(const Problem<T>& p, Output<T>& out, Stopwatch& watch) {
    check_local_memory(4 * p.n * sizeof(T));
    const auto most = gpulab::opencl().device().getInfo<CL_DEVICE_MAX_WORK_GROUP_SIZE>();
    // A power of two, so that a few programs serve all n: the size is a constant of the kernel.
    const std::size_t local = std::bit_ceil(std::max<std::size_t>(p.n, 32));
    if (local > most)
        throw gpulab::Unsupported(std::to_string(p.n) + " unknowns are more than a group has items, " +
                                  std::to_string(most));
    cl::Kernel kernel =
        gpulab::opencl_kernel(pcr_cl, "pcr", gpulab::real_option<T>() + " -DGROUP=" + std::to_string(local));
    const ClProblem<T> in(p);
    ClOutput<T> result(p);

    const auto numbers = cl::Local(p.n * sizeof(T));
    gpulab::set_args(kernel, in.a.data(), in.b.data(), in.c.data(), in.d.data(), result.x.data(),
                     result.zero_pivot.data(), in.n, numbers, numbers, numbers, numbers);

    watch.tile(32, "unknowns");
    watch.tile(most, "unknowns");
    gpulab::watch_kernel(watch, kernel, p.systems * local, local, gpulab::poisoning(result));
    result.copy_to(out);
}

INSTANTIATE_RUNG(opencl_pcr);

} // namespace tridiagonal
