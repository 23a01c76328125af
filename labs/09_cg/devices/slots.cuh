/// @file
/// Slots: the places in a part's memory where the shares of a sum come together. Each part leaves its own share in its
/// own slot, and PeerCopies, MpiOnGpu or Nccl copies it into the same slot of all others. A slot for p . q of three
/// parts, in the memory of part 1:
///
///     pq | share of 0 | share of 1 | share of 2 |
///            ^ copied    ^ send_pq()  ^ copied      then every part adds up all three, in this order
#pragma once

#include "../cuda/part_kernels.cuh"

namespace cg {

/// An exchange (cuda/part_kernels.cuh) without waiting: shares and halo are in place before the kernel begins.
struct Slots {
    double* pq;       ///< the shares of p . q, one number per part
    double* residual; ///< the shares of r . r and r . z, two numbers per part
    unsigned parts, me;

    __device__ bool pq_is_here(State* s) const { return !s->stop; }
    __device__ bool residual_is_here(State* s) const { return !s->stop; }
    __device__ void send_pq(double mine) const {
        if (threadIdx.x == 0) pq[me] = mine;
    }
    __device__ void send_residual(double rr, double rho) const {
        if (threadIdx.x == 0) {
            residual[2 * me] = rr;
            residual[2 * me + 1] = rho;
        }
    }
    template <class T> __device__ void send_p(std::size_t /*i*/, T /*p_i*/) const {} // pack_kernel collects it
    __device__ void all_p_is_sent() const {}
};

} // namespace cg
