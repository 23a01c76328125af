// Rung 7: more bytes in flight, by 16-byte loads, four at a time.
//
// Changed: how a thread adds up its own elements. One instruction loads 16 bytes, and a thread requests four such
// vectors before it adds the first, so that each thread has 64 bytes in flight instead of 4. By Little's law the bytes
// in flight are bandwidth times latency. On an H200 rung 6 has 132 multiprocessors x 2048 threads x 4 bytes = 1.1 MB
// in flight and reaches 2.5 TB/s: a load takes about 430 ns. The 4.2 TB/s of a copy then need 1.8 MB in flight, and
// more in practice, because a busy memory answers later.
// Two more changes support this. Each component of the vector has its own accumulator: with a single one, the 16 floats
// of a round would be added in one chain. __ldg promises that nothing writes the array meanwhile, so that the compiler
// may issue all loads of a round first. Independently of this, blocks of 512 threads leave half as many sums to the
// second launch. The later rungs take private_sum() from private_sum.cuh.
// Limit: memory while n is large. When n is small: two launches and a copy, each a few microseconds.
#include <algorithm>
#include <type_traits>

#include "block_sum.cuh"
#include "gpulab/cuda/occupancy.hpp"
#include "rounds.cuh"

namespace reduction {

namespace {

constexpr unsigned threads = 512;
constexpr unsigned loads = 4; // 16-byte loads in flight per thread

/// 16 bytes that one instruction loads: four floats or two doubles.
template <class T> struct alignas(16) Vector {
    static constexpr unsigned width = 16 / sizeof(T);
    T x[width];
};

template <class T> __device__ Vector<T> load(const Vector<T>* from) {
    using Bits = std::conditional_t<std::is_same_v<T, double>, double2, float4>;
    const Bits bits = __ldg(reinterpret_cast<const Bits*>(from)); // read-only data: one 16-byte load
    Vector<T> v;
    if constexpr (std::is_same_v<T, double>) {
        v.x[0] = bits.x;
        v.x[1] = bits.y;
    } else {
        v.x[0] = bits.x;
        v.x[1] = bits.y;
        v.x[2] = bits.z;
        v.x[3] = bits.w;
    }
    return v;
}

template <class T> __device__ void operator+=(Vector<T>& sum, const Vector<T>& v) {
#pragma unroll
    for (unsigned k = 0; k < Vector<T>::width; ++k) sum.x[k] += v.x[k];
}

/// The elements that belong to this thread, added up.
///
/// The array is cut into tiles of threads x loads 16-byte vectors, and block b owns the tiles b, b + B, b + 2B, ...
/// with B blocks in the grid. Thread t takes the vectors t, t + threads, ... of a tile: a warp always reads 512
/// neighbouring bytes. All `loads` of them are in flight before the first is used. The rest, which does not fill a
/// tile, is divided among all threads of the grid, first by vectors, then by elements.
/// @pre `a` starts at a multiple of 16 bytes
template <class T> __device__ T private_sum(const T* a, std::size_t n) {
    constexpr unsigned width = Vector<T>::width;
    constexpr unsigned tile = threads * loads;
    const auto* vectors = reinterpret_cast<const Vector<T>*>(a);
    const std::size_t count = n / width;
    const std::size_t tiles = count / tile;

    Vector<T> sum{};
    for (std::size_t t = blockIdx.x; t < tiles; t += gridDim.x) {
        Vector<T> v[loads];
#pragma unroll
        for (unsigned j = 0; j < loads; ++j) v[j] = load(&vectors[t * tile + j * threads + threadIdx.x]);
#pragma unroll
        for (unsigned j = 0; j < loads; ++j) sum += v[j];
    }

    const std::size_t grid = gridDim.x * std::size_t{threads};
    const std::size_t me = blockIdx.x * std::size_t{threads} + threadIdx.x;
    for (std::size_t i = tiles * tile + me; i < count; i += grid) sum += load(&vectors[i]);
    T total = 0;
#pragma unroll
    for (unsigned k = 0; k < width; ++k) total += sum.x[k];
    for (std::size_t i = count * width + me; i < n; i += grid) total += a[i];
    return total;
}

} // namespace

/// Any n with any grid; the sum of each block goes to sums[blockIdx.x]. `a` starts at a multiple of 16 bytes.
template <class T> __global__ void __launch_bounds__(threads) vectorised_kernel(const T* a, std::size_t n, T* sums) {
    const T all = block_sum<threads>(private_sum(a, n));
    if (threadIdx.x == 0) sums[blockIdx.x] = all;
}

template <class T> void cuda_vectorised(const SumProblem<T>& p, Scalar<T>& sum, Stopwatch& watch) {
    constexpr std::size_t tile = std::size_t{Vector<T>::width} * threads * loads; // elements
    const unsigned resident = gpulab::resident_blocks(vectorised_kernel<T>, threads);
    const auto blocks = static_cast<unsigned>(std::clamp<std::size_t>(p.size() / tile, 1, resident));
    watch.tile(tile);
    watch.tile(resident * tile);
    sum_in_two_rounds<T>(vectorised_kernel<T>, blocks, threads, p, sum, watch); // the host half of rung 5
}

template SumRun<float> cuda_vectorised<float>;
template SumRun<double> cuda_vectorised<double>;

} // namespace reduction
