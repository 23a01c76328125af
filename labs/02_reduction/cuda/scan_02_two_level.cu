// Prefix sums, rung 2: any n. A scan per block, a scan of the blocks' sums, then one addition for each element.
// (Alfaro Vigo & Rossetto, exercise 2.3)
//
// Changed: each block scans its own 1024 elements as in rung 1 and stores their sum. The exclusive scan of these
// sums gives the number to add to each block; it is computed in the same way, with blocks of blocks if there are many.
// Limit: ten steps with two barriers each for 1024 elements; and the traffic: the result is written, read again and
// written again, 16 bytes per float where 8 would do.
#include <vector>

#include "gpulab/cuda/timing.hpp"
#include "scan.hpp"

namespace reduction {

namespace {
constexpr unsigned threads = 1024;
}

/// Scans each block separately; the sum of block b goes to sums[b]. Any n; `out` may be `a`.
template <class T> __global__ void scan_blocks_kernel(const T* a, T* out, std::size_t n, T* sums, bool inclusive) {
    __shared__ T x[threads];
    const unsigned t = threadIdx.x;
    const std::size_t i = blockIdx.x * std::size_t{threads} + t;
    x[t] = i < n ? a[i] : T{0};
    __syncthreads();
    // EXERCISE prefix-sum
    //| // TODO: make the prefix sums of x[0] ... x[threads - 1] by doubling stride: at step s = 1, 2, 4, ... the
    //| // element s places before is added to element t. Where does every thread have to wait for the others?
    for (unsigned stride = 1; stride < threads; stride *= 2) {
        T before{};
        if (t >= stride) before = x[t - stride];
        __syncthreads(); // all have read
        if (t >= stride) x[t] += before;
        __syncthreads(); // all have written
    }
    // END EXERCISE
    if (i < n) out[i] = inclusive ? x[t] : t > 0 ? x[t - 1] : T{0};
    if (t == threads - 1) sums[blockIdx.x] = x[t];
}

/// Adds before[b] to every element of block b. Any n.
template <class T> __global__ void add_kernel(T* out, std::size_t n, const T* before) {
    const std::size_t i = blockIdx.x * std::size_t{threads} + threadIdx.x;
    // EXERCISE prefix-sum
    //| // TODO: add before[b] to each element of block b.
    //| (void)i, (void)out, (void)n, (void)before;
    if (i < n) out[i] += before[blockIdx.x];
    // END EXERCISE
}

template <class T> void cuda_scan_two_level(const ScanProblem<T>& p, Prefixes<T>& out, Stopwatch& watch) {
    const gpulab::DeviceBuffer<T> a(p.a);
    gpulab::DeviceBuffer<T> result(p.size());
    std::vector<gpulab::DeviceBuffer<T>> sums; // of the blocks, of the blocks of blocks, ... down to a single one
    for (std::size_t n = p.size(); sums.empty() || n > 1;) {
        n = gpulab::grid_size(n, threads);
        sums.emplace_back(n);
    }
    const auto launch = [&](cudaStream_t stream) {
        // Up: scan level by level. Level 0 is the result, level k > 0 is sums[k - 1], scanned in place.
        scan_blocks_kernel<<<gpulab::grid_size(p.size(), threads), threads, 0, stream>>>(
            a.data(), result.data(), p.size(), sums[0].data(), p.kind == Scan::inclusive);
        CUDA_CHECK_LAUNCH();
        for (std::size_t k = 1; k < sums.size(); ++k) {
            T* const level = sums[k - 1].data();
            scan_blocks_kernel<<<gpulab::grid_size(sums[k - 1].size(), threads), threads, 0, stream>>>(
                level, level, sums[k - 1].size(), sums[k].data(), false);
            CUDA_CHECK_LAUNCH();
        }
        // Down: each level is complete once the level above it has been added.
        for (std::size_t k = sums.size(); k-- > 1;) {
            const std::size_t n = k == 1 ? p.size() : sums[k - 2].size();
            T* const level = k == 1 ? result.data() : sums[k - 2].data();
            add_kernel<<<gpulab::grid_size(n, threads), threads, 0, stream>>>(level, n, sums[k - 1].data());
            CUDA_CHECK_LAUNCH();
        }
    };
    watch.tile(std::size_t{threads} * threads); // of blocks of blocks
    gpulab::watch_stream(watch, launch, gpulab::poisoning(result, sums));
    result.copy_to(out);
}

template ScanRun<float> cuda_scan_two_level<float>;
template ScanRun<double> cuda_scan_two_level<double>;
template ScanRun<int> cuda_scan_two_level<int>;

} // namespace reduction
