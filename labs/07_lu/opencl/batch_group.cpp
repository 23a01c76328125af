// Batch in OpenCL: a work-group per matrix.
//
// The group copies its matrix into local memory, eliminates it there, and copies it back: each element moves twice,
// whatever n is. A step works as in the panel of opencl_blocked_pivot. Rows are an odd number of elements apart, so
// that the items, each in a row of its own, access different banks.
// Limit: local memory. A group needs about 8 n^2 bytes of it. The 48 KiB that many GPUs give a group suffice up to
// n = 77 only, and few groups fit on a compute unit at a time. While the items compare candidates, most of them wait.
#include <string>

#include "batch.hpp"
#include "batch_group.cl.hpp"
#include "device_factors.hpp"

namespace lu {

void opencl_batch_group(const Problem& p, Factors& f, Stopwatch& watch) {
    constexpr std::size_t items = 64;
    const std::size_t stride = p.n | 1, bytes = p.n * stride * sizeof(double);
    const auto most = static_cast<std::size_t>(gpulab::opencl().device().getInfo<CL_DEVICE_LOCAL_MEM_SIZE>());
    const std::size_t own = items * (sizeof(cl_double) + sizeof(cl_int)) + 64; // the kernel's arrays, and what it adds
    if (bytes + own > most)
        throw gpulab::Unsupported("a matrix takes " + std::to_string(bytes) +
                                  " bytes of local memory, and a group of this device has " +
                                  std::to_string(most - own));
    const ClFactors d(p);
    cl::Kernel kernel = gpulab::opencl_kernel(batch_group_cl, "batch", "-DITEMS=" + std::to_string(items));
    gpulab::set_args(kernel, d.lu.data(), d.pivots.data(), static_cast<cl_int>(p.n), static_cast<cl_int>(stride),
                     cl::Local(bytes));
    watch.tile(items);
    const auto launch = [&](const cl::CommandQueue& queue, gpulab::ClEvents& events) {
        enqueue(queue, events, kernel, p.count * items, 1, items, 1);
    };
    const auto reset = [&](const cl::CommandQueue& queue) { d.restore(queue); };
    gpulab::watch_queue(watch, launch, reset);
    d.copy_to(f, true);
}

} // namespace lu
