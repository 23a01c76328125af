/// @file
/// The sum over a warp and over a block: as in rung 6, for the later rungs.
#pragma once

namespace reduction {

/// The sum over the 32 threads of a warp, in all of them.
/// @pre all 32 threads call it
template <class T> __device__ T warp_sum(T x) {
#pragma unroll
    for (unsigned step = 16; step > 0; step /= 2) x += __shfl_xor_sync(0xFFFFFFFFu, x, step);
    return x;
}

/// The sum over a block of `threads` threads; valid in the first warp.
/// @pre all threads of the block call it; `threads` is a multiple of 32, at most 1024
template <unsigned threads, class T> __device__ T block_sum(T x) {
    static_assert(threads % 32 == 0 && threads <= 1024);
    constexpr unsigned warps = threads / 32;
    __shared__ T of_warp[warps];
    __syncthreads(); // of_warp may still be read by an earlier call
    x = warp_sum(x);
    if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = x;
    __syncthreads();
    if (threadIdx.x < 32) x = warp_sum(threadIdx.x < warps ? of_warp[threadIdx.x] : T{0});
    return x;
}

} // namespace reduction
