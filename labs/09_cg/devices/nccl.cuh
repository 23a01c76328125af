/// @file
/// NCCL between GPUs.
///
/// NCCL moves data between the memories of GPUs, over NVLink, PCIe or the network, by kernels that wait on one GPU for
/// what another sends. So its calls are commands in a stream like any other, and need neither the host nor events of
/// another process:
///   - The halo: ncclSend and ncclRecv with every neighbour. Between ncclGroupStart and ncclGroupEnd all of them become
///     one kernel. Without that, two ranks that send first would wait for each other for ever.
///   - The sums: ncclAllGather brings every rank's share into the same slots on all. (ncclAllReduce would add them up
///     in an order that NCCL chooses.)
/// All ranks must make the same NCCL calls in the same order, else they wait for each other for ever. They do: all
/// compute the same scalars and look at the state after the same launch, so they stop alike.
#pragma once

#include <thread>

#include "../cuda/gpu_parts.cuh"
#include "nccl_check.hpp"
#include "slots.cuh"

namespace cg {

/// This rank's part.
template <class T> class Nccl : public GpuParts<T, Slots> {
public:
    Nccl(const Problem<T>& problem, const Part<T>& part, int gpu, const ncclUniqueId& id)
        : GpuParts<T, Slots>(problem, {&part, 1}, {gpu}), g_((*this)[0]) {
        // NCCL's kernel can start only when a block of the inner rows ends. If as many blocks as fit went through all
        // rows, they would end together, at the end of the kernel; of four times as many the first end after a quarter.
        g_.inner_blocks = std::min(4 * gpulab::resident_blocks(inner_kernel<T>, block_threads),
                                   gpulab::grid_size(part.inner_rows(), block_threads));
        g_.partial = gpulab::DeviceBuffer<double>(g_.partial_sums());
        NCCL_CHECK(ncclCommInitRank(&all_ranks_, static_cast<int>(part.parts), id, static_cast<int>(part.number)));
    }
    /// The other ranks may never answer commands that are still under way: these are aborted, so that their memory can
    /// be freed.
    ~Nccl() {
        if (busy_) ncclCommAbort(all_ranks_);
        else ncclCommDestroy(all_ranks_);
    }

    void send_halo() {
        if (!has_neighbours()) return;
        constexpr ncclDataType_t type = sizeof(T) == 8 ? ncclDouble : ncclFloat;
        this->pack(g_);
        CUDA_CHECK_LAUNCH();
        packed_.record(g_.stream); // after the border rows of the iteration before: the old halo may go
        CUDA_CHECK(cudaStreamWaitEvent(halo_, packed_, 0));
        NCCL_CHECK(ncclGroupStart());
        for (const auto& to : g_.part.sends)
            NCCL_CHECK(
                ncclSend(g_.send.data() + to.begin, to.count, type, static_cast<int>(to.part), all_ranks_, halo_));
        for (const auto& from : g_.part.receives)
            NCCL_CHECK(ncclRecv(g_.p.data() + g_.rows + from.begin, from.count, type, static_cast<int>(from.part),
                                all_ranks_, halo_));
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

    template <class Progress> void solve(const Progress& progress) {
        busy_ = true;
        cg::solve(*this, 8, progress);
        busy_ = false;
    }
    /// As that of GpuParts. @throws gpulab::Error when NCCL notices that another rank is gone or cannot be reached
    void wait(const gpulab::Event& event) const {
        for (;;) {
            const cudaError_t state = cudaEventQuery(event);
            if (state == cudaSuccess) return;
            if (state != cudaErrorNotReady) CUDA_CHECK(state);
            cudaGetLastError(); // "not ready" is no failure of the next launch
            ncclResult_t trouble = ncclSuccess;
            NCCL_CHECK(ncclCommGetAsyncError(all_ranks_, &trouble));
            if (trouble != ncclSuccess && trouble != ncclInProgress)
                throw gpulab::Error(std::string("NCCL: another rank does not answer: ") + ncclGetErrorString(trouble));
            std::this_thread::yield();
        }
    }
    void synchronize() {
        finished_.record(g_.stream);
        wait(finished_);
    }

private:
    bool has_neighbours() const { return !g_.part.sends.empty() || !g_.part.receives.empty(); }
    /// Brings every rank's share of a sum into its slot on all. This rank's share is in its slot already.
    void share(gpulab::DeviceBuffer<double>& slots, std::size_t numbers) {
        NCCL_CHECK(
            ncclAllGather(slots.data() + numbers * g_.me, slots.data(), numbers, ncclDouble, all_ranks_, g_.stream));
    }

    GpuPart<T, Slots>& g_;
    gpulab::Stream halo_{gpulab::Stream::Priority::high};
    gpulab::Event packed_{cudaEventDisableTiming}, arrived_{cudaEventDisableTiming}, finished_{cudaEventDisableTiming};
    ncclComm_t all_ranks_ = nullptr;
    bool busy_ = false; // whether NCCL's commands may be under way
};

} // namespace cg
