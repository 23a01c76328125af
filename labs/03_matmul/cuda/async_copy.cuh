/// @file
/// Copies from global to shared memory that bypass the registers. A thread waits for them explicitly.
/// (PTX cp.async, compute capability 8.0; on older devices plain copies with the same result.)
#pragma once

namespace matmul {

/// Starts a copy of 4 bytes; where `inside` is false, nothing is read and the destination becomes 0.
__device__ inline void copy4_async(float* shared, const float* global, bool inside) {
#if __CUDA_ARCH__ >= 800
    const auto to = static_cast<unsigned>(__cvta_generic_to_shared(shared));
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(to), "l"(global), "r"(inside ? 4 : 0) : "memory");
#else
    *shared = inside ? *global : 0;
#endif
}

/// Starts a copy of 16 bytes, both addresses multiples of 16; where `inside` is false, the destination becomes 0.
__device__ inline void copy16_async(float* shared, const float* global, bool inside) {
#if __CUDA_ARCH__ >= 800
    const auto to = static_cast<unsigned>(__cvta_generic_to_shared(shared));
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(global), "r"(inside ? 16 : 0)
                 : "memory");
#else
    *reinterpret_cast<float4*>(shared) = inside ? *reinterpret_cast<const float4*>(global) : float4{};
#endif
}

/// Closes a group: the copies that this thread started since the last call belong together.
__device__ inline void commit_copies() {
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}

/// Waits until at most `pending` of this thread's latest groups are still under way. Copies by other
/// threads have arrived only after a barrier as well.
template <int pending> __device__ void wait_for_copies() {
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_group %0;" ::"n"(pending) : "memory");
#endif
}

} // namespace matmul
