// Rung 4: one float4 per work-item, the counterpart of cuda_float4.
//
// Changed from opencl_one_item: each load and store moves 16 bytes, so an item has four times as many bytes in
// flight. OpenCL C has arithmetic on vectors: k * a4[v] + b4[v] computes four elements. On a CPU a float4 is one SIMD
// register, on a GPU one 16-byte access.
// Limit: the memory.
#include "04_vectorised.cl.hpp"
#include "gpulab/opencl/timing.hpp"
#include "saxpy.hpp"

namespace saxpy {

void opencl_vectorised(const Problem& p, Output& c, Stopwatch& watch) {
    const gpulab::ClBuffer<float> a(p.a), b(p.b);
    gpulab::ClBuffer<float> out(p.size());

    cl::Kernel kernel = gpulab::opencl_kernel(vectorised_cl, "saxpy");
    const cl_ulong n = p.size();
    gpulab::set_args(kernel, p.k, a.data(), b.data(), out.data(), n);

    constexpr std::size_t local = 256;
    const std::size_t global = gpulab::global_size(n / 4, local);
    watch.tile(4 * local);
    gpulab::watch_kernel(watch, kernel, global, local, gpulab::poisoning(out));
    out.copy_to(c);
}

} // namespace saxpy
