// The kernels of cuda_pipeline, cuda_warp_tiles and cuda_by_shape with copies that arrive as late as CUDA allows, on
// products of few tiles (at most 130 x 132 of C): for test_matmul.cpp.
#include "gpulab/cuda/async_copy.cuh"
#include "gpulab/cuda/buffer.hpp"
#include "gpulab/cuda/timing.hpp"
#include "gpulab/error.hpp"
#include "gpulab/math.hpp"
#include "matmul.hpp"
#include "perturbed_copies.cuh"

namespace perturbed {
using matmul::Output;
using matmul::Problem;
using matmul::Stopwatch;
} // namespace perturbed

// The lab's own kernels once more, in namespace perturbed, where gpulab::copy_async() and the others are those of
// perturbed_copies.cuh.
#define matmul perturbed
#include "cuda/09_pipeline.cu"
#include "cuda/warp_tile.cuh"
#undef matmul

namespace perturbed {

namespace {

/// A product by a kernel that `launch(a, b, c, stream)` starts with so many threads in the grid.
template <class Launch>
void multiply(const matmul::Problem<float>& p, matmul::Output<float>& c, gpulab::Stopwatch& watch, std::size_t in_grid,
              const Launch& launch) {
    if (in_grid > max_threads) throw gpulab::Error("more threads than perturbed_copies.cuh has room for");
    const gpulab::DeviceBuffer<float> a(p.a), b(p.b);
    gpulab::DeviceBuffer<float> out(p.size());
    gpulab::watch_stream(
        watch, [&](cudaStream_t stream) { launch(a.data(), b.data(), out.data(), stream); },
        [&](cudaStream_t stream) {
            forget_copies(stream);
            gpulab::poison(out, stream);
        });
    out.copy_to(c);
}

/// By the kernel in warp_tile.cuh.
template <class G>
void multiply_by_tiles(const matmul::Problem<float>& p, matmul::Output<float>& c, gpulab::Stopwatch& watch) {
    const std::size_t blocks = gpulab::ceil_div(p.m, G::rows) * gpulab::ceil_div(p.n, G::columns);
    if (!prepare_warp_tile<G>()) throw gpulab::Unsupported("needs 49 KiB of shared memory per block");
    multiply(p, c, watch, blocks * G::threads, [&](const float* a, const float* b, float* out, cudaStream_t stream) {
        const int whole = static_cast<int>(gpulab::round_up(p.k, G::depth));
        launch_warp_tile<G>(a, b, out, static_cast<int>(p.m), static_cast<int>(p.k), static_cast<int>(p.n),
                            p.n % 4 == 0, whole, 1, stream);
    });
}

} // namespace

/// By cuda_pipeline's own kernel.
void pipeline(const matmul::Problem<float>& p, matmul::Output<float>& c, gpulab::Stopwatch& watch) {
    const std::size_t blocks = gpulab::ceil_div(p.m, rows) * gpulab::ceil_div(p.n, columns);
    const auto kernel = p.n % 4 == 0 ? pipeline_kernel<true> : pipeline_kernel<false>;
    CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes));
    multiply(p, c, watch, blocks * threads, [&](const float* a, const float* b, float* out, cudaStream_t stream) {
        kernel<<<static_cast<unsigned>(blocks), threads, shared_bytes, stream>>>(
            a, b, out, static_cast<int>(p.m), static_cast<int>(p.k), static_cast<int>(p.n));
    });
}

/// With three stages and tiles of 128 x 128, as cuda_warp_tiles.
void three_stages(const matmul::Problem<float>& p, matmul::Output<float>& c, gpulab::Stopwatch& watch) {
    multiply_by_tiles<WarpTile<128, 128, 16, 64, 64, 8, 3, 2>>(p, c, watch);
}

/// With four stages and tiles of 64 x 128, as the small ones of cuda_by_shape.
void four_stages(const matmul::Problem<float>& p, matmul::Output<float>& c, gpulab::Stopwatch& watch) {
    multiply_by_tiles<WarpTile<64, 128, 16, 32, 64, 4, 4, 3>>(p, c, watch);
}

} // namespace perturbed
