// Rung 8: one launch. The last block to finish adds up the blocks' sums.
//
// Changed: a block writes its sum and then takes a ticket, an atomic count of the blocks that are done. All sums are
// there when the last ticket is taken, so the block that takes it adds them up. There is no second launch and nothing
// to clear, because the count starts again from 0 by itself (atomicInc wraps around).
// __threadfence() stands between writing the sum and taking the ticket: without it another block could see the ticket
// before the sum. A second one stands between the ticket and reading the sums, because a fence orders the accesses of
// its own thread only. The result goes straight into page-locked host memory that the device can write (mapped memory),
// so no copy is needed either.
// The additions are always done in the same order, so the same grid gives the same bits every time.
// Limit: memory while n is large, as before; when n is small, the launch and a write over the bus.
#include "block_sum.cuh"
#include "gpulab/cuda/occupancy.hpp"
#include "gpulab/cuda/timing.hpp"
#include "private_sum.cuh"
#include "reduction.hpp"

namespace reduction {

namespace {
constexpr unsigned threads = 512;
constexpr unsigned loads = 4; // 16-byte loads in flight per thread
} // namespace

/// Any n with any grid.
/// @param sums one place per block
/// @param done the ticket: 0 before and after every launch
/// @param result in memory that the host can read
template <class T>
__global__ void __launch_bounds__(threads)
    single_pass_kernel(const T* a, std::size_t n, T* sums, unsigned* done, T* result) {
    const T mine = block_sum<threads>(private_sum<threads, loads>(a, n));
    if (gridDim.x == 1) { // small n: there is no other block to wait for
        if (threadIdx.x == 0) *result = mine;
        return;
    }

    __shared__ bool last;
    if (threadIdx.x == 0) {
        sums[blockIdx.x] = mine;
        __threadfence(); // the sum is visible to all blocks before the ticket is
        last = atomicInc(done, gridDim.x - 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (!last) return; // the same for the whole block
    __threadfence();   // no load below may have been done before the ticket was drawn

    T rest = 0;
    for (unsigned b = threadIdx.x; b < gridDim.x; b += threads)
        rest += __ldcg(&sums[b]); // from the L2: L1 may be stale
    rest = block_sum<threads>(rest);
    if (threadIdx.x == 0) *result = rest;
}

template <class T> void cuda_single_pass(const SumProblem<T>& p, Scalar<T>& sum, Stopwatch& watch) {
    const gpulab::DeviceBuffer<T> a(p.a);
    const unsigned resident = gpulab::resident_blocks(single_pass_kernel<T>, threads);
    const unsigned blocks = block_count<threads, loads, T>(p.size(), resident);
    gpulab::DeviceBuffer<T> sums(blocks);
    gpulab::DeviceBuffer<unsigned> done(1);
    done.copy_from(std::vector<unsigned>{0});
    gpulab::PinnedBuffer<T> host(1, cudaHostAllocMapped);
    T* const result = host.on_device();
    const auto launch = [&](cudaStream_t stream) {
        single_pass_kernel<<<blocks, threads, 0, stream>>>(a.data(), p.size(), sums.data(), done.data(), result);
    };
    watch.tile(tile_size<threads, loads, T>);
    watch.tile(resident * tile_size<threads, loads, T>);
    gpulab::watch_stream(watch, launch, gpulab::poisoning(sums, host));
    sum[0] = host[0];
}

template SumRun<float> cuda_single_pass<float>;
template SumRun<double> cuda_single_pass<double>;

} // namespace reduction
