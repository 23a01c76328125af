/// @file
/// Flags: a kernel stores data in another GPU's memory, and then raises a flag there. A kernel that needs the data
/// waits for the flag.
///
///   - Order: the numbers are stored first, then the flag (release); the flag is loaded first, then the numbers
///     (acquire). Both apply to the whole system and not only to one device (thread_scope_system).
///   - A flag holds the number of the last exchange that has arrived: 1 in begin(), then one more in each iteration. It
///     only grows until the next solution, so nobody has to clear it in between. The halo of exchange n is the p for
///     the product of exchange n + 1; that of x_0 is in place before.
#pragma once

#include <cuda/atomic>

#include "../cuda/part_kernels.cuh"

namespace cg {

/// Where all parts store in the memory of one part.
struct Inbox {
    double* pq;       ///< as in Slots
    double* residual; ///< as in Slots
    unsigned* flags;  ///< 3 * parts: one per sender for the halo, then for p . q, then for the residual
};

/// What a flag announces: flag [message * parts + sender].
enum Message : unsigned { halo_message = 0, pq_message = 1, residual_message = 2 };

/// Slots that other GPUs fill while a kernel runs.
template <class T> struct FlaggedSlots : Slots {
    const Inbox* inboxes;               ///< one per part
    unsigned* flags;                    ///< inboxes[me].flags; a copy here saves a load
    unsigned step;                      ///< number of this exchange
    std::size_t inner_begin, inner_end; ///< the border rows, which others may need, lie before and behind
    const unsigned* first_copy;         ///< first copy of each border row, and the end
    T* const* copies;                   ///< places in the halos of other parts

    __device__ bool pq_is_here(State* s) const { return all_have_sent(pq_message, s); }
    __device__ bool residual_is_here(State* s) const { return all_have_sent(residual_message, s); }
    /// Stores this part's share of p . q in the slots of all parts, its own too, and raises its flags.
    __device__ void send_pq(double mine) const {
        for (unsigned part = threadIdx.x; part < parts; part += block_threads) {
            inboxes[part].pq[me] = mine;
            raise_flag(part, pq_message);
        }
    }
    /// The same of r . r and r . z.
    __device__ void send_residual(double rr, double rho) const {
        for (unsigned part = threadIdx.x; part < parts; part += block_threads) {
            double* const slot = inboxes[part].residual + 2 * me;
            slot[0] = rr, slot[1] = rho;
            raise_flag(part, residual_message);
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
        for (unsigned part = threadIdx.x; part < parts; part += block_threads) raise_flag(part, halo_message);
    }

    /// Raises this part's flag in the memory of part `to`; what this thread has stored there arrives before it.
    __device__ void raise_flag(unsigned to, Message message) const {
        ::cuda::atomic_ref<unsigned, ::cuda::thread_scope_system>(inboxes[to].flags[message * parts + me])
            .store(step, ::cuda::memory_order_release);
    }
    /// Waits for a flag of part `from` with this number. @return false when it does not come: about 4 s at 2 GHz
    __device__ bool wait_for_flag(unsigned from, Message message, unsigned number) const {
        constexpr long long patience = 1ll << 33; // clock ticks
        const long long begin = clock64();
        const ::cuda::atomic_ref<unsigned, ::cuda::thread_scope_system> flag(flags[message * parts + from]);
        while (flag.load(::cuda::memory_order_acquire) < number)
            if (clock64() - begin > patience) return false;
        return true;
    }
    /// Waits for the halo. Called by single threads, with no barrier. A part that has waited in vain still sends its
    /// share of p . q, a wrong one. That does no harm: its next kernel ends the solution before it sends r . r, so all
    /// others wait for that in vain, and every part is lost.
    __device__ void wait_for_halo(State* s) const {
        for (unsigned part = 0; part < parts; ++part)
            if (!wait_for_flag(part, halo_message, step - 1)) s->end = End::lost;
    }
    /// The block waits until this message has come from every part. All its threads may then read what came with it.
    /// Another block may end the solution meanwhile, which some warps see and others do not: so every thread comes to
    /// the barrier, and the block goes on, or ends, as a whole.
    /// @pre all threads of the block call it
    __device__ bool all_have_sent(Message message, State* s) const {
        bool here = s->stop == go_on;
        if (here) {
            here = s->end != End::lost; // wait_for_halo() was not in vain
            for (unsigned part = threadIdx.x; here && part < parts; part += block_threads)
                here = wait_for_flag(part, message, step);
            if (!here) s->end = End::lost, s->stop = stopped;
        }
        return __syncthreads_and(here);
    }
};

} // namespace cg
