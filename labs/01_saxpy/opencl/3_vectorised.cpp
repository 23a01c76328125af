// Rung 3: float4 loads and stores, four of each array in flight, OpenCL's counterpart of cuda_vectorised.
//
// Changed: OpenCL has vector types of its own; the arithmetic on them needs no writing out. On a CPU a float4 is one
// SIMD register, on a GPU one 16-byte access.
// Limit: the memory.
#include "3_vectorised.cl.hpp"
#include "gpulab/math.hpp"
#include "gpulab/opencl/buffer.hpp"
#include "gpulab/opencl/timing.hpp"
#include "saxpy.hpp"

namespace saxpy {

void opencl_vectorised(const Problem& p, Output& c, Stopwatch& watch) {
    const gpulab::ClBuffer<float> a(p.a), b(p.b);
    gpulab::ClBuffer<float> out(p.size());

    cl::Kernel kernel = gpulab::opencl_kernel(vectorised_cl, "saxpy");
    const cl_ulong n = p.size();
    gpulab::set_args(kernel, p.k, a.data(), b.data(), out.data(), n);

    constexpr std::size_t local = 256, per_item = 4;
    const std::size_t global = gpulab::grid_size(p.size() / 4, local * per_item)* local;
    gpulab::watch_queue(watch, [&](const cl::CommandQueue& queue, gpulab::ClEvents& events) {
        queue.enqueueNDRangeKernel(kernel, cl::NullRange, cl::NDRange(global), cl::NDRange(local), nullptr,
                                   events.add());
    });
    out.copy_to(c);
}

} // namespace saxpy
