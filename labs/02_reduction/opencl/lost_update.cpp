// Study lost-update: work-items add to one number.
#include "gpulab/opencl/timing.hpp"
#include "launch.hpp"
#include "lost_update.cl.hpp"
#include "studies.hpp"

namespace reduction {

void opencl_count(std::size_t n, Addition addition, Count& count, Stopwatch& watch) {
    gpulab::ClBuffer<std::uint32_t> total(1);
    cl::Kernel kernel =
        gpulab::opencl_kernel(lost_update_cl, addition == Addition::atomic ? "add_atomic" : "add_unprotected");
    gpulab::set_args(kernel, total.data(), cl_ulong{n});
    const auto to_zero = [&](const cl::CommandQueue& queue) {
        queue.enqueueFillBuffer(total.data(), cl_uint{0}, 0, total.bytes());
    };
    gpulab::watch_kernel(watch, kernel, gpulab::global_size(n, local_size()), local_size(), to_zero);
    total.copy_to(count);
}

} // namespace reduction
