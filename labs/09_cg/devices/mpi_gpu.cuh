/// @file
/// MPI between GPUs, through host memory (mpi.hpp).
///
/// The scalars stay on the GPU, as in cuda_devices. So a share of a sum goes down to the host, MPI brings all shares to
/// all ranks, and they go up again. The halo goes the same way, up in a stream of its own beside the kernel of the
/// inner rows.
#pragma once

#include "../cuda/gpu_parts.cuh"
#include "mpi.hpp"
#include "slots.cuh"

namespace cg {

/// This rank's part.
template <class T> class MpiOnGpu : public GpuParts<T, Slots> {
public:
    MpiOnGpu(const Problem<T>& problem, const Part<T>& part, int gpu)
        : GpuParts<T, Slots>(problem, {&part, 1}, {gpu}), g_((*this)[0]), send_(part.send.size()),
          halo_(part.halo.size()), slots_(2 * part.parts) {}

    void send_halo() {
        if (send_.size() > 0) {
            this->pack(g_);
            CUDA_CHECK_LAUNCH();
            CUDA_CHECK(cudaMemcpyAsync(send_.data(), g_.send.data(), send_.bytes(), cudaMemcpyDeviceToHost, g_.stream));
            this->synchronize(); // also: the old halo has been read
        }
        begin_halo(g_.part, send_.data(), halo_.data(), requests_);
    }
    void receive_halo() {
        wait_for(requests_);
        if (halo_.size() == 0) return;
        CUDA_CHECK(
            cudaMemcpyAsync(g_.p.data() + g_.rows, halo_.data(), halo_.bytes(), cudaMemcpyHostToDevice, copies_));
        arrived_.record(copies_);
        CUDA_CHECK(cudaStreamWaitEvent(g_.stream, arrived_, 0));
    }
    bool share_pq() {
        share(g_.pq, 1);
        return true;
    }
    void share_residual() { share(g_.residual, 2); }

    template <class Progress> void solve(const Progress& progress) {
        // After every iteration the host looks at the state: it waits for sums anyway.
        cg::solve(*this, 1, progress);
    }

private:
    /// Brings every rank's share of a sum into its slot on all. This rank's share is in its slot on the GPU.
    void share(gpulab::DeviceBuffer<double>& slots, std::size_t numbers) {
        const std::size_t at = numbers * g_.me;
        CUDA_CHECK(cudaMemcpyAsync(&slots_[at], slots.data() + at, numbers * sizeof(double), cudaMemcpyDeviceToHost,
                                   g_.stream));
        this->synchronize();
        gather_shares(slots_.data(), static_cast<int>(numbers));
        CUDA_CHECK(cudaMemcpyAsync(slots.data(), slots_.data(), slots.bytes(), cudaMemcpyHostToDevice, g_.stream));
    }

    GpuPart<T, Slots>& g_;
    gpulab::PinnedBuffer<T> send_, halo_;
    gpulab::PinnedBuffer<double> slots_; // shares of all ranks
    gpulab::Stream copies_;
    gpulab::Event arrived_{cudaEventDisableTiming};
    std::vector<MPI_Request> requests_; // of the halo
};

} // namespace cg
