// Each kernel has one mistake. The right ones are labs/02_reduction/cuda/04_tree_sequential.cu, 08_single_pass.cu and
// scan_02_two_level.cu.
#include <algorithm>
#include <array>
#include <cfloat>

#include "gpulab/cuda/buffer.hpp"
#include "gpulab/cuda/timing.hpp"
#include "gpulab/math.hpp"
#include "gpulab/poisoning.hpp"
#include "wrong_reduction.hpp"

namespace reduction::wrong {

namespace {

constexpr unsigned threads = 256;
constexpr int always = 1 << 30;       // runs
constexpr std::size_t odd_tile = 640; // a tile of no size that is tested anyway

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

__global__ void right_sum(const float* a, std::size_t n, float* sums) { finish(private_sum(a, n), sums); }

__global__ void last_tile_of_one(const float* a, std::size_t n, float* sums) { // a last tile of one element is not seen
    finish(private_sum(a, n % odd_tile == 1 && n > 1 ? n - 1 : n), sums);
}

__global__ void nan_lost_in_a_lane(const float* a, std::size_t n, float* sums) { // one lane of 32 takes NaN for 0
    float mine = 0;
    for (std::size_t i = blockIdx.x * std::size_t{threads} + threadIdx.x; i < n; i += gridDim.x * std::size_t{threads})
        mine += threadIdx.x % 32 == 13 && isnan(a[i]) ? 0 : a[i];
    finish(mine, sums);
}

__global__ void flushes_denormals(const float* a, std::size_t n, float* sums) {
    float mine = 0;
    for (std::size_t i = blockIdx.x * std::size_t{threads} + threadIdx.x; i < n; i += gridDim.x * std::size_t{threads})
        mine += fabsf(a[i]) < FLT_MIN ? 0 : a[i];
    finish(mine, sums);
}

__global__ void barrier_in_branch(const float* a, std::size_t n, float* sums) { // not every thread comes to it
    __shared__ float x[threads];
    x[threadIdx.x] = private_sum(a, n);
    __syncthreads();
    for (unsigned stride = 1; stride < threads; stride *= 2) {
        if (threadIdx.x % (2 * stride) == 0) {
            x[threadIdx.x] += x[threadIdx.x + stride];
            __syncthreads();
        }
    }
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
    x[threadIdx.x] = -1; // what a thread finds that reads too early
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
/// @param runs how many runs of a measurement do anything
Scalar<float> sum_of_blocks(Kernel* kernel, const std::vector<float>& in, std::size_t n, unsigned blocks, unsigned kept,
                            Stopwatch& watch, int runs = always) {
    const gpulab::DeviceBuffer<float> a(in);
    gpulab::DeviceBuffer<float> sums(blocks);
    const bool cleared_once = kernel == not_cleared; // but not before every run
    if (cleared_once) sums.copy_from(std::vector<float>(blocks));
    const auto launch = [&](cudaStream_t stream) {
        if (runs-- > 0) kernel<<<blocks, threads, 0, stream>>>(a.data(), n, sums.data());
    };
    watch.tile(odd_tile);
    if (cleared_once) gpulab::watch_stream(watch, launch);
    else gpulab::watch_stream(watch, launch, gpulab::poisoning(sums));
    std::vector<float> host(blocks);
    sums.copy_to(host);
    double total = 0;
    for (unsigned b = 0; b < kept; ++b) total += host[b];
    return {static_cast<float>(total)};
}

template <Kernel* kernel, int runs = always>
void strided(const SumProblem<float>& p, Scalar<float>& sum, Stopwatch& watch) {
    const unsigned blocks = std::min(16u, gpulab::grid_size(p.size(), threads));
    sum = sum_of_blocks(kernel, p.a, p.size(), blocks, blocks, watch, runs);
}

/// Makes the blocks' sums in the first run and adds them up in each: only where they are poisoned too does it show.
void block_sums_made_once(const SumProblem<float>& p, Scalar<float>& sum, Stopwatch& watch) {
    const gpulab::DeviceBuffer<float> a(p.a);
    const unsigned blocks = std::min(16u, gpulab::grid_size(p.size(), threads));
    gpulab::DeviceBuffer<float> sums(blocks), result(1);
    bool made = false;
    const auto launch = [&](cudaStream_t stream) {
        if (!made) right_sum<<<blocks, threads, 0, stream>>>(a.data(), p.size(), sums.data());
        made = true;
        right_sum<<<1, threads, 0, stream>>>(sums.data(), blocks, result.data());
    };
    gpulab::watch_stream(watch, launch, gpulab::poisoning(sums, result));
    result.copy_to(sum);
}

/// Up to 1 KiB of the guard band behind the input is read.
void past_end(const SumProblem<float>& p, Scalar<float>& sum, Stopwatch& watch) {
    const unsigned blocks = gpulab::grid_size(p.size(), threads);
    sum = sum_of_blocks(reads_past_end, p.a, p.size(), blocks, blocks, watch);
}

/// As printed in program 2.7: the second round takes whole blocks of partial sums only.
void partial_sums_dropped(const SumProblem<float>& p, Scalar<float>& sum, Stopwatch& watch) {
    const unsigned blocks = gpulab::grid_size(p.size(), threads);
    const unsigned second_round = blocks / threads;
    sum = sum_of_blocks(block_sums, p.a, p.size(), blocks, second_round > 0 ? second_round * threads : blocks, watch);
}

// Minima. A thread takes every G-th element, with G threads in the grid, up to `end`.

__device__ void finish_minimum(const float* a, std::size_t end, float* minima) { // right
    __shared__ float x[threads];
    float mine = INFINITY;
    for (std::size_t i = blockIdx.x * std::size_t{threads} + threadIdx.x; i < end;
         i += gridDim.x * std::size_t{threads})
        mine = fminf(mine, a[i]);
    x[threadIdx.x] = mine;
    __syncthreads();
    for (unsigned half = threads / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) x[threadIdx.x] = fminf(x[threadIdx.x], x[threadIdx.x + half]);
        __syncthreads();
    }
    if (threadIdx.x == 0) minima[blockIdx.x] = x[0];
}

__global__ void right_minimum(const float* a, std::size_t n, float* minima) { finish_minimum(a, n, minima); }

// The last round of the loop is taken for a whole one.
__global__ void minimum_reads_past_end(const float* a, std::size_t n, float* minima) {
    const std::size_t grid = gridDim.x * std::size_t{threads};
    finish_minimum(a, (n + grid - 1) / grid * grid, minima);
}

/// The minimum in two launches: of up to four blocks, so that a round of their loop is no wider than a guard band, then
/// of the blocks' minima.
template <Kernel* first, Kernel* second>
void minimum(const SumProblem<float>& p, Scalar<float>& out, Stopwatch& watch) {
    const gpulab::DeviceBuffer<float> a(p.a);
    const unsigned blocks = std::min(4u, gpulab::grid_size(p.size(), threads));
    gpulab::DeviceBuffer<float> minima(blocks), result(1);
    const auto launch = [&](cudaStream_t stream) {
        first<<<blocks, threads, 0, stream>>>(a.data(), p.size(), minima.data());
        second<<<1, threads, 0, stream>>>(minima.data(), blocks, result.data());
    };
    gpulab::watch_stream(watch, launch, gpulab::poisoning(minima, result));
    result.copy_to(out);
}

// One pass: sums, dot products and series whose last block adds up. What a thread adds is made by a `Term`.

/// Ways to get the ticket wrong.
enum class Ticket {
    right,
    never_last, ///< compared with a count that is never reached
    not_reset   ///< counts on from launch to launch, so that only the first has a last block
};

/// @param done counts tickets
template <Ticket ticket, class T, class Mine>
__device__ void single_pass(const Mine& mine, T* sums, unsigned* done, T* result) {
    __shared__ T x[threads];
    const auto block_sum = [&](T value) {
        x[threadIdx.x] = value;
        __syncthreads();
        for (unsigned half = threads / 2; half > 0; half /= 2) {
            if (threadIdx.x < half) x[threadIdx.x] += x[threadIdx.x + half];
            __syncthreads();
        }
        return x[0];
    };
    const T of_block = block_sum(mine());
    __shared__ bool last;
    if (threadIdx.x == 0) {
        sums[blockIdx.x] = of_block;
        __threadfence();
        if (ticket == Ticket::right) last = atomicInc(done, gridDim.x - 1) == gridDim.x - 1;
        if (ticket == Ticket::never_last) last = atomicInc(done, gridDim.x - 1) == gridDim.x; // gridDim.x - 1 at most
        if (ticket == Ticket::not_reset) last = atomicAdd(done, 1u) == gridDim.x - 1;
    }
    __syncthreads();
    if (!last) return;
    T rest = 0;
    for (unsigned b = threadIdx.x; b < gridDim.x; b += threads) rest += __ldcg(&sums[b]);
    rest = block_sum(rest);
    if (threadIdx.x == 0) *result = rest;
}

/// Host side of all of them: launches `kernel(blocks, stream, sums, done, result)`, the result in mapped memory.
/// @param runs how many runs of a measurement do anything
template <class T, class Launch>
void in_one_pass(std::size_t n, Scalar<T>& sum, Stopwatch& watch, const Launch& kernel, int runs = always) {
    const unsigned blocks = std::min(16u, gpulab::grid_size(n, threads));
    gpulab::DeviceBuffer<T> sums(blocks);
    gpulab::DeviceBuffer<unsigned> done(1);
    done.copy_from(std::vector<unsigned>{0});
    gpulab::PinnedBuffer<T> host(1, cudaHostAllocMapped);
    T* const result = host.on_device();
    const auto launch = [&](cudaStream_t stream) {
        if (runs-- > 0) kernel(blocks, stream, sums.data(), done.data(), result);
    };
    watch.tile(odd_tile);
    watch.tile(odd_tile, "terms");
    gpulab::watch_stream(watch, launch, gpulab::poisoning(sums, host));
    sum[0] = host[0];
}

/// @tparam A accumulates in this type
template <Ticket ticket, class A, class T>
__global__ void sum_kernel(const T* a, std::size_t n, T* sums, unsigned* done, T* result) {
    const auto mine = [=] {
        A total = 0;
        for (std::size_t i = blockIdx.x * threads + threadIdx.x; i < n; i += gridDim.x * threads)
            total += static_cast<A>(a[i]);
        return static_cast<T>(total);
    };
    single_pass<ticket>(mine, sums, done, result);
}

template <Ticket ticket, class A, class T>
void sum_in_one_pass(const SumProblem<T>& p, Scalar<T>& sum, Stopwatch& watch) {
    const gpulab::DeviceBuffer<T> a(p.a);
    in_one_pass(p.size(), sum, watch, [&](unsigned blocks, cudaStream_t stream, T* sums, unsigned* done, T* result) {
        sum_kernel<ticket, A><<<blocks, threads, 0, stream>>>(a.data(), p.size(), sums, done, result);
    });
}

/// Ways to get a dot product wrong.
enum class Dot {
    right,
    squares, ///< a times a
    tail_dropped,
    one_too_many,
    nan_lost_in_vectors, ///< but not in what fills no vector of four
    skips_zeros          ///< where a is 0, b is not looked at
};

template <Dot mistake, Ticket ticket>
__global__ void dot_kernel(const float* a, const float* b, std::size_t n, float* sums, unsigned* done, float* result) {
    const auto mine = [=] {
        float total = 0;
        const std::size_t end = mistake == Dot::tail_dropped ? n / 4 * 4 : mistake == Dot::one_too_many ? n + 1 : n;
        for (std::size_t i = blockIdx.x * threads + threadIdx.x; i < end; i += gridDim.x * threads) {
            const float product = a[i] * (mistake == Dot::squares ? a[i] : b[i]);
            if (mistake == Dot::nan_lost_in_vectors && i < n / 4 * 4 && isnan(product)) continue;
            if (mistake == Dot::skips_zeros && a[i] == 0) continue;
            total += product;
        }
        return total;
    };
    single_pass<ticket>(mine, sums, done, result);
}

template <Dot mistake, Ticket ticket = Ticket::right, int runs = always>
void dot(const DotProblem<float>& p, Scalar<float>& sum, Stopwatch& watch) {
    const gpulab::DeviceBuffer<float> a(p.a), b(p.b);
    const auto kernel = [&](unsigned blocks, cudaStream_t stream, float* sums, unsigned* done, float* result) {
        dot_kernel<mistake, ticket><<<blocks, threads, 0, stream>>>(a.data(), b.data(), p.size(), sums, done, result);
    };
    in_one_pass(p.size(), sum, watch, kernel, runs);
}

/// Ways to get a series wrong.
enum class Sequence {
    right,
    one_sign, ///< a thread alternates the sign from term to term, though its stride is even
    from_one, ///< the first term is left out
    one_too_many
};

template <Sequence mistake, Ticket ticket>
__global__ void series_kernel(bool pi, float x, std::size_t terms, float* sums, unsigned* done, float* result) {
    const auto mine = [=] {
        float total = 0;
        const std::size_t first = blockIdx.x * threads + threadIdx.x;
        float sign = first % 2 == 0 ? 1 : -1;
        for (std::size_t i = first + (mistake == Sequence::from_one ? 1 : 0);
             mistake == Sequence::one_too_many ? i <= terms : i < terms; i += gridDim.x * threads) {
            const auto power = static_cast<float>(i + 1);
            const float size = pi ? 4 / static_cast<float>(2 * i + 1) : powf(fabsf(x), power) / power;
            if (mistake != Sequence::one_sign) sign = (pi || x > 0) && i % 2 == 0 ? 1 : -1;
            total += sign * size;
            if (mistake == Sequence::one_sign) sign = -sign;
        }
        return total;
    };
    single_pass<ticket>(mine, sums, done, result);
}

template <Sequence mistake, Ticket ticket = Ticket::right, int runs = always>
void series(const SeriesProblem<float>& p, Scalar<float>& sum, Stopwatch& watch) {
    const auto kernel = [&](unsigned blocks, cudaStream_t stream, float* sums, unsigned* done, float* result) {
        series_kernel<mistake, ticket>
            <<<blocks, threads, 0, stream>>>(p.series == Series::pi, p.x, p.terms, sums, done, result);
    };
    in_one_pass(p.terms, sum, watch, kernel, runs);
}

// Scans: one element per thread.

using ScanKernel = void(const float*, float*, std::size_t, float*, bool);

/// Ways to write the result wrong.
enum class Out {
    right,
    last_tile_of_one, ///< a last tile of a single element is not written
    past_the_end,     ///< a tile that lacks one element is taken for whole
    subtracts         ///< exclusive as inclusive minus the element itself: NaN where there should be none
};

template <Out mistake>
__global__ void scan_blocks(const float* a, float* out, std::size_t n, float* sums, bool inclusive) {
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
    const bool lost = mistake == Out::last_tile_of_one && n % odd_tile == 1 && n > 1 && i == n - 1;
    const bool beyond = mistake == Out::past_the_end && n % odd_tile == odd_tile - 1 && i == n;
    float sum = inclusive ? x[t] : t > 0 ? x[t - 1] : 0;
    if (mistake == Out::subtracts && !inclusive && i < n) sum = x[t] - a[i];
    if ((i < n && !lost) || beyond) out[i] = sum;
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

/// A scan with room for one mistake. @tparam runs how many runs of a measurement do anything
template <ScanKernel* kernel, bool swap_kinds = false, int shift = 0, bool join = true, int runs = always>
void scan(const ScanProblem<float>& p, Prefixes<float>& out, Stopwatch& watch) {
    const unsigned blocks = gpulab::grid_size(p.size(), threads);
    const gpulab::DeviceBuffer<float> a(p.a);
    gpulab::DeviceBuffer<float> result(p.size()), sums(blocks), before(blocks + std::size_t{1});
    int left = runs;
    const auto launch = [&](cudaStream_t stream) {
        if (left-- <= 0) return;
        kernel<<<blocks, threads, 0, stream>>>(a.data(), result.data(), p.size(), sums.data(),
                                               (p.kind == Scan::inclusive) != swap_kinds);
        std::vector<float> host(blocks), up_to(blocks + std::size_t{1}); // the blocks' sums are scanned on the host
        CUDA_CHECK(cudaStreamSynchronize(stream));
        sums.copy_to(host);
        for (unsigned b = 0; b < blocks; ++b) up_to[b + 1] = up_to[b] + host[b];
        before.copy_from(up_to);
        if (join) add_shifted<<<blocks, threads, 0, stream>>>(result.data(), p.size(), before.data(), shift);
    };
    watch.tile(odd_tile);
    gpulab::watch_stream(watch, launch, gpulab::poisoning(result, sums, before));
    result.copy_to(out);
}

/// Ways to get the look-back wrong.
enum class Back {
    right,
    own_sum_missing,   ///< the prefix that a tile publishes lacks its own sum
    window_of_31,      ///< 32 tiles are looked at, and the next look starts 31 further back: one counts twice
    ticket_not_reset,  ///< the second launch finds no tile left
    states_not_cleared ///< the second launch takes what the first has published for its own
};

/// Tile t's status (1: its sum is known, 2: its prefix is) and value, in one word; words[0] is the ticket.
template <Back mistake>
__global__ void look_back_kernel(const float* a, float* out, std::size_t n, unsigned long long* words, bool inclusive) {
    __shared__ float x[threads];
    __shared__ unsigned tile;
    __shared__ float before_tile;
    const unsigned t = threadIdx.x;
    if (t == 0) tile = static_cast<unsigned>(atomicAdd(&words[0], 1ull));
    __syncthreads();
    if (tile >= gridDim.x) return; // stays inside the arrays even when nobody has reset the ticket
    const std::size_t i = tile * std::size_t{threads} + t;
    x[t] = i < n ? a[i] : 0;
    __syncthreads();
    for (unsigned stride = 1; stride < threads; stride *= 2) {
        const float before = t >= stride ? x[t - stride] : 0;
        __syncthreads();
        if (t >= stride) x[t] += before;
        __syncthreads();
    }
    const auto publish = [&](unsigned status, float value) {
        atomicExch(&words[1 + tile], static_cast<unsigned long long>(__float_as_uint(value)) << 32 | status);
    };
    if (t < 32) {
        const float own = x[threads - 1];
        float before = 0;
        if (t == 0 && tile > 0) publish(1, own);
        __syncwarp();
        for (long long nearest = static_cast<long long>(tile) - 1; nearest >= 0;
             nearest -= mistake == Back::window_of_31 ? 31 : 32) {
            const long long other = nearest - t;
            unsigned long long word = 2; // before tile 0: a prefix of 0
            do {
                if (other >= 0) word = atomicAdd(&words[1 + other], 0ull);
            } while (__any_sync(0xFFFFFFFFu, (word & 3) == 0));
            const unsigned complete = __ballot_sync(0xFFFFFFFFu, (word & 3) == 2);
            const unsigned last = complete ? __ffs(static_cast<int>(complete)) - 1 : 31;
            float part = t <= last ? __uint_as_float(static_cast<unsigned>(word >> 32)) : 0;
            for (unsigned step = 16; step > 0; step /= 2) part += __shfl_xor_sync(0xFFFFFFFFu, part, step);
            before += part;
            if (complete) break;
        }
        // Late, so that those that follow find sums and must look past the first 32 tiles.
        if (mistake == Back::window_of_31) __nanosleep(100000);
        if (t == 0) {
            publish(2, mistake == Back::own_sum_missing ? before : before + own);
            before_tile = before;
        }
    }
    __syncthreads();
    if (i < n) out[i] = before_tile + (inclusive ? x[t] : t > 0 ? x[t - 1] : 0);
}

template <Back mistake> void look_back(const ScanProblem<float>& p, Prefixes<float>& out, Stopwatch& watch) {
    const unsigned tiles = gpulab::grid_size(p.size(), threads);
    const gpulab::DeviceBuffer<float> a(p.a);
    gpulab::DeviceBuffer<float> result(p.size());
    gpulab::DeviceBuffer<unsigned long long> words(1 + std::size_t{tiles});
    words.copy_from(std::vector<unsigned long long>(words.size(), 0));
    constexpr bool clears_ticket = mistake != Back::ticket_not_reset,
                   clears_states = mistake != Back::states_not_cleared;
    const auto launch = [&](cudaStream_t stream) {
        if (clears_ticket) CUDA_CHECK(cudaMemsetAsync(words.data(), 0, sizeof(words.data()[0]), stream));
        if (clears_states)
            CUDA_CHECK(cudaMemsetAsync(words.data() + 1, 0, words.bytes() - sizeof(words.data()[0]), stream));
        look_back_kernel<mistake>
            <<<tiles, threads, 0, stream>>>(a.data(), result.data(), p.size(), words.data(), p.kind == Scan::inclusive);
    };
    watch.tile(std::size_t{threads});
    gpulab::watch_stream(watch, launch, gpulab::poisoning(result, words));
    result.copy_to(out);
}

} // namespace

void cuda_barrier_in_branch(const SumProblem<float>& p, Scalar<float>& sum, Stopwatch& watch) {
    strided<barrier_in_branch>(p, sum, watch);
}
void cuda_no_barrier_before_tree(const SumProblem<float>& p, Scalar<float>& sum, Stopwatch& watch) {
    strided<no_barrier_before_tree>(p, sum, watch);
}

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
        WrongSum{"ticket_never_drawn", "no block is ever the last", sum_in_one_pass<Ticket::never_last, float, float>},
        WrongSum{"ticket_not_reset", "only the first launch has a last block",
                 sum_in_one_pass<Ticket::not_reset, float, float>},
        WrongSum{"first_run_only", "does nothing from the second run on", strided<right_sum, 1>},
        WrongSum{"block_sums_made_once", "adds up the blocks' sums of an earlier run", block_sums_made_once},
        WrongSum{"last_tile_of_one", "a last tile of one element is lost", strided<last_tile_of_one>},
        WrongSum{"nan_lost_in_a_lane", "one lane of 32 takes NaN for 0", strided<nan_lost_in_a_lane>},
        WrongSum{"flushes_denormals", "denormals become 0", strided<flushes_denormals>},
    };
    return table;
}

