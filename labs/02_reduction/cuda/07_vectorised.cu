// Rung 7: 16-byte loads, several in flight, and several accumulators.
//
// Changed: private_sum() in private_sum.cuh. One instruction loads 16 bytes, and a thread asks for four such vectors
// before it adds the first, so that 64 bytes per thread are on their way where there were 4. By Little's law the bytes
// in flight are bandwidth times latency. On an H200 rung 6 has 132 multiprocessors x 2048 threads x 4 bytes = 1.1 MB
// under way and reaches 2.5 TB/s: a load takes some 430 ns. For the 4.2 TB/s of a copy that is 1.8 MB, and more, since
// a busy memory answers later.
// Each component of the vector has an accumulator of its own: four chains of additions (two for double) for one.
// The blocks are larger too, 512 threads, which leaves half as many sums to the second launch; and __ldg tells the
// compiler that nobody writes the array meanwhile, so that loads may be moved before other work.
// Limit: memory while n is large. When n is small: two launches and a copy, each some microseconds.
#include "block_sum.cuh"
#include "gpulab/cuda/buffer.hpp"
#include "gpulab/cuda/occupancy.hpp"
#include "gpulab/cuda/timing.hpp"
#include "gpulab/poisoning.hpp"
#include "private_sum.cuh"
#include "reduction.hpp"

namespace reduction {

namespace {
constexpr unsigned threads = 512;
constexpr unsigned loads = 4; // 16-byte loads in flight per thread
} // namespace

/// Any n with any grid; the sum of each block goes to sums[blockIdx.x]. `a` starts at a multiple of 16 bytes.
template <class T> __global__ void __launch_bounds__(threads) vectorised_kernel(const T* a, std::size_t n, T* sums) {
    const T all = block_sum<threads>(private_sum<threads, loads>(a, n));
    if (threadIdx.x == 0) sums[blockIdx.x] = all;
}

template <class T> void cuda_vectorised(const SumProblem<T>& p, Scalar<T>& sum, Stopwatch& watch) {
    const gpulab::DeviceBuffer<T> a(p.a);
    const auto per_sm = static_cast<unsigned>(gpulab::occupancy(vectorised_kernel<T>, threads).blocks_per_sm);
    const unsigned resident = per_sm * gpulab::multiprocessor_count();
    const unsigned blocks = block_count<threads, loads, T>(p.size(), resident);
    gpulab::DeviceBuffer<T> sums(blocks), result(1);
    gpulab::PinnedBuffer<T> host(1, cudaHostAllocMapped);
    const auto launch = [&](cudaStream_t stream) {
        vectorised_kernel<<<blocks, threads, 0, stream>>>(a.data(), p.size(), sums.data());
        CUDA_CHECK_LAUNCH();
        vectorised_kernel<<<1, threads, 0, stream>>>(sums.data(), blocks, result.data());
        CUDA_CHECK_LAUNCH();
        CUDA_CHECK(cudaMemcpyAsync(host.data(), result.data(), sizeof(T), cudaMemcpyDeviceToHost, stream));
    };
    watch.tile(tile_size<threads, loads, T>);
    watch.tile(resident * tile_size<threads, loads, T>);
    gpulab::watch_stream(watch, launch, gpulab::poisoning(sums, result, host));
    sums.check_guard_bands();
    result.check_guard_bands();
    sum[0] = host[0];
}

template SumRun<float> cuda_vectorised<float>;
template SumRun<double> cuda_vectorised<double>;

} // namespace reduction
