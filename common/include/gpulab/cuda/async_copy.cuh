/// @file
/// Copies from global to shared memory that bypass the registers. A thread waits for them explicitly.
/// (PTX cp.async, compute capability 8.0; on older devices plain copies with the same result.)
#pragma once

namespace gpulab {

/// Starts a copy of 4, 8 or 16 bytes, both addresses multiples of that; where `inside` is false, nothing is read and
/// the destination becomes 0.
template <int bytes, class T> __device__ void copy_async(T* shared, const T* global, bool inside) {
#if __CUDA_ARCH__ >= 800
    const auto to = static_cast<unsigned>(__cvta_generic_to_shared(shared));
    if constexpr (bytes == 16) // past the L1 cache
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(global), "r"(inside ? 16 : 0)
                     : "memory");
    else
        asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(to), "l"(global), "n"(bytes),
                     "r"(inside ? bytes : 0)
                     : "memory");
#else
    for (int e = 0; e < bytes / static_cast<int>(sizeof(T)); ++e) shared[e] = inside ? global[e] : 0;
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

} // namespace gpulab
