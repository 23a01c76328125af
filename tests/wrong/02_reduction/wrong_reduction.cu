// Each kernel has one mistake. The right ones are labs/02_reduction/cuda/4_tree_sequential.cu, 8_single_pass.cu and
// scan_2_two_level.cu.
#include <algorithm>
#include <array>

#include "gpulab/cuda/buffer.hpp"
#include "gpulab/cuda/timing.hpp"
#include "gpulab/math.hpp"
#include "wrong_reduction.hpp"

namespace reduction::wrong {

namespace {

constexpr unsigned threads = 256;

using Kernel = void(const float*, std::size_t, float*);

/// Keeps all warps of a block but the first back for a moment. A missing barrier does harm only when warps are not in
/// step; here they are not.
__device__ void late(unsigned t) {
    if (t >= 32) __nanosleep(5000);
}

__device__ void tree(float* x) {
    for (unsigned half = threads / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) x[threadIdx.x] += x[threadIdx.x + half];
        __syncthreads();
    }
}

__device__ float private_sum(const float* a, std::size_t n) {
    float mine = 0;
    for (std::size_t i = blockIdx.x * std::size_t{threads} + threadIdx.x; i < n; i += gridDim.x * std::size_t{threads})
        mine += a[i];
    return mine;
}

__device__ void finish(float mine, float* sums) { // right
    __shared__ float x[threads];
    x[threadIdx.x] = mine;
    __syncthreads();
    tree(x);
    if (threadIdx.x == 0) sums[blockIdx.x] = x[0];
}

__global__ void reads_past_end(const float* a, std::size_t, float* sums) { // no test for the end
    finish(a[blockIdx.x * std::size_t{threads} + threadIdx.x], sums);
}

__global__ void block_sums(const float* a, std::size_t n, float* sums) { // right: the host drops what fills no block
    const std::size_t i = blockIdx.x * std::size_t{threads} + threadIdx.x;
    finish(i < n ? a[i] : 0, sums);
}

__global__ void no_barrier_before_tree(const float* a, std::size_t n, float* sums) {
    __shared__ float x[threads];
    const float mine = private_sum(a, n);
    x[threadIdx.x] = -1; // what the others find who come too early
    __syncthreads();
    late(threadIdx.x);
    x[threadIdx.x] = mine;
    tree(x);
    if (threadIdx.x == 0) sums[blockIdx.x] = x[0];
}

__global__ void no_barrier_in_tree(const float* a, std::size_t n, float* sums) {
    __shared__ float x[threads];
    volatile float* v = x; // each step reads and writes memory, as written
    v[threadIdx.x] = private_sum(a, n);
    __syncthreads();
    for (unsigned half = threads / 2; half > 0; half /= 2) {
        late(threadIdx.x);
        if (threadIdx.x < half) v[threadIdx.x] = v[threadIdx.x] + v[threadIdx.x + half];
    }
    if (threadIdx.x == 0) sums[blockIdx.x] = v[0];
}

__global__ void not_cleared(const float* a, std::size_t n, float* sums) { // adds to what an earlier run left
    const float before = threadIdx.x == 0 ? sums[blockIdx.x] : 0;
    finish(private_sum(a, n), sums);
    if (threadIdx.x == 0) sums[blockIdx.x] += before;
}

__global__ void int_accumulator(const float* a, std::size_t n, float* sums) { // each addition cuts off the fraction
    int mine = 0;
    for (std::size_t i = blockIdx.x * std::size_t{threads} + threadIdx.x; i < n; i += gridDim.x * std::size_t{threads})
        mine = static_cast<int>(static_cast<float>(mine) + a[i]);
    finish(static_cast<float>(mine), sums);
}

__global__ void tail_dropped(const float* a, std::size_t n, float* sums) { // whole vectors of four only
    finish(private_sum(a, n / 4 * 4), sums);
}

__global__ void stops_early(const float* a, std::size_t n, float* sums) { // the last step is missing: > 1 for > 0
    __shared__ float x[threads];
    x[threadIdx.x] = private_sum(a, n);
    __syncthreads();
    for (unsigned half = threads / 2; half > 1; half /= 2) {
        if (threadIdx.x < half) x[threadIdx.x] += x[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0) sums[blockIdx.x] = x[0];
}

__global__ void lost_updates(const float* a, std::size_t n, float* sums) { // reads, adds, writes: not atomic
    const float mine = private_sum(a, n);
    if (threadIdx.x == 0) sums[blockIdx.x] = 0;
    __syncthreads();
    sums[blockIdx.x] += mine;
}

__global__ void block_stride(const float* a, std::size_t n, float* sums) { // elements counted several times
    float mine = 0;
    for (std::size_t i = blockIdx.x * std::size_t{threads} + threadIdx.x; i < n; i += threads) mine += a[i];
    finish(mine, sums);
}

__global__ void half_a_warp(const float* a, std::size_t n, float* sums) { // the shuffles start at 8 instead of 16
    float mine = private_sum(a, n);
    for (unsigned step = 8; step > 0; step /= 2) mine += __shfl_down_sync(0xFFFFFFFFu, mine, step);
    finish(threadIdx.x % 32 == 0 ? mine : 0, sums);
}

/// Runs a kernel and adds up its blocks' sums; `kept` of `blocks` says how many of them count.
Scalar<float> sum_of_blocks(Kernel* kernel, const std::vector<float>& in, std::size_t n, unsigned blocks, unsigned kept,
                            Stopwatch& watch) {
    const gpulab::DeviceBuffer<float> a(in);
    gpulab::DeviceBuffer<float> sums(blocks);
    if (kernel == not_cleared) {
        const std::vector<float> zeros(blocks); // cleared once, but not before every run
        sums.copy_from(zeros);
    }
    gpulab::watch_stream(
        watch, [&](cudaStream_t stream) { kernel<<<blocks, threads, 0, stream>>>(a.data(), n, sums.data()); });
    std::vector<float> host(blocks);
    sums.copy_to(host);
    double total = 0;
    for (unsigned b = 0; b < kept; ++b) total += host[b];
    return {static_cast<float>(total)};
}

template <Kernel* kernel> void strided(const SumProblem<float>& p, Scalar<float>& sum, Stopwatch& watch) {
    const unsigned blocks = std::min(16u, gpulab::grid_size(p.size(), threads));
    sum = sum_of_blocks(kernel, p.a, p.size(), blocks, blocks, watch);
}

/// What lies behind the array are ones: the kernel stays inside the buffer and yet shows what it read.
void past_end(const SumProblem<float>& p, Scalar<float>& sum, Stopwatch& watch) {
    const unsigned blocks = gpulab::grid_size(p.size(), threads);
    std::vector<float> padded = p.a;
    padded.resize(std::size_t{blocks} * threads, 1.0f);
    sum = sum_of_blocks(reads_past_end, padded, p.size(), blocks, blocks, watch);
}

/// As printed in program 2.7: the second round takes whole blocks of partial sums only.
void partial_sums_dropped(const SumProblem<float>& p, Scalar<float>& sum, Stopwatch& watch) {
    const unsigned blocks = gpulab::grid_size(p.size(), threads);
    const unsigned second_round = blocks / threads;
    sum = sum_of_blocks(block_sums, p.a, p.size(), blocks, second_round > 0 ? second_round * threads : blocks, watch);
}

/// The last block is told from the others by the wrong count, so none is ever the last. @param done counts tickets
__global__ void never_last(const float* a, std::size_t n, float* sums, unsigned* done, float* result) {
    finish(private_sum(a, n), sums);
    __shared__ bool last;
    if (threadIdx.x == 0) {
        __threadfence();
        last = atomicInc(done, gridDim.x - 1) == gridDim.x; // the count before mine: gridDim.x - 1 at most
    }
    __syncthreads();
    if (!last) return;
    float rest = 0;
    for (unsigned b = threadIdx.x; b < gridDim.x; b += threads) rest += __ldcg(&sums[b]);
    finish(rest, result - blockIdx.x);
}

void ticket_never_drawn(const SumProblem<float>& p, Scalar<float>& sum, Stopwatch& watch) {
    const gpulab::DeviceBuffer<float> a(p.a);
    const unsigned blocks = std::min(16u, gpulab::grid_size(p.size(), threads));
    gpulab::DeviceBuffer<float> sums(blocks), result(1);
    gpulab::DeviceBuffer<unsigned> done(1);
    done.copy_from(std::vector<unsigned>{0});
    gpulab::watch_stream(watch, [&](cudaStream_t stream) {
        never_last<<<blocks, threads, 0, stream>>>(a.data(), p.size(), sums.data(), done.data(), result.data());
    });
    result.copy_to(sum);
}

// Scans: one element per thread.

using ScanKernel = void(const float*, float*, std::size_t, float*, bool);

__global__ void scan_blocks(const float* a, float* out, std::size_t n, float* sums, bool inclusive) { // right
    __shared__ float x[threads];
    const unsigned t = threadIdx.x;
    const std::size_t i = blockIdx.x * std::size_t{threads} + t;
    x[t] = i < n ? a[i] : 0;
    __syncthreads();
    for (unsigned stride = 1; stride < threads; stride *= 2) {
        const float before = t >= stride ? x[t - stride] : 0;
        __syncthreads();
        if (t >= stride) x[t] += before;
        __syncthreads();
    }
    if (i < n) out[i] = inclusive ? x[t] : t > 0 ? x[t - 1] : 0;
    if (t == threads - 1) sums[blockIdx.x] = x[t];
}

// Reads and writes in the same step: a thread may find what its neighbour has not yet, or has already, added to.
__global__ void scan_without_barrier(const float* a, float* out, std::size_t n, float* sums, bool inclusive) {
    __shared__ float x[threads];
    volatile float* v = x;
    const unsigned t = threadIdx.x;
    const std::size_t i = blockIdx.x * std::size_t{threads} + t;
    v[t] = i < n ? a[i] : 0;
    __syncthreads();
    for (unsigned stride = 1; stride < threads; stride *= 2) {
        if (t < 32) __nanosleep(5000); // the first warp is late: the others read what it has not yet added to
        if (t >= stride) v[t] = v[t] + v[t - stride];
    }
    __syncthreads();
    if (i < n) out[i] = inclusive ? v[t] : t > 0 ? v[t - 1] : 0;
    if (t == threads - 1) sums[blockIdx.x] = v[t];
}

__global__ void add_shifted(float* out, std::size_t n, const float* before, int shift) {
    const std::size_t i = blockIdx.x * std::size_t{threads} + threadIdx.x;
    if (i < n) out[i] += before[blockIdx.x + shift];
}

/// A scan with room for one mistake.
template <ScanKernel* kernel, bool swap_kinds = false, int shift = 0, bool join = true>
void scan(const ScanProblem<float>& p, Prefixes<float>& out, Stopwatch& watch) {
    const unsigned blocks = gpulab::grid_size(p.size(), threads);
    const gpulab::DeviceBuffer<float> a(p.a);
    gpulab::DeviceBuffer<float> result(p.size()), sums(blocks), before(blocks + std::size_t{1});
    gpulab::watch_stream(watch, [&](cudaStream_t stream) {
        kernel<<<blocks, threads, 0, stream>>>(a.data(), result.data(), p.size(), sums.data(),
                                               (p.kind == Scan::inclusive) != swap_kinds);
        std::vector<float> host(blocks), up_to(blocks + std::size_t{1}); // the blocks' sums are scanned on the host
        CUDA_CHECK(cudaStreamSynchronize(stream));
        sums.copy_to(host);
        for (unsigned b = 0; b < blocks; ++b) up_to[b + 1] = up_to[b] + host[b];
        before.copy_from(up_to);
        if (join) add_shifted<<<blocks, threads, 0, stream>>>(result.data(), p.size(), before.data(), shift);
    });
    result.copy_to(out);
}

} // namespace

std::span<const WrongSum> cuda_sums() {
    static const std::array table = {
        WrongSum{"reads_past_end", "Book 2.7: the last block reads past the array", past_end},
        WrongSum{"partial_sums_dropped", "Book 2.7: sums that fill no block are lost", partial_sums_dropped},
        WrongSum{"no_barrier_before_tree", "no barrier before the tree", strided<no_barrier_before_tree>},
        WrongSum{"no_barrier_in_tree", "no barrier between the steps", strided<no_barrier_in_tree>},
        WrongSum{"not_cleared", "the accumulator is not cleared", strided<not_cleared>},
        WrongSum{"int_accumulator", "Book 1.6: floats added in an int", strided<int_accumulator>},
        WrongSum{"tail_dropped", "n mod 4 elements left out", strided<tail_dropped>},
        WrongSum{"stops_early", "the last step of the tree is missing", strided<stops_early>},
        WrongSum{"lost_updates", "threads add to one number without an atomic", strided<lost_updates>},
        WrongSum{"block_stride", "elements counted several times", strided<block_stride>},
        WrongSum{"half_a_warp", "the shuffles cover 16 lanes of 32", strided<half_a_warp>},
        WrongSum{"ticket_never_drawn", "no block is ever the last", ticket_never_drawn},
    };
    return table;
}

std::span<const WrongScan> cuda_scans() {
    static const std::array table = {
        WrongScan{"inclusive_for_exclusive", "off by one element", scan<scan_blocks, true>},
        WrongScan{"own_sum_added", "off by one block", scan<scan_blocks, false, 1>},
        WrongScan{"blocks_not_joined", "each block starts from 0", scan<scan_blocks, false, 0, false>},
        WrongScan{"no_barrier", "neighbours read what is being written", scan<scan_without_barrier>},
    };
    return table;
}

} // namespace reduction::wrong
