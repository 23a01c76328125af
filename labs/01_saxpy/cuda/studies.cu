// The kernels of the studies: SAXPY with a variable block size or stride, and two branches of equal length.
// (Alfaro Vigo & Rossetto, sections 2.3.1, 2.3.4 and 2.3.6)
#include "gpulab/cuda/occupancy.hpp"
#include "gpulab/cuda/timing.hpp"
#include "gpulab/error.hpp"
#include "studies.hpp"

namespace saxpy {

/// One thread per element, for any block size.
__global__ void block_size_kernel(float k, const float* a, const float* b, float* c, std::size_t n) {
    // ANSWER many-blocks
    //| // withheld, because it tells the answer of the exercise many-blocks
    //| (void)k, (void)a, (void)b, (void)c, (void)n;
    const std::size_t i = blockIdx.x * std::size_t{blockDim.x} + threadIdx.x;
    if (i < n) c[i] = k * a[i] + b[i];
    // END ANSWER
}

/// Neighbouring threads touch elements `stride` apart. Memory is read in sectors of 32 bytes: with stride 1 the loads
/// of a warp use 4 whole sectors; from stride 8 on each load needs a sector of its own and uses 1/8 of it.
///
/// Index: the grid's x is the row, its y the position in the row, so that no thread has to divide.
__global__ void strided_kernel(float k, const float* a, const float* b, float* c, std::size_t n) {
    const std::size_t row = blockIdx.x * std::size_t{blockDim.x} + threadIdx.x;
    const std::size_t i = row * gridDim.y + blockIdx.y;
    if (i < n) c[i] = k * a[i] + b[i];
}

/// Two branches of equal length. A warp issues each instruction for all of its threads that take the same branch. When
/// its threads diverge, it runs the first branch while the threads of the second are idle, and then the second.
__global__ void divergence_kernel(bool even_odd, std::uint32_t* out, std::size_t n) {
    const std::size_t i = blockIdx.x * std::size_t{blockDim.x} + threadIdx.x;
    if (i >= n) return;
    const bool first = even_odd ? i % 2 == 0 : i / 32 % 2 == 0;
    auto x = static_cast<std::uint32_t>(i + 1);
    if (first) {
        for (unsigned r = 0; r < mixing_rounds; ++r) {
            x ^= x >> 13;
            x ^= x << 17;
            x ^= x >> 5;
        }
    } else {
        for (unsigned r = 0; r < mixing_rounds; ++r) {
            x ^= x << 13;
            x ^= x >> 17;
            x ^= x << 5;
        }
    }
    out[i] = x;
}

void cuda_copies_and_kernel(const Problem& p, Output& c, Stopwatch& watch) {
    gpulab::DeviceBuffer<float> a(p.size()), b(p.size()), out(p.size()); // allocated before the time starts
    constexpr unsigned threads = 256;
    // ANSWER many-blocks
    //| const unsigned blocks = 1;
    //| throw gpulab::Unsupported("withheld, because it tells the answer of the exercise many-blocks");
    const unsigned blocks = gpulab::grid_size(p.size(), threads);
    // END ANSWER
    const auto launch = [&](cudaStream_t stream) { // the commands of a stream run one after another
        CUDA_CHECK(cudaMemcpyAsync(a.data(), p.a.data(), a.bytes(), cudaMemcpyHostToDevice, stream));
        CUDA_CHECK(cudaMemcpyAsync(b.data(), p.b.data(), b.bytes(), cudaMemcpyHostToDevice, stream));
        block_size_kernel<<<blocks, threads, 0, stream>>>(p.k, a.data(), b.data(), out.data(), p.size());
        CUDA_CHECK_LAUNCH();
        CUDA_CHECK(cudaMemcpyAsync(c.data(), out.data(), out.bytes(), cudaMemcpyDeviceToHost, stream));
    };
    gpulab::watch_stream(watch, launch, gpulab::poisoning(a, b, out));
    out.check_guard_bands();
}

void cuda_block_size(const Problem& p, Output& c, Stopwatch& watch, unsigned threads) {
    const gpulab::DeviceBuffer<float> a(p.a), b(p.b);
    gpulab::DeviceBuffer<float> out(p.size());
    // ANSWER many-blocks
    //| const unsigned blocks = 1;
    //| throw gpulab::Unsupported("withheld, because it tells the answer of the exercise many-blocks");
    const unsigned blocks = gpulab::grid_size(p.size(), threads);
    // END ANSWER
    const auto launch = [&](cudaStream_t stream) {
        block_size_kernel<<<blocks, threads, 0, stream>>>(p.k, a.data(), b.data(), out.data(), p.size());
    };
    gpulab::watch_stream(watch, launch, gpulab::poisoning(out));
    out.copy_to(c);
}

BlockOccupancy cuda_block_occupancy(unsigned threads) {
    const gpulab::Occupancy o = gpulab::occupancy(block_size_kernel, static_cast<int>(threads));
    return {o.blocks_per_sm, o.warps_per_sm, o.percent};
}

void cuda_strided(const Problem& p, Output& c, Stopwatch& watch, unsigned stride) {
    const gpulab::DeviceBuffer<float> a(p.a), b(p.b);
    gpulab::DeviceBuffer<float> out(p.size());
    constexpr unsigned threads = 256;
    const std::size_t rows = gpulab::ceil_div(p.size(), stride);
    const dim3 blocks(gpulab::grid_size(rows, threads), stride);
    const auto launch = [&](cudaStream_t stream) {
        strided_kernel<<<blocks, threads, 0, stream>>>(p.k, a.data(), b.data(), out.data(), p.size());
    };
    gpulab::watch_stream(watch, launch, gpulab::poisoning(out));
    out.copy_to(c);
}

void cuda_divergence(Branch branch, Mixed& out, Stopwatch& watch) {
    gpulab::DeviceBuffer<std::uint32_t> result(out.size());
    constexpr unsigned threads = 256;
    const unsigned blocks = gpulab::grid_size(out.size(), threads);
    const auto launch = [&](cudaStream_t stream) {
        divergence_kernel<<<blocks, threads, 0, stream>>>(branch == Branch::even_odd, result.data(), out.size());
    };
    gpulab::watch_stream(watch, launch, gpulab::poisoning(result));
    result.copy_to(out);
}

} // namespace saxpy
