// Study lost-update: threads of a GPU add to one number.
//
// Without an atomic operation the lanes of a warp load the same number and store the same sum: of 32 additions at most
// one counts, and other warps overwrite that one too. `volatile` keeps the load and the store in each thread; it
// protects nothing. (Alfaro Vigo & Rossetto, section 2.3.4: several threads of a warp write to one place)
#include "gpulab/cuda/timing.hpp"
#include "studies.hpp"

namespace reduction {

/// One addition of 1 per thread. Deliberately wrong.
__global__ void add_unprotected_kernel(volatile unsigned* total, std::size_t n) {
    const std::size_t i = blockIdx.x * std::size_t{blockDim.x} + threadIdx.x;
    if (i < n) *total = *total + 1;
}

/// The same, right.
__global__ void add_atomic_kernel(unsigned* total, std::size_t n) {
    const std::size_t i = blockIdx.x * std::size_t{blockDim.x} + threadIdx.x;
    if (i < n) atomicAdd(total, 1u);
}

void cuda_count(std::size_t n, Addition addition, Count& count, Stopwatch& watch) {
    gpulab::DeviceBuffer<std::uint32_t> total(1);
    constexpr unsigned threads = 256;
    const unsigned blocks = gpulab::grid_size(n, threads);
    const auto launch = [&](cudaStream_t stream) {
        if (addition == Addition::atomic) add_atomic_kernel<<<blocks, threads, 0, stream>>>(total.data(), n);
        else add_unprotected_kernel<<<blocks, threads, 0, stream>>>(total.data(), n);
    };
    const auto to_zero = [&](cudaStream_t stream) {
        CUDA_CHECK(cudaMemsetAsync(total.data(), 0, total.bytes(), stream));
    };
    gpulab::watch_stream(watch, launch, to_zero);
    total.copy_to(count);
}

} // namespace reduction
