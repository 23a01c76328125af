// Rung 2: one block. (Alfaro Vigo & Rossetto, program 2.1)
//
// Changed: one block instead of many, so threadIdx.x alone is the index, and n can be at most the number of threads
// in a block (1024 on today's GPUs). A larger n is refused with a message; it must not leave the array half
// computed.
//
// From here on the rungs use these helpers:
// - DeviceBuffer a(p.a) allocates memory on the device and copies p.a into it. It frees the memory at the end of its
//   scope. CUDA_CHECK checks an error code.
// - watch_stream makes a stream, runs the launch in it several times, and times each run with two events. A stream is
//   a sequence of commands that the device carries out in order.
// - The launch now has four parameters, <<<blocks, threads, bytes, stream>>>. `bytes` is the size of an array in
//   shared memory; these kernels have none, so it is 0. The last parameter is the stream.
// - poisoning(out) fills out with NaN before every run.
// - watch.tile tells the tests at which sizes the kernel splits its work; they test the sizes next to these.
//
// Limit: one block runs on one multiprocessor. All others are idle.
#include <string>

#include "gpulab/cuda/timing.hpp"
#include "gpulab/error.hpp"
#include "saxpy.hpp"

namespace saxpy {

/// One thread per element of one block; n = blockDim.x.
__global__ void one_block_kernel(float k, const float* a, const float* b, float* c) {
    const unsigned i = threadIdx.x;
    c[i] = k * a[i] + b[i];
}

void cuda_one_block(const Problem& p, Output& c, Stopwatch& watch) {
    int device = 0, most = 0;
    CUDA_CHECK(cudaGetDevice(&device));
    CUDA_CHECK(cudaDeviceGetAttribute(&most, cudaDevAttrMaxThreadsPerBlock, device));
    if (p.size() > static_cast<std::size_t>(most))
        throw gpulab::Unsupported("n = " + std::to_string(p.size()) + " does not fit one block of " +
                                  std::to_string(most) + " threads");

    const gpulab::DeviceBuffer<float> a(p.a), b(p.b);
    gpulab::DeviceBuffer<float> out(p.size());
    watch.tile(static_cast<std::size_t>(most));
    const auto launch = [&](cudaStream_t stream) {
        if (p.size() == 0) return; // a block of no threads is an error
        one_block_kernel<<<1, static_cast<unsigned>(p.size()), 0, stream>>>(p.k, a.data(), b.data(), out.data());
    };
    gpulab::watch_stream(watch, launch, gpulab::poisoning(out));
    out.copy_to(c);
}

} // namespace saxpy
