// Mistake: n and the indices are ints, as in most printed listings, or unsigned. Beyond 2^31 - 1 the count in an int
// turns negative, and no thread has anything to do; beyond 2^32 both begin again at 0. (Reading a[i] at a negative i
// would be next; here the loops end before.)
#include "index_in_32_bits.hpp"

#include <algorithm>

#include "gpulab/cuda/buffer.hpp"
#include "gpulab/cuda/timing.hpp"
#include "gpulab/math.hpp"

namespace reduction::wrong {

namespace {

constexpr unsigned threads = 256;

/// b = nullptr: the sum. @param result 0 before the launch @tparam Index int or unsigned
template <class Index> __global__ void add_all(const float* a, const float* b, Index n, float* result) {
    float mine = 0;
    const auto stride = static_cast<Index>(gridDim.x * threads);
    for (auto i = static_cast<Index>(blockIdx.x * threads + threadIdx.x); i < n; i += stride)
        mine += b ? a[i] * b[i] : a[i];
    atomicAdd(result, mine);
}

template <class Index> float run(const float* a, const float* b, std::size_t n, Stopwatch& watch) {
    gpulab::DeviceBuffer<float> result(1);
    gpulab::watch_stream(
        watch,
        [&](cudaStream_t stream) {
            const unsigned blocks = std::min(1024u, gpulab::grid_size(n, threads));
            CUDA_CHECK(cudaMemsetAsync(result.data(), 0, sizeof(float), stream));
            add_all<<<blocks, threads, 0, stream>>>(a, b, static_cast<Index>(n), result.data());
        },
        [&](cudaStream_t stream) { result.poison_async(stream); });
    std::vector<float> host(1);
    result.copy_to(host);
    return host[0];
}

/// One block scans tile after tile.
template <class Index> __global__ void scan_all(const float* a, float* out, Index n, bool inclusive) {
    __shared__ float x[threads];
    const unsigned t = threadIdx.x;
    float before_tile = 0;
    for (Index first = 0; first < n; first += threads) {
        const Index i = first + static_cast<Index>(t);
        x[t] = i < n ? a[i] : 0;
        __syncthreads();
        for (unsigned stride = 1; stride < threads; stride *= 2) {
            const float before = t >= stride ? x[t - stride] : 0;
            __syncthreads();
            x[t] += before;
            __syncthreads();
        }
        if (i < n) out[i] = before_tile + (inclusive ? x[t] : t > 0 ? x[t - 1] : 0);
        before_tile += x[threads - 1];
        __syncthreads();
    }
}

} // namespace

template <class Index> void sum_counted_in(const SumProblem<float>& p, Scalar<float>& sum, Stopwatch& watch) {
    const gpulab::DeviceBuffer<float> a(p.a);
    sum[0] = run<Index>(a.data(), nullptr, p.size(), watch);
}

template <class Index> void dot_counted_in(const DotProblem<float>& p, Scalar<float>& dot, Stopwatch& watch) {
    const gpulab::DeviceBuffer<float> a(p.a), b(p.b);
    dot[0] = run<Index>(a.data(), b.data(), p.size(), watch);
}

template <class Index> void scan_counted_in(const ScanProblem<float>& p, Prefixes<float>& out, Stopwatch& watch) {
    const gpulab::DeviceBuffer<float> a(p.a);
    gpulab::DeviceBuffer<float> result(p.size());
    gpulab::watch_stream(
        watch,
        [&](cudaStream_t stream) {
            scan_all<<<1, threads, 0, stream>>>(a.data(), result.data(), static_cast<Index>(p.size()),
                                                p.kind == Scan::inclusive);
        },
        [&](cudaStream_t stream) { result.poison_async(stream); });
    result.copy_to(out);
}

#define INSTANTIATE(Index)                                                                     \
    template void sum_counted_in<Index>(const SumProblem<float>&, Scalar<float>&, Stopwatch&); \
    template void dot_counted_in<Index>(const DotProblem<float>&, Scalar<float>&, Stopwatch&); \
    template void scan_counted_in<Index>(const ScanProblem<float>&, Prefixes<float>&, Stopwatch&);
INSTANTIATE(int)
INSTANTIATE(unsigned)
INSTANTIATE(std::size_t)

} // namespace reduction::wrong
