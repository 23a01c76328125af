/// @file
/// Flags: a kernel stores data in another GPU's memory, and then raises a flag there. A kernel that needs the data
/// waits for the flag.
///
///   - Order: the numbers are stored first, then the flag (release); the flag is loaded first, then the numbers
///     (acquire). Both apply to the whole system and not only to one device (thread_scope_system).
///   - A flag holds the number of the last step whose data have arrived: begin() is step 1, and each iteration is one
///     more. It only grows until the next solution, so nobody has to clear it in between. The halo of step n is the p
///     for the product of step n + 1; that of x_0 is in place before.
///
///     part 0, step n   | product | pq, then pq_flags = n |   ...   | p, then halo_flags = n | product of step n + 1
///                                      | stores                          | stores
///     part 1, step n   | product | waits for pq_flags >= n | ...   | inner rows | waits for halo_flags >= n | border
#pragma once

#include <cuda/atomic>

#include "../cuda/part_kernels.cuh"

namespace cg {

/// An exchange (cuda/part_kernels.cuh) in whose slots other GPUs store while a kernel runs.
template <class T> struct FlaggedSlots {
    double* pq;                                       ///< the shares of p . q, one number per part
    double* residual;                                 ///< the shares of r . r and r . z, two numbers per part
    unsigned *halo_flags, *pq_flags, *residual_flags; ///< a flag per part that sends
    unsigned parts, me;
    const FlaggedSlots* of;             ///< of[part] are the slots and flags in the memory of that part
    unsigned step;                      ///< number of this step: begin() is 1
    std::size_t inner_begin, inner_end; ///< the border rows, which others may need, lie before and behind
    const unsigned* first_copy;         ///< first copy of each border row, and the end
    T* const* copies;                   ///< places in the halos of other parts

    __device__ bool pq_is_here(State* s) const { return all_have_sent(pq_flags, s); }
    __device__ bool residual_is_here(State* s) const { return all_have_sent(residual_flags, s); }
    /// Stores this part's share of p . q in the slots of all parts, its own too, and raises its flags.
    __device__ void send_pq(double mine) const {
        for (unsigned part = threadIdx.x; part < parts; part += block_threads) {
            of[part].pq[me] = mine;
            raise(of[part].pq_flags[me]);
        }
    }
    /// The same of r . r and r . z.
    __device__ void send_residual(double rr, double rho) const {
        for (unsigned part = threadIdx.x; part < parts; part += block_threads) {
            double* const slot = of[part].residual + 2 * me;
            slot[0] = rr;
            slot[1] = rho;
            raise(of[part].residual_flags[me]);
        }
    }

    /// Stores the new p of row i where other parts have it in their halo.
    __device__ void send_p(std::size_t i, T value) const {
        if (i >= inner_begin && i < inner_end) return;
        const std::size_t border = i < inner_begin ? i : i - (inner_end - inner_begin);
        for (unsigned k = first_copy[border]; k < first_copy[border + 1]; ++k) *copies[k] = value;
        __threadfence_system(); // it arrives before whatever is stored after the block's next barrier
    }
    /// Raises the flags of the halo.
    __device__ void all_p_is_sent() const {
        for (unsigned part = threadIdx.x; part < parts; part += block_threads) raise(of[part].halo_flags[me]);
    }

    /// Raises a flag in the memory of any part; what this thread has stored there arrives before it.
    __device__ void raise(unsigned& flag) const {
        ::cuda::atomic_ref<unsigned, ::cuda::thread_scope_system>(flag).store(step, ::cuda::memory_order_release);
    }
    /// Waits until a flag has this number. @return false when that does not happen: about 4 s at 2 GHz
    __device__ static bool wait_for(unsigned& its_flag, unsigned number) {
        constexpr long long patience = 1ll << 33; // clock ticks
        const long long begin = clock64();
        const ::cuda::atomic_ref<unsigned, ::cuda::thread_scope_system> flag(its_flag);
        while (flag.load(::cuda::memory_order_acquire) < number)
            if (clock64() - begin > patience) return false;
        return true;
    }
    /// Waits for the halo. Called by single threads, with no barrier. A part that has waited in vain still sends its
    /// share of p . q, a wrong one. That does no harm: its next kernel ends the solution before it sends r . r, so all
    /// others wait for that in vain, and every part is lost.
    __device__ void wait_for_halo(State* s) const {
        for (unsigned part = 0; part < parts; ++part)
            if (!wait_for(halo_flags[part], step - 1)) s->end = End::lost;
    }
    /// The block waits until every part has raised its flag. All its threads may then read what came with it.
    /// Another block may end the solution meanwhile, which some warps see and others do not: so every thread comes to
    /// the barrier, and the block goes on, or ends, as a whole.
    /// @pre all threads of the block call it
    __device__ bool all_have_sent(unsigned* flags, State* s) const {
        bool here = !s->stop;
        if (here) {
            here = s->end != End::lost; // wait_for_halo() was not in vain
            for (unsigned part = threadIdx.x; here && part < parts; part += block_threads)
                here = wait_for(flags[part], step);
            if (!here) {
                s->end = End::lost;
                s->stop = true;
            }
        }
        return __syncthreads_and(here);
    }
};

} // namespace cg
