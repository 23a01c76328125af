/// @file
/// Flags: how a kernel tells another GPU that what it has stored in that GPU's memory is there, and how it waits.
///
///   - Order: the numbers are stored first, then the flag (release); the flag is loaded first, then the numbers
///     (acquire). Both apply to the whole system and not only to one device (thread_scope_system).
///   - A flag holds the number of a step, which only grows: nobody clears it before the next solution.
#pragma once

#include <cuda/atomic>

#include "../cuda/part_kernels.cuh"

namespace cg {

/// What the parts write into the memory of one of them.
struct Inbox {
    double* pq;       ///< as in Slots
    double* residual; ///< as in Slots
    unsigned* flags;  ///< per part the last step whose halo it has stored; then of p . q; then of the residual
};

enum Letter : unsigned { halo_letter = 0, pq_letter = 1, residual_letter = 2 };

/// Slots that other GPUs fill while a kernel runs.
struct FlaggedSlots : Slots {
    const Inbox* inboxes; ///< one per part
    unsigned* flags;      ///< those of inboxes[me], without a load on the way to them
    unsigned step;        ///< this one: 1, 2, ...

    __device__ bool halo_is_here(State* s) const { return all_have_posted(halo_letter, s); }
    __device__ bool pq_is_here(State* s) const { return all_have_posted(pq_letter, s); }
    __device__ bool residual_is_here(State* s) const { return all_have_posted(residual_letter, s); }
    __device__ void leave_pq(double mine) const {
        for (unsigned part = threadIdx.x; part < parts; part += block_threads) {
            inboxes[part].pq[me] = mine;
            raise_flag(part, pq_letter);
        }
    }
    __device__ void leave_residual(double rr, double rho) const {
        for (unsigned part = threadIdx.x; part < parts; part += block_threads) {
            double* const slot = inboxes[part].residual + 2 * me;
            slot[0] = rr, slot[1] = rho;
            raise_flag(part, residual_letter);
        }
    }

    /// Tells a part that what this thread has stored there is there.
    __device__ void raise_flag(unsigned to, Letter letter) const {
        ::cuda::atomic_ref<unsigned, ::cuda::thread_scope_system>(inboxes[to].flags[letter * parts + me])
            .store(step, ::cuda::memory_order_release);
    }
    /// Waits for a flag of part `from`. @return false when it does not come: about 4 s at 2 GHz
    __device__ bool wait_for_flag(unsigned from, Letter letter) const {
        constexpr long long patience = 1ll << 33; // clock ticks
        const long long begin = clock64();
        const ::cuda::atomic_ref<unsigned, ::cuda::thread_scope_system> flag(flags[letter * parts + from]);
        while (flag.load(::cuda::memory_order_acquire) < step)
            if (clock64() - begin > patience) return false;
        return true;
    }
    /// Waits for the halo, in a thread that is alone with it.
    __device__ void wait_for_halo(State* s) const {
        for (unsigned part = 0; part < parts; ++part)
            if (!wait_for_flag(part, halo_letter)) give_up(s);
    }
    /// Ends the solution of a part that has waited in vain.
    __device__ static void give_up(State* s) {
        s->end = ended_lost;
        s->stop = stopped;
    }
    /// Waits for a letter from every part. What the parts have stored before is then visible to the whole block.
    /// @pre all threads of the block call it
    __device__ bool all_have_posted(Letter letter, State* s) const {
        bool here = true;
        for (unsigned part = threadIdx.x; part < parts; part += block_threads)
            here = wait_for_flag(part, letter) && here;
        if (!here) give_up(s);
        return __syncthreads_and(here);
    }
};

/// Stores p's elements where others need them: in their halo.
/// @param which own elements @param where for each of them its place in the memory of another part
template <class T>
__global__ void __launch_bounds__(block_threads)
    send_kernel(const T* p, const int* which, T* const* where, std::size_t n, FlaggedSlots post, State* s) {
    if (s->stop != go_on) return;
    // ANSWER halo
    for (std::size_t k = blockIdx.x * std::size_t{block_threads} + threadIdx.x; k < n;
         k += gridDim.x * std::size_t{block_threads})
        *where[k] = p[which[k]];
    // END ANSWER
    __threadfence_system(); // the elements of this thread arrive before any flag
    __syncthreads();        // and so do those of its block
    if (!is_last_block(&s->tickets)) return;
    for (unsigned part = threadIdx.x; part < post.parts; part += block_threads) post.raise_flag(part, halo_letter);
}

} // namespace cg
