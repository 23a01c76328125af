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

/// A rank's own rows from the start to the solution. All ranks call the same functions in the same order.
template <class T> struct Rank {
    std::function<void()> reset;    ///< puts the start into place; poisons what solve() computes
    std::function<void()> multiply; ///< q = A p, once, without the others: to be timed
    /// @param progress called with 0, 1, ... when it comes to that iteration
    std::function<void(const std::function<void(std::size_t)>& progress)> solve;
    /// The history and the end, which are the same on all ranks, and this rank's elements of x.
    std::function<void(Output<T>&)> result;
};

/// A rank with a part of one process. @tparam Parts a transport that has the functions of Rank
template <class Parts, class T, class... More> Rank<T> make_rank(const Problem<T>& problem, More&&... more) {
    const auto parts = std::make_shared<Parts>(problem, std::forward<More>(more)...);
    return {[=] { parts->reset(); }, [=] { parts->multiply(); }, [=](const auto& progress) { parts->solve(progress); },
            [=](Output<T>& out) { parts->result(out); }};
}

// The part must live as long as the rank.

/// On the CUDA device of this number, linked through host memory.
template <class T> Rank<T> make_cuda_rank(const Problem<T>& problem, const Part<T>& part, int gpu);

/// Where a CUDA device is on its computer, as "0000:3b:00.0". Two processes may have different numbers for one device,
/// or one number for two devices (CUDA_VISIBLE_DEVICES); this address is unique.
std::string pci_address(int gpu);

// Linked by NCCL, from GPU to GPU.

/// The ranks of a program find each other by this: rank 0 makes one and sends it to all. It is a ncclUniqueId.
std::array<char, 128> make_nccl_id();
/// "2.28.3"
std::string nccl_version();
/// It returns when all ranks have called it. @param id the same on all ranks
/// @throws gpulab::Error when NCCL cannot link the ranks
/// @pre no two ranks have the same GPU: see why_not_nccl()
template <class T>
Rank<T> make_nccl_rank(const Problem<T>& problem, const Part<T>& part, int gpu, const std::array<char, 128>& id);

} // namespace cg
