/// @file
/// Ranks on GPUs, linked by NCCL: nothing passes through host memory.
#pragma once

#include <array>
#include <memory>

#include "rank_solver.hpp"
#include "split.hpp"

namespace cg {

/// The ranks of a program find each other by this: rank 0 makes one and sends it to all. It is a ncclUniqueId.
using NcclId = std::array<char, 128>;
NcclId make_nccl_id();

/// The solver of one rank. It returns when all ranks have called it.
/// @param rank,ranks this rank, and how many there are
/// @param local_rank its number on its computer: each takes a different GPU
/// @param id the same on all ranks
/// @throws gpulab::Error when NCCL cannot link the ranks
/// @pre no two ranks have the same GPU: see why_not_nccl()
template <class T>
std::unique_ptr<RankSolver<T>> make_nccl_solver(const Problem<T>& problem, const Part<T>& part, int rank, int ranks,
                                                int local_rank, const NcclId& id);

} // namespace cg
