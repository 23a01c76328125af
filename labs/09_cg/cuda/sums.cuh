/// @file
/// Sums over a block, and over a whole grid by the block that ends last (lab 02).
#pragma once

namespace cg {

/// Threads of a block in all kernels of this lab.
inline constexpr unsigned block_threads = 256;

/// The sum of one number per thread, in every thread of the block. All threads of the block call it, any number of
/// times.
__device__ inline double block_sum(double value) {
    __shared__ double of_warp[block_threads / 32];
    const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
#pragma unroll
    for (unsigned distance = 16; distance > 0; distance /= 2) value += __shfl_xor_sync(0xFFFFFFFFu, value, distance);
    __syncthreads(); // an earlier sum has been read by all
    if (lane == 0) of_warp[warp] = value;
    __syncthreads();
    double sum = 0;
#pragma unroll
    for (unsigned w = 0; w < block_threads / 32; ++w) sum += of_warp[w]; // the same order in every thread
    return sum;
}

/// Whether this block is the last of the grid to come here. What thread 0 of every block has written before is then
/// visible in L2. The counter is zero again afterwards.
/// @pre all threads of the block call it; a barrier after the last access to what the last block overwrites, as in
///      block_sum(): only thread 0 draws a ticket, and the other warps may be behind it
__device__ inline bool is_last_block(unsigned* tickets) {
    __shared__ bool last;
    if (threadIdx.x == 0) {
        __threadfence(); // first what this block has written, then its ticket
        last = atomicAdd(tickets, 1u) == gridDim.x - 1;
        if (last) *tickets = 0;
    }
    __syncthreads();
    if (last) __threadfence(); // no load below may have been done before the ticket was drawn
    return last;
}

/// The sum of `count` numbers, every step-th from `values` on, in every thread of the block. __ldcg loads past the L1
/// cache, which may hold older numbers.
__device__ inline double sum_of(const double* values, unsigned count, unsigned step = 1) {
    double sum = 0;
    for (unsigned i = threadIdx.x; i < count; i += block_threads) sum += __ldcg(&values[i * step]);
    return block_sum(sum);
}

/// Two sums over the grid, by the block that ends last.
/// @param a,b a number of each thread; become the sums, in every thread of the last block
/// @param partial two numbers per block @return whether this is the last block: the sums are only there
/// @pre as for is_last_block()
__device__ inline bool two_grid_sums(double& a, double& b, double* partial, unsigned* tickets) {
    a = block_sum(a);
    b = block_sum(b);
    if (threadIdx.x == 0) {
        partial[2 * blockIdx.x] = a;
        partial[2 * blockIdx.x + 1] = b;
    }
    if (!is_last_block(tickets)) return false;
    a = sum_of(partial, gridDim.x, 2);
    b = sum_of(partial + 1, gridDim.x, 2);
    return true;
}

} // namespace cg
