#include "perturbed_warp_tile.hpp"

#include "gpulab/cuda/async_copy.cuh"
#include "gpulab/cuda/buffer.hpp"
#include "gpulab/cuda/timing.hpp"
#include "gpulab/error.hpp"
#include "gpulab/math.hpp"
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

template <class G> void multiply(const matmul::Problem<float>& p, matmul::Output<float>& c, gpulab::Stopwatch& watch) {
    if (gpulab::ceil_div(p.m, G::rows) * gpulab::ceil_div(p.n, G::columns) * G::threads > max_threads)
        throw gpulab::Error("more threads than perturbed_copies.cuh has room for");
    if (!prepare_warp_tile<G>()) throw gpulab::Unsupported("needs 49 KiB of shared memory per block");
    const gpulab::DeviceBuffer<float> a(p.a), b(p.b);
    gpulab::DeviceBuffer<float> out(p.size());
    gpulab::watch_stream(
        watch,
        [&](cudaStream_t stream) {
            const int whole = static_cast<int>(gpulab::round_up(p.k, G::depth));
            launch_warp_tile<G>(a.data(), b.data(), out.data(), static_cast<int>(p.m), static_cast<int>(p.k),
                                static_cast<int>(p.n), p.n % 4 == 0, whole, 1, stream);
        },
        [&](cudaStream_t stream) {
            forget_copies(stream);
            gpulab::poison(out, stream);
        });
    out.copy_to(c);
}

} // namespace

void pipeline(const matmul::Problem<float>& p, matmul::Output<float>& c, gpulab::Stopwatch& watch) {
    const std::size_t blocks = gpulab::ceil_div(p.m, rows) * gpulab::ceil_div(p.n, columns);
    if (blocks * threads > max_threads) throw gpulab::Error("more threads than perturbed_copies.cuh has room for");
    const auto kernel = p.n % 4 == 0 ? pipeline_kernel<true> : pipeline_kernel<false>;
    CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes));
    const gpulab::DeviceBuffer<float> a(p.a), b(p.b);
    gpulab::DeviceBuffer<float> out(p.size());
    gpulab::watch_stream(
        watch,
        [&](cudaStream_t stream) {
            kernel<<<static_cast<unsigned>(blocks), threads, shared_bytes, stream>>>(
                a.data(), b.data(), out.data(), static_cast<int>(p.m), static_cast<int>(p.k), static_cast<int>(p.n));
        },
        [&](cudaStream_t stream) {
            forget_copies(stream);
            gpulab::poison(out, stream);
        });
    out.copy_to(c);
}

void three_stages(const matmul::Problem<float>& p, matmul::Output<float>& c, gpulab::Stopwatch& watch) {
    multiply<WarpTile<128, 128, 16, 64, 64, 8, 3, 2>>(p, c, watch);
}

void four_stages(const matmul::Problem<float>& p, matmul::Output<float>& c, gpulab::Stopwatch& watch) {
    multiply<WarpTile<64, 128, 16, 32, 64, 4, 4, 3>>(p, c, watch);
}

} // namespace perturbed
