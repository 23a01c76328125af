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
    // TODO: add up the products a[i] * b[i] that belong to this thread: together the threads of the grid take all n.
    // private_sum() (private_sum.cuh) does it for one array; begin with 4-byte loads.
    (void)a, (void)b, (void)n;
    return T{0};
    // END TODO
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
