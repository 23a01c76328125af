// OpenCL rung 2: cyclic reduction, a group for each system, the counterpart of cuda_cr. (Book 3.2 to 3.5)
//
// Changed: the items of a group share the equations of each step and keep the system in local memory.
// Limit: half of the active items become idle in every step; on a GPU the strides cause bank conflicts in local memory.
// On a CPU device a barrier costs a loop over all items, and local memory is ordinary memory, copied for nothing.
#include "02_cr.cl.hpp"
#include "gpulab/opencl/timing.hpp"
#include "launch.hpp"

namespace tridiagonal {

template <class T> void opencl_cr(const Problem<T>& p, Output<T>& out, Stopwatch& watch) {
    check_local_memory(4 * p.n * sizeof(T));
    const ClProblem<T> in(p);
    ClOutput<T> result(p);

    cl::Kernel kernel = gpulab::opencl_kernel(cr_cl, "cr", gpulab::real_option<T>());
    const auto numbers = cl::Local(p.n * sizeof(T));
    gpulab::set_args(kernel, in.a.data(), in.b.data(), in.c.data(), in.d.data(), result.x.data(),
                     result.zero_pivot.data(), in.n, numbers, numbers, numbers, numbers);

    constexpr std::size_t local = 64;
    watch.tile(local, "unknowns"); // one round of loads; twice as many: one equation per item in the first step
    watch.tile(2 * local, "unknowns");
    gpulab::watch_kernel(watch, kernel, p.systems * local, local, gpulab::poisoning(result));
    result.copy_to(out);
}

INSTANTIATE_RUNG(opencl_cr);

} // namespace tridiagonal
