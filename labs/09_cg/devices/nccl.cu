// A rank's part on a GPU, linked to the others by NCCL.
//
// NCCL moves data between the memories of GPUs, over NVLink, PCIe or the network, by kernels that wait on one GPU for
// what another sends. So its calls are commands in a stream like any other, and need neither the host nor events of
// another process:
//   - The halo: ncclSend and ncclRecv with every neighbour. Between ncclGroupStart and ncclGroupEnd all of them become
//     one kernel. Without that, two ranks that send first would wait for each other for ever.
//   - The sums: ncclAllGather brings every rank's share into the same slots on all. (ncclAllReduce would add them up in
//     an order that NCCL chooses.)
// All ranks must make the same NCCL calls in the same order, else they wait for each other for ever. They do: all
// compute the same scalars and look at the state after the same launch, so they stop alike.
#include <cstring>

#include "../cuda/gpu_parts.cuh"
#include "../mpi/rank.hpp"
#include "communicator.hpp"

namespace cg {

namespace {

/// This rank's part.
template <class T> class Nccl : public GpuParts<T, Slots> {
public:
    Nccl(const Problem<T>& problem, const Part<T>& part, const Placement& where, const ncclUniqueId& id)
        : GpuParts<T, Slots>(problem, {&part, 1}, where), g_((*this)[0]),
          comm_(static_cast<int>(where.parts), id, static_cast<int>(where.first)) {}

    void send_halo() {
        if (!has_neighbours()) return;
        constexpr ncclDataType_t type = sizeof(T) == 8 ? ncclDouble : ncclFloat;
        this->pack(g_);
        CUDA_CHECK_LAUNCH();
        packed_.record(g_.stream); // after the border rows of the iteration before: the old halo may go
        CUDA_CHECK(cudaStreamWaitEvent(halo_, packed_, 0));
        NCCL_CHECK(ncclGroupStart());
        for (const auto& to : g_.part.sends)
            NCCL_CHECK(ncclSend(g_.send.data() + to.begin, to.count, type, static_cast<int>(to.part), comm_, halo_));
        for (const auto& from : g_.part.receives)
            NCCL_CHECK(ncclRecv(g_.p.data() + g_.rows + from.begin, from.count, type, static_cast<int>(from.part),
                                comm_, halo_));
        NCCL_CHECK(ncclGroupEnd());
        arrived_.record(halo_);
    }
    void receive_halo() {
        if (has_neighbours()) CUDA_CHECK(cudaStreamWaitEvent(g_.stream, arrived_, 0));
    }
    bool share_pq() {
        share(g_.pq, 1);
        return true;
    }
    void share_residual() { share(g_.residual, 2); }

    void solve(const Progress& progress) {
        comm_.busy = true;
        cg::solve(*this, 8, progress);
        comm_.busy = false;
    }
    /// As those of GpuParts, unless another rank is gone.
    void wait(const gpulab::Event& event) const { comm_.wait_for(event); }
    void synchronize() {
        finished_.record(g_.stream);
        wait(finished_);
    }

private:
    bool has_neighbours() const { return !g_.part.sends.empty() || !g_.part.receives.empty(); }
    /// Brings every rank's share of a sum into its slot on all. This rank's share is in its slot already.
    void share(gpulab::DeviceBuffer<double>& slots, std::size_t numbers) {
        NCCL_CHECK(ncclAllGather(slots.data() + numbers * g_.me, slots.data(), numbers, ncclDouble, comm_, g_.stream));
    }

    GpuPart<T, Slots>& g_;
    gpulab::Stream halo_{gpulab::Stream::Priority::high};
    gpulab::Event packed_{cudaEventDisableTiming}, arrived_{cudaEventDisableTiming}, finished_{cudaEventDisableTiming};
    Communicator comm_; // the last member, so that it is destroyed first: nothing is freed while NCCL uses it
};

} // namespace

NcclId make_nccl_id() {
    ncclUniqueId unique;
    NCCL_CHECK(ncclGetUniqueId(&unique));
    NcclId id;
    std::memcpy(id.data(), &unique, sizeof unique);
    return id;
}

std::string nccl_version() {
    int version = 0; // 2.28.3 is 22803
    NCCL_CHECK(ncclGetVersion(&version));
    return std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) + "." +
           std::to_string(version % 100);
}

template <class T>
std::unique_ptr<Rank<T>> make_nccl_rank(const Problem<T>& problem, const Part<T>& part, int gpu, const Ranks& ranks,
                                        const NcclId& id) {
    ncclUniqueId unique;
    static_assert(sizeof unique == sizeof id);
    std::memcpy(&unique, id.data(), sizeof unique);
    // NCCL's kernel can start only when a block of the inner rows ends. With one round all blocks end together, at the
    // end of the kernel; with four rounds the first ones end after a quarter of it.
    return std::make_unique<RankOf<T, Nccl<T>>>(problem, part,
                                                Placement{.devices = {gpu},
                                                          .parts = static_cast<unsigned>(ranks.count),
                                                          .first = static_cast<unsigned>(ranks.me),
                                                          .rounds = 4},
                                                unique);
}

template std::unique_ptr<Rank<float>> make_nccl_rank(const Problem<float>&, const Part<float>&, int, const Ranks&,
                                                     const NcclId&);
template std::unique_ptr<Rank<double>> make_nccl_rank(const Problem<double>&, const Part<double>&, int, const Ranks&,
                                                      const NcclId&);

} // namespace cg
