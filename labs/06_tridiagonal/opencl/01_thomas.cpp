// OpenCL rung 1: Thomas, a work-item for each system, the counterpart of cuda_thomas. (Book, exercise 3.3)
//
// Limit: on a GPU neighbouring items read numbers that lie n apart, so their loads do not coalesce; on a CPU device
// each core walks through its systems, which is the natural order there. A single system has a single item.
#include "01_thomas.cl.hpp"
#include "gpulab/opencl/timing.hpp"
#include "launch.hpp"

namespace tridiagonal {

template <class T> void opencl_thomas(const Problem<T>& p, Output<T>& out, Stopwatch& watch) {
    if (!gpulab::opencl().description().is_cpu) check_one_thread(p.n); // one core of a CPU is fast enough
    const ClProblem<T> in(p);
    ClOutput<T> result(p);
    gpulab::ClBuffer<T> c_new(p.size());

    cl::Kernel kernel = gpulab::opencl_kernel(thomas_cl, "thomas", gpulab::real_option<T>());
    gpulab::set_args(kernel, in.a.data(), in.b.data(), in.c.data(), in.d.data(), c_new.data(), result.x.data(),
                     result.zero_pivot.data(), in.n, in.systems);

    constexpr std::size_t local = 64;
    const std::size_t global = gpulab::round_up(p.systems, local);
    watch.tile(local, "systems");
    gpulab::watch_kernel(watch, kernel, global, local, gpulab::poisoning(result, c_new));
    result.copy_to(out);
}

INSTANTIATE_RUNG(opencl_thomas);

} // namespace tridiagonal
