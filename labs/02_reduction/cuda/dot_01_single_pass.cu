// The dot product in one pass: cuda_single_pass with two arrays. (Alfaro Vigo & Rossetto, exercise 2.2)
//
// The products are computed in registers on the way to the accumulators, so nothing but a and b moves: 8 bytes per pair
// of floats. A fused multiply-add rounds once where a product and a sum would round twice.
// Limit: memory.
#include "block_sum.cuh"
#include "dot.hpp"
#include "gpulab/cuda/occupancy.hpp"
#include "private_sum.cuh"
#include "rounds.cuh"

namespace reduction {

namespace {

constexpr unsigned threads = 512;
constexpr unsigned loads = 4; // 16-byte loads in flight per thread and array

/// The sum of the products that belong to this thread; tiles and indices are those of private_sum().
template <class T> __device__ T private_dot(const T* a, const T* b, std::size_t n) {
    // EXERCISE dot
    //| // TODO: add up the products a[i] * b[i] that belong to this thread: together the threads of the grid take all
    //| // n. private_sum() (private_sum.cuh) does it for one array; begin with 4-byte loads.
    //| (void)a, (void)b, (void)n;
    //| return T{0};
    constexpr unsigned width = Vector<T>::width;
    constexpr unsigned tile = threads * loads;
    const auto* as = reinterpret_cast<const Vector<T>*>(a);
    const auto* bs = reinterpret_cast<const Vector<T>*>(b);
    const std::size_t count = n / width;
    const std::size_t tiles = count / tile;

    Vector<T> sum{};
    const auto add = [&](const Vector<T>& x, const Vector<T>& y) {
#pragma unroll
        for (unsigned k = 0; k < width; ++k) sum.x[k] += x.x[k] * y.x[k];
    };
    for (std::size_t t = blockIdx.x; t < tiles; t += gridDim.x) {
        const std::size_t first = t * tile + threadIdx.x;
        Vector<T> x[loads], y[loads];
#pragma unroll
        for (unsigned j = 0; j < loads; ++j) x[j] = load(&as[first + j * threads]);
#pragma unroll
        for (unsigned j = 0; j < loads; ++j) y[j] = load(&bs[first + j * threads]);
#pragma unroll
        for (unsigned j = 0; j < loads; ++j) add(x[j], y[j]);
    }

    const std::size_t grid = gridDim.x * std::size_t{threads};
    const std::size_t me = blockIdx.x * std::size_t{threads} + threadIdx.x;
    for (std::size_t i = tiles * tile + me; i < count; i += grid) add(load(&as[i]), load(&bs[i]));
    T total = 0;
#pragma unroll
    for (unsigned k = 0; k < width; ++k) total += sum.x[k];
    for (std::size_t i = count * width + me; i < n; i += grid) total += a[i] * b[i];
    return total;
    // END EXERCISE
}

} // namespace

/// Any n with any grid; parameters as for single_pass_kernel.
template <class T>
__global__ void __launch_bounds__(threads)
    dot_kernel(const T* a, const T* b, std::size_t n, T* sums, unsigned* done, T* result) {
    const T mine = block_sum<threads>(private_dot(a, b, n));

    __shared__ bool last;
    if (threadIdx.x == 0) {
        sums[blockIdx.x] = mine;
        __threadfence();
        last = atomicInc(done, gridDim.x - 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (!last) return;
    __threadfence(); // no load below may have been done before the ticket was drawn

    T rest = 0;
    for (unsigned s = threadIdx.x; s < gridDim.x; s += threads) rest += __ldcg(&sums[s]);
    rest = block_sum<threads>(rest);
    if (threadIdx.x == 0) *result = rest;
}

template <class T> void cuda_dot(const DotProblem<T>& p, Scalar<T>& dot, Stopwatch& watch) {
    const gpulab::DeviceBuffer<T> a(p.a), b(p.b);
    const unsigned resident = gpulab::resident_blocks(dot_kernel<T>, threads);
    const unsigned blocks = block_count<threads, loads, T>(p.size(), resident);
    watch.tile(tile_size<threads, loads, T>);
    watch.tile(resident * tile_size<threads, loads, T>);
    dot[0] = sum_in_one_round<T>(blocks, watch, [&](cudaStream_t stream, T* sums, unsigned* done, T* result) {
        dot_kernel<<<blocks, threads, 0, stream>>>(a.data(), b.data(), p.size(), sums, done, result);
    }); // the host half of cuda_single_pass
}

template DotRun<float> cuda_dot<float>;
template DotRun<double> cuda_dot<double>;

} // namespace reduction
