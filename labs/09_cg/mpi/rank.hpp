/// @file
/// One process's part of the solution, whatever it computes on and however it is linked to the others.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "cg.hpp"
#include "split.hpp"

namespace cg {

/// This process among all of them.
struct Ranks {
    int me = 0, count = 1;
    int local = 0;       ///< number among those of this computer
    int on_computer = 1; ///< how many this computer has
    int computer = 0;    ///< the first rank of this computer
};

/// Called with 0, 1, ... when a process comes to that iteration.
using Progress = std::function<void(std::size_t)>;

/// A rank's own rows from the start to the solution. All ranks call the same functions in the same order.
template <class T> class Rank {
public:
    virtual ~Rank() = default;
    /// Puts the start into place; poisons what solve() computes.
    virtual void reset() = 0;
    /// q = A p, once, without the others: to be timed.
    virtual void multiply() = 0;
    virtual void solve(const Progress& progress) = 0;
    /// The history and the end, which are the same on all ranks, and this rank's elements of x.
    virtual void result(Output<T>& out) = 0;
};

/// A rank from the parts of one process. @tparam Parts has the functions of Rank
template <class T, class Parts> class RankOf final : public Rank<T> {
public:
    template <class... Arguments>
    explicit RankOf(Arguments&&... arguments) : parts_(std::forward<Arguments>(arguments)...) {}
    void reset() override { parts_.reset(); }
    void multiply() override { parts_.multiply(); }
    void solve(const Progress& progress) override { parts_.solve(progress); }
    void result(Output<T>& out) override { parts_.result(out); }

private:
    Parts parts_;
};

// The part must live as long as the rank.

/// On the CUDA device of this number, linked through host memory.
template <class T>
std::unique_ptr<Rank<T>> make_cuda_rank(const Problem<T>& problem, const Part<T>& part, int gpu, const Ranks& ranks);

/// Where a CUDA device is on its computer, as "0000:3b:00.0". Two processes may have different numbers for one device,
/// or one number for two devices (CUDA_VISIBLE_DEVICES); this address is unique.
std::string pci_address(int gpu);

// Linked by NCCL, from GPU to GPU.

/// The ranks of a program find each other by this: rank 0 makes one and sends it to all. It is a ncclUniqueId.
using NcclId = std::array<char, 128>;
NcclId make_nccl_id();
/// "2.28.3"
std::string nccl_version();
/// It returns when all ranks have called it. @param id the same on all ranks
/// @throws gpulab::Error when NCCL cannot link the ranks
/// @pre no two ranks have the same GPU: see why_not_nccl()
template <class T>
std::unique_ptr<Rank<T>> make_nccl_rank(const Problem<T>& problem, const Part<T>& part, int gpu, const Ranks& ranks,
                                        const NcclId& id);

} // namespace cg