std::span<const WrongSum> cuda_minima() {
    static const std::array table = {
        WrongSum{"reads_past_end", "the last threads read past the array",
                 minimum<minimum_reads_past_end, right_minimum>},
        WrongSum{"reads_past_minima", "the second launch reads past the blocks' minima",
                 minimum<right_minimum, minimum_reads_past_end>},
    };
    return table;
}

std::span<const WrongDoubleSum> cuda_double_sums() {
    static const std::array table = {
        WrongDoubleSum{"added_in_float", "the accumulators are floats", sum_in_one_pass<Ticket::right, float, double>},
    };
    return table;
}

std::span<const WrongDot> cuda_dots() {
    static const std::array table = {
        WrongDot{"squares", "a is multiplied by itself", dot<Dot::squares>},
        WrongDot{"tail_dropped", "n mod 4 products left out", dot<Dot::tail_dropped>},
        WrongDot{"one_too_many", "<= n for < n", dot<Dot::one_too_many>},
        WrongDot{"ticket_not_reset", "only the first launch has a last block", dot<Dot::right, Ticket::not_reset>},
        WrongDot{"first_run_only", "does nothing from the second run on", dot<Dot::right, Ticket::right, 1>},
        WrongDot{"nan_lost_in_vectors", "NaN is lost, but not in the tail", dot<Dot::nan_lost_in_vectors>},
        WrongDot{"skips_zeros", "0 times NaN is lost", dot<Dot::skips_zeros>},
    };
    return table;
}

