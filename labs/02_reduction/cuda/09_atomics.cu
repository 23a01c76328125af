// Rung 9: one launch, and every block adds its sum to one number by an atomic addition.
//
// Changed: atomicAdd in place of the ticket and the last block's work. The kernel is shorter; but the result must be 0
// before every launch, which takes a memset in the stream, and it should lie in device memory, because an atomic
// addition to host memory crosses the bus for each block; so a copy follows at the end. The blocks finish in any order,
// so the last bits of a floating-point sum differ from run to run.
// Limit: as rung 8, plus the memset and the copy. One atomicAdd per block; one per element would be n additions to the
// same address, one after another.
#include "block_sum.cuh"
#include "gpulab/cuda/occupancy.hpp"
#include "gpulab/cuda/timing.hpp"
#include "private_sum.cuh"
#include "reduction.hpp"

namespace reduction {

namespace {
constexpr unsigned threads = 512;
constexpr unsigned loads = 4;
} // namespace

/// Any n with any grid. @param result 0 before the launch
template <class T> __global__ void __launch_bounds__(threads) atomics_kernel(const T* a, std::size_t n, T* result) {
    const T mine = block_sum<threads>(private_sum<threads, loads>(a, n));
    if (threadIdx.x == 0) atomicAdd(result, mine);
}

template <class T> void cuda_atomics(const SumProblem<T>& p, Scalar<T>& sum, Stopwatch& watch) {
    const gpulab::DeviceBuffer<T> a(p.a);
    const unsigned resident = gpulab::resident_blocks(atomics_kernel<T>, threads);
    const unsigned blocks = block_count<threads, loads, T>(p.size(), resident);
    gpulab::DeviceBuffer<T> result(1);
    gpulab::PinnedBuffer<T> host(1, cudaHostAllocMapped);
    const auto launch = [&](cudaStream_t stream) {
        CUDA_CHECK(cudaMemsetAsync(result.data(), 0, sizeof(T), stream));
        atomics_kernel<<<blocks, threads, 0, stream>>>(a.data(), p.size(), result.data());
        CUDA_CHECK_LAUNCH();
        CUDA_CHECK(cudaMemcpyAsync(host.data(), result.data(), sizeof(T), cudaMemcpyDeviceToHost, stream));
    };
    watch.tile(tile_size<threads, loads, T>);
    watch.tile(resident * tile_size<threads, loads, T>);
    gpulab::watch_stream(watch, launch, gpulab::poisoning(result, host));
    sum[0] = host[0];
}

template SumRun<float> cuda_atomics<float>;
template SumRun<double> cuda_atomics<double>;

} // namespace reduction
