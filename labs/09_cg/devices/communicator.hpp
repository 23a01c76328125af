/// @file
/// NCCL's calls, and all ranks as NCCL sees them.
#pragma once

#include <nccl.h>
#include <string>
#include <thread>

#include "gpulab/cuda/stream.hpp"
#include "gpulab/error.hpp"

namespace cg {

inline void nccl_check(ncclResult_t result, const char* call, const char* file, int line) {
    if (result == ncclSuccess) return;
    std::string detail = ncclGetLastError(nullptr); // "" where NCCL has no more to say
    for (char& c : detail)
        if (c == '\n') c = ' ';
    throw gpulab::Error(std::string(call) + ": " + ncclGetErrorString(result) + (detail.empty() ? "" : ": ") + detail +
                        " (" + file + ":" + std::to_string(line) + "); --link host does without NCCL");
}
/// Throws gpulab::Error unless the NCCL call succeeds. The message names call, file and line.
#define NCCL_CHECK(call) nccl_check((call), #call, __FILE__, __LINE__)

/// All ranks, as NCCL sees them from this one.
class Communicator {
public:
    /// @param id the same on all ranks @param me number of this one
    Communicator(int ranks, const ncclUniqueId& id, int me) { NCCL_CHECK(ncclCommInitRank(&comm_, ranks, id, me)); }
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

} // namespace cg
