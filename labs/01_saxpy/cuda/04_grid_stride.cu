// Rung 4: a grid that just fills the device; each thread computes many elements.
//
// Changed: the number of blocks depends on the device, not on n. With G threads in the grid, a thread takes the
// elements i, i + G, i + 2G, ... This is the order of cpu_interleaved. On a GPU it is the right one, because the 32
// threads of a warp read 32 neighbouring floats at each step. One grid serves every n, and a thread does the work
// before its loop only once.
// Limit: each thread waits for its two 4-byte loads before it requests the next two: 8 bytes in flight.
#include <algorithm>

#include "gpulab/cuda/occupancy.hpp"
#include "gpulab/cuda/timing.hpp"
#include "saxpy.hpp"

namespace saxpy {

/// Any n with any grid.
__global__ void grid_stride_kernel(float k, const float* a, const float* b, float* c, std::size_t n) {
    // EXERCISE repair-stride
    //| // TODO: these lines have a mistake. Find it and repair it.
    const std::size_t stride = gridDim.x * std::size_t{blockDim.x};
    for (std::size_t i = blockIdx.x * std::size_t{blockDim.x} + threadIdx.x; i < n; i += stride) c[i] = k * a[i] + b[i];
    // END EXERCISE
}

void cuda_grid_stride(const Problem& p, Output& c, Stopwatch& watch) {
    const gpulab::DeviceBuffer<float> a(p.a), b(p.b);
    gpulab::DeviceBuffer<float> out(p.size());

    constexpr unsigned threads = 256;
    const unsigned resident = gpulab::resident_blocks(grid_stride_kernel, threads);
    const unsigned blocks = std::min(gpulab::grid_size(p.size(), threads), resident);
    const auto launch = [&](cudaStream_t stream) {
        grid_stride_kernel<<<blocks, threads, 0, stream>>>(p.k, a.data(), b.data(), out.data(), p.size());
    };
    gpulab::watch_stream(watch, launch, gpulab::poisoning(out));
    out.copy_to(c);
}

} // namespace saxpy
