// A process's share on a GPU, linked to the others by NCCL. The kernels are those of cuda/06_devices.cu.
//
// NCCL moves data between the memories of GPUs, over NVLink, PCIe or the network, by kernels that wait on one GPU for
// what another sends. So its calls are commands in a stream like any other, and need neither the host nor events of
// another process:
//   - The halo: ncclSend and ncclRecv with every neighbour. Between ncclGroupStart and ncclGroupEnd all of them become
//     one kernel. Without that, two ranks that send first would wait for each other for ever.
//   - The sums: ncclAllGather brings every rank's share into the same slots on all. Every rank adds the slots in the
//     same order, so all compute the same alpha and beta to the last bit. (ncclAllReduce would add them up in an order
//     that NCCL chooses.)
// NCCL runs the commands of its ranks in the order of the calls, also where they are in different streams, so every
// rank makes the same calls in the same order.
// Because the scalars are the same, all ranks decide alike when they have finished, and none launches more than
// another: the host looks at the state of its own GPU every eight iterations.
#include <cstring>
#include <nccl.h>
#include <string>
#include <thread>

#include "../cuda/part.cuh"
#include "gpulab/device.hpp"
#include "nccl_solver.hpp"
#include "rank_part.hpp"

namespace cg {

namespace {

void nccl_check(ncclResult_t result, const char* call, const char* file, int line) {
    if (result == ncclSuccess) return;
    std::string detail = ncclGetLastError(nullptr); // "" where NCCL has no more to say
    for (char& c : detail)
        if (c == '\n') c = ' ';
    throw gpulab::Error(std::string(call) + ": " + ncclGetErrorString(result) + (detail.empty() ? "" : ": ") + detail +
                        " (" + file + ":" + std::to_string(line) + "); --link host does without NCCL");
}
/// Throws gpulab::Error unless the NCCL call succeeds. The message names call, file and line.
#define NCCL_CHECK(call) nccl_check((call), #call, __FILE__, __LINE__)

template <class T> constexpr ncclDataType_t nccl_type() { return sizeof(T) == 8 ? ncclDouble : ncclFloat; }

/// All ranks, as NCCL sees them from this one.
class Communicator {
public:
    Communicator(int rank, int ranks, const NcclId& id) {
        ncclUniqueId unique;
        static_assert(sizeof unique == sizeof id);
        std::memcpy(&unique, id.data(), sizeof unique);
        NCCL_CHECK(ncclCommInitRank(&comm_, ranks, unique, rank));
    }
    /// The other ranks may never answer commands that are still under way. So these are aborted, and the memory that
    /// they use can be freed.
    ~Communicator() {
        if (busy) ncclCommAbort(comm_);
        else ncclCommDestroy(comm_);
    }
    Communicator(const Communicator&) = delete;
    Communicator& operator=(const Communicator&) = delete;
    operator ncclComm_t() const { return comm_; }

    /// Waits for an event. @throws gpulab::Error when NCCL notices that another rank is gone or cannot be reached
    void wait_for(const gpulab::Event& event) const {
        for (;;) {
            const cudaError_t state = cudaEventQuery(event);
            if (state == cudaSuccess) return;
            if (state != cudaErrorNotReady) CUDA_CHECK(state);
            cudaGetLastError(); // "not ready" is no failure of the next launch
            ncclResult_t trouble = ncclSuccess;
            NCCL_CHECK(ncclCommGetAsyncError(comm_, &trouble));
            if (trouble != ncclSuccess && trouble != ncclInProgress)
                throw gpulab::Error(std::string("NCCL: another rank does not answer: ") + ncclGetErrorString(trouble));
            std::this_thread::yield();
        }
    }

    bool busy = false; ///< whether commands may be under way

private:
    ncclComm_t comm_ = nullptr;
};

/// Iterations that are put into the stream before the host looks at the state again.
constexpr std::size_t batch = 8;

/// Blocks of the inner rows per block that can run at a time. They fill the GPU before NCCL's kernel comes. Its stream
/// has high priority, so it starts when blocks end; with a single round that would be when all of them end.
constexpr unsigned rounds = 4;

template <class T> class NcclSolver final : public RankSolver<T> {
public:
    NcclSolver(const Problem<T>& problem, const Part<T>& part, int rank, int ranks, std::string gpu, const NcclId& id)
        : limit_(problem.limit), rules_(rules_of(problem)), rank_(static_cast<std::size_t>(rank)),
          ranks_(static_cast<unsigned>(ranks)), name_(std::move(gpu)),
          has_neighbours_(!part.sends.empty() || !part.receives.empty()), g_(problem, part, ranks_, rounds),
          comm_(rank, ranks, id) {}

    void reset() override {
        g_.reset(stream_);
        stream_.synchronize();
    }

    void solve(const std::function<void(std::size_t)>& progress) override {
        comm_.busy = true;
        begin();
        g_.state.until_stopped(
            stream_, limit_,
            [&](std::size_t left) {
                const std::size_t iterations = std::min(left, batch);
                for (std::size_t k = 0; k < iterations; ++k) {
                    progress(limit_ - left + k);
                    iterate();
                }
                return iterations;
            },
            [&](const gpulab::Event& event) { comm_.wait_for(event); });
        finished_.record(stream_);
        comm_.wait_for(finished_);
        comm_.busy = false;
    }

    void result(Output<T>& out) override {
        out.x.resize(g_.rows);
        g_.x.copy_to(out.x);
        g_.check_guard_bands();
        g_.state.result(out);
    }
    std::string device() const override { return name_; }
    std::string link() const override {
        int version = 0; // 2.28.3 is 22803
        NCCL_CHECK(ncclGetVersion(&version));
        return "by NCCL " + std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) + "." +
               std::to_string(version % 100);
    }

private:
    /// The first residual and direction.
    void begin() {
        g_.state.clear(stream_);
        send_halo();
        receive_halo();
        first_residual_kernel<<<g_.all_blocks, block_threads, 0, stream_>>>(
            g_.matrix.view(), g_.b.data(), g_.p.data(), g_.weights(), g_.r.data(), g_.partial.data(),
            g_.residual_slots.data() + 2 * rank_, g_.state.data());
        CUDA_CHECK_LAUNCH();
        share(g_.residual_slots, 2);
        next(true);
    }