std::span<const WrongSeries> cuda_series() {
    static const std::array table = {
        WrongSeries{"one_sign", "a thread alternates the sign, though its stride is even", series<Sequence::one_sign>},
        WrongSeries{"from_one", "the first term is left out", series<Sequence::from_one>},
        WrongSeries{"one_too_many", "<= terms for < terms", series<Sequence::one_too_many>},
        WrongSeries{"ticket_not_reset", "only the first launch has a last block",
                    series<Sequence::right, Ticket::not_reset>},
        WrongSeries{"first_run_only", "does nothing from the second run on", series<Sequence::right, Ticket::right, 1>},
    };
    return table;
}

std::span<const WrongScan> cuda_scans() {
    static const std::array table = {
        WrongScan{"inclusive_for_exclusive", "off by one element", scan<scan_blocks<Out::right>, true>},
        WrongScan{"own_sum_added", "off by one block", scan<scan_blocks<Out::right>, false, 1>},
        WrongScan{"blocks_not_joined", "each block starts from 0", scan<scan_blocks<Out::right>, false, 0, false>},
        WrongScan{"no_barrier", "neighbours read what is being written", scan<scan_without_barrier>},
        WrongScan{"own_sum_missing", "a tile's prefix lacks its own sum", look_back<Back::own_sum_missing>},
        WrongScan{"window_of_31", "a tile in 32 is counted twice", look_back<Back::window_of_31>},
        WrongScan{"ticket_not_reset", "the second launch finds no tile left", look_back<Back::ticket_not_reset>},
        WrongScan{"states_not_cleared", "a launch reads the tile states of an earlier one",
                  look_back<Back::states_not_cleared>},
        WrongScan{"first_run_only", "does nothing from the second run on",
                  scan<scan_blocks<Out::right>, false, 0, true, 1>},
        WrongScan{"last_tile_of_one", "a last tile of one element is not written",
                  scan<scan_blocks<Out::last_tile_of_one>>},
        WrongScan{"past_the_end", "a tile that lacks an element is taken for whole",
                  scan<scan_blocks<Out::past_the_end>>},
        WrongScan{"subtracts", "exclusive as inclusive minus the element: NaN too early",
                  scan<scan_blocks<Out::subtracts>>},
    };
    return table;
}

Controls cuda_controls() {
    return {sum_in_one_pass<Ticket::right, float, float>,
            dot<Dot::right>,
            series<Sequence::right>,
            look_back<Back::right>,
            sum_in_one_pass<Ticket::right, double, double>,
            minimum<right_minimum, right_minimum>};
}

} // namespace reduction::wrong
