// Prefix sums, rung 1: one block, by doubling stride. (Alfaro Vigo & Rossetto, program 2.6)
//
// The kernel of cuda_one_block, with all of its sums kept: at step s = 1, 2, 4, ... thread i adds the element s places
// before its own, and after log2(n) steps it holds the sum of all elements up to i. For the exclusive scan thread i
// writes the sum of its left neighbour.
// Limit: 1024 elements, one multiprocessor, n log2(n) additions.
#include <algorithm>
#include <string>

#include "gpulab/cuda/timing.hpp"
#include "gpulab/error.hpp"
#include "scan.hpp"

namespace reduction {

namespace {
constexpr unsigned most = 1024; // threads of one block on every current GPU
}

/// One thread per element of one block; n <= blockDim.x <= 1024.
template <class T> __global__ void scan_one_block_kernel(const T* a, T* out, unsigned n, bool inclusive) {
    // ANSWER prefix-sum
    __shared__ T x[most];
    const unsigned i = threadIdx.x;
    x[i] = i < n ? a[i] : T{0};
    __syncthreads();
    for (unsigned stride = 1; stride < blockDim.x; stride *= 2) {
        T before{};
        if (i >= stride) before = x[i - stride];
        __syncthreads(); // all have read
        if (i >= stride) x[i] += before;
        __syncthreads(); // all have written
    }
    if (i < n) out[i] = inclusive ? x[i] : i > 0 ? x[i - 1] : T{0};
    // END ANSWER
}

template <class T> void cuda_scan_one_block(const ScanProblem<T>& p, Prefixes<T>& out, Stopwatch& watch) {
    if (p.size() > most)
        throw gpulab::Unsupported("n = " + std::to_string(p.size()) + " does not fit one block of " +
                                  std::to_string(most) + " threads");
    const gpulab::DeviceBuffer<T> a(p.a);
    gpulab::DeviceBuffer<T> result(p.size());
    const auto n = static_cast<unsigned>(p.size());
    const auto launch = [&](cudaStream_t stream) {
        scan_one_block_kernel<<<1, std::max(n, 1u), 0, stream>>>(a.data(), result.data(), n, p.kind == Scan::inclusive);
    };
    watch.tile(std::size_t{most});
    gpulab::watch_stream(watch, launch, gpulab::poisoning(result));
    result.copy_to(out);
}

template ScanRun<float> cuda_scan_one_block<float>;
template ScanRun<double> cuda_scan_one_block<double>;
template ScanRun<int> cuda_scan_one_block<int>;

} // namespace reduction