    /// One iteration.
    void iterate() {
        send_halo();
        inner_kernel<<<g_.inner_blocks, block_threads, 0, stream_>>>(g_.matrix.view(), g_.part.inner_begin,
                                                                     g_.part.inner_end, g_.p.data(), g_.q.data(),
                                                                     g_.partial.data(), g_.state.data());
        CUDA_CHECK_LAUNCH();
        receive_halo();
        border_kernel<<<g_.border_blocks, block_threads, 0, stream_>>>(
            g_.matrix.view(), g_.part.inner_begin, g_.part.inner_end, g_.p.data(), g_.q.data(), g_.partial.data(),
            g_.inner_blocks, g_.pq_slots.data() + rank_, g_.state.data());
        CUDA_CHECK_LAUNCH();
        share(g_.pq_slots, 1);
        part_residual_kernel<<<g_.all_blocks, block_threads, 0, stream_>>>(
            g_.q.data(), g_.weights(), g_.r.data(), g_.rows, g_.pq_slots.data(), ranks_, g_.partial.data(),
            g_.residual_slots.data() + 2 * rank_, g_.state.data());
        CUDA_CHECK_LAUNCH();
        share(g_.residual_slots, 2);
        next(false);
    }

    /// Collects the elements of p that others need, and exchanges halos in a stream beside the kernels.
    void send_halo() {
        if (!has_neighbours_) return;
        pack_kernel<<<g_.pack_blocks, block_threads, 0, stream_>>>(g_.p.data(), g_.which.data(), g_.send.data(),
                                                                   g_.which.size());
        CUDA_CHECK_LAUNCH();
        packed_.record(stream_); // also after the last kernel that reads the old halo
        CUDA_CHECK(cudaStreamWaitEvent(halo_, packed_, 0));
        NCCL_CHECK(ncclGroupStart());
        for (const auto& link : g_.part.sends)
            NCCL_CHECK(ncclSend(g_.send.data() + link.begin, link.count, nccl_type<T>(), static_cast<int>(link.part),
                                comm_, halo_));
        for (const auto& link : g_.part.receives)
            NCCL_CHECK(ncclRecv(g_.p.data() + g_.rows + link.begin, link.count, nccl_type<T>(),
                                static_cast<int>(link.part), comm_, halo_));
        NCCL_CHECK(ncclGroupEnd());
        arrived_.record(halo_);
    }
    /// Lets the kernels that follow wait for the halo.
    void receive_halo() {
        if (has_neighbours_) CUDA_CHECK(cudaStreamWaitEvent(stream_, arrived_, 0));
    }
    /// Brings every rank's share of a sum into its slot on all. This rank's share is in its slot already.
    void share(gpulab::DeviceBuffer<double>& slots, std::size_t numbers) {
        NCCL_CHECK(ncclAllGather(slots.data() + numbers * rank_, slots.data(), numbers, ncclDouble, comm_, stream_));
    }
    void next(bool first) {
        part_next_kernel<<<g_.all_blocks, block_threads, 0, stream_>>>(
            g_.r.data(), g_.weights(), g_.x.data(), g_.p.data(), g_.rows, g_.residual_slots.data(), ranks_, first,
            g_.state.data(), g_.state.history(), rules_);
        CUDA_CHECK_LAUNCH();
    }

    std::size_t limit_;
    Rules rules_;
    std::size_t rank_;
    unsigned ranks_;
    std::string name_;
    bool has_neighbours_;
    DevicePart<T> g_;
    gpulab::Stream stream_, halo_{gpulab::Stream::Priority::high};
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

template <class T>
std::unique_ptr<RankSolver<T>> make_nccl_solver(const Problem<T>& problem, const Part<T>& part, int rank, int ranks,
                                                int local_rank, const NcclId& id) {
    const gpulab::Device& gpu = device_of_rank(gpulab::Backend::cuda, local_rank);
    gpulab::use(gpu);
    return std::make_unique<NcclSolver<T>>(problem, part, rank, ranks, gpu.name, id);
}

template std::unique_ptr<RankSolver<float>> make_nccl_solver(const Problem<float>&, const Part<float>&, int, int, int,
                                                             const NcclId&);
template std::unique_ptr<RankSolver<double>> make_nccl_solver(const Problem<double>&, const Part<double>&, int, int,
                                                              int, const NcclId&);

} // namespace cg
