// Rung 6: each thread has four float4 of each array in flight.
//
// Changed: a thread requests four float4 of each array before it uses the first, so the number of threads is
// again divided by four. Loads that do not depend on each other are in flight together.
// Index: a block owns a tile of 4 x blockDim.x float4; thread t takes number t, t + blockDim.x, ... of these
// float4, so that a warp always reads 32 neighbours (512 bytes).
//
// New in the code:
// - `#pragma unroll` makes the compiler unroll the loop. The index of x[j] and y[j] is then a constant, so that the
//   two arrays can be held in registers.
// - __launch_bounds__(256) promises that no block has more threads than that, so the compiler knows how many
//   registers each thread may use.
// - __ldcs and __stcs load and store data that is used only once: the cache may evict it first.
// - __restrict__ promises that c does not overlap a or b. The compiler may then move a load ahead of a store.
//
// Limit: the memory.
#include "gpulab/cuda/timing.hpp"
#include "saxpy.hpp"

namespace saxpy {

namespace {

constexpr unsigned threads = 256;
constexpr unsigned per_thread = 4; // float4 of each array
constexpr unsigned tile = threads * per_thread;

__device__ float4 saxpy4(float k, float4 a, float4 b) {
    return {k * a.x + b.x, k * a.y + b.y, k * a.z + b.z, k * a.w + b.w};
}

} // namespace

/// Any n. The arrays start at multiples of 16 bytes, as cudaMalloc gives them.
__global__ void __launch_bounds__(threads)
    vectorised_kernel(float k, const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c,
                      std::size_t n) {
    const std::size_t vectors = n / 4;
    const auto* a4 = reinterpret_cast<const float4*>(a);
    const auto* b4 = reinterpret_cast<const float4*>(b);
    auto* c4 = reinterpret_cast<float4*>(c);

    // ANSWER many-blocks repair-stride
    const std::size_t first = blockIdx.x * std::size_t{tile} + threadIdx.x;
    if (first + (per_thread - 1) * threads < vectors) { // a whole tile: all loads before the first use
        float4 x[per_thread], y[per_thread];
#pragma unroll
        for (unsigned j = 0; j < per_thread; ++j) x[j] = __ldcs(&a4[first + j * threads]);
#pragma unroll
        for (unsigned j = 0; j < per_thread; ++j) y[j] = __ldcs(&b4[first + j * threads]);
#pragma unroll
        for (unsigned j = 0; j < per_thread; ++j) __stcs(&c4[first + j * threads], saxpy4(k, x[j], y[j]));
    } else {
        for (unsigned j = 0; j < per_thread; ++j) {
            const std::size_t v = first + j * threads;
            if (v < vectors) c4[v] = saxpy4(k, a4[v], b4[v]);
        }
    }

    // n mod 4 elements are left over at the end: the first threads of the grid take one each.
    const std::size_t i = vectors * 4 + threadIdx.x;
    if (blockIdx.x == 0 && i < n) c[i] = k * a[i] + b[i];
    // END ANSWER
}

void cuda_vectorised(const Problem& p, Output& c, Stopwatch& watch) {
    const gpulab::DeviceBuffer<float> a(p.a), b(p.b);
    gpulab::DeviceBuffer<float> out(p.size());
    const unsigned blocks = gpulab::grid_size(p.size() / 4, tile);
    watch.tile(4 * std::size_t{tile});
    const auto launch = [&](cudaStream_t stream) {
        vectorised_kernel<<<blocks, threads, 0, stream>>>(p.k, a.data(), b.data(), out.data(), p.size());
    };
    gpulab::watch_stream(watch, launch, gpulab::poisoning(out));
    out.copy_to(c);
}

} // namespace saxpy
