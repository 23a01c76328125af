// A rank's part on a GPU, linked to the others by MPI through host memory.
//
// The scalars stay on the GPU, as in cuda_devices. So a share of a sum goes down to the host, MPI brings all shares to
// all ranks, and they go up again. The halo goes the same way, up in a stream of its own beside the kernel of the inner
// rows.
#include "../cuda/gpu_parts.cuh"
#include "../mpi/rank.hpp"
#include "mpi.hpp"

namespace cg {

namespace {

/// This rank's part.
template <class T> class MpiOnGpu : public GpuParts<T, Slots> {
public:
    MpiOnGpu(const Problem<T>& problem, const Part<T>& part, const Placement& where)
        : GpuParts<T, Slots>(problem, {&part, 1}, where), g_((*this)[0]), send_(part.send.size()),
          halo_(part.halo.size()), slots_(2 * std::size_t{where.parts}) {}

    void send_halo() {
        if (send_.size() > 0) {
            this->pack(g_);
            CUDA_CHECK_LAUNCH();
            CUDA_CHECK(cudaMemcpyAsync(send_.data(), g_.send.data(), send_.bytes(), cudaMemcpyDeviceToHost, g_.stream));
            this->synchronize(); // also: the old halo has been read
        }
        transit_.begin(g_.part, send_.data(), halo_.data());
    }
    void receive_halo() {
        transit_.wait();
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

    void solve(const Progress& progress) {
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
    HaloInTransit<T> transit_;
};

} // namespace

std::string pci_address(int gpu) {
    char text[32] = "";
    CUDA_CHECK(cudaDeviceGetPCIBusId(text, sizeof text, gpu));
    return text;
}

template <class T>
std::unique_ptr<Rank<T>> make_cuda_rank(const Problem<T>& problem, const Part<T>& part, int gpu, const Ranks& ranks) {
    return std::make_unique<RankOf<T, MpiOnGpu<T>>>(problem, part,
                                                    Placement{.devices = {gpu},
                                                              .parts = static_cast<unsigned>(ranks.count),
                                                              .first = static_cast<unsigned>(ranks.me)});
}

template std::unique_ptr<Rank<float>> make_cuda_rank(const Problem<float>&, const Part<float>&, int, const Ranks&);
template std::unique_ptr<Rank<double>> make_cuda_rank(const Problem<double>&, const Part<double>&, int, const Ranks&);

} // namespace cg
