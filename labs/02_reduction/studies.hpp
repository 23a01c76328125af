/// @file
/// The studies of lab 02, and what single runs and studies share.
#pragma once

#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include "gpulab/forward.hpp"
#include "reduction.hpp"
#include "series.hpp"

namespace reduction {

/// The name of an element type as --type spells it.
template <class T> constexpr const char* name_of_type() {
    if constexpr (std::is_same_v<T, float>) return "float";
    else if constexpr (std::is_same_v<T, double>) return "double";
    else return "int";
}

/// For `--study list`.
std::vector<gpulab::StudySummary> study_list();

/// Runs the study that the user chose.
/// @param type "float" or "double"
/// @param n the problem size of the study that does not sweep it
/// @return the program's exit code
/// @throws UsageError for another type
int run_study(const gpulab::Options& options, const std::string& type, std::size_t n);

/// A row of the study transfers.
struct TransferRow {
    std::size_t n;
    double sequential_ms, kernel_ms, total_ms; ///< the last: copies and kernel
};

/// The printed table of the study transfers: speed-ups and rates of the kernel alone, and with the transfers.
std::string text_of(const std::vector<TransferRow>& rows);

/// Study table-1-1: cpu_series_threads with this many threads, at least 1.
template <class T> void cpu_series_of(const SeriesProblem<T>& p, Scalar<T>& sum, Stopwatch& watch, std::size_t threads);

/// Study lost-update: how a thread adds 1 to the counter that all threads share.
enum class Addition {
    unprotected, ///< a load, an addition and a store: wrong, because another thread may store in between
    atomic       ///< one step
};

/// The counter: a vector of one element.
using Count = std::vector<std::uint32_t>;

/// Study lost-update: how many of n additions are missing from the count.
inline std::int64_t lost(std::size_t n, std::uint32_t count) {
    return static_cast<std::int64_t>(n) - std::int64_t{count};
}

/// Study lost-update: n additions of 1, distributed over threads. An atomic count is n; an unprotected one lies between
/// 1 and n for n > 0. (Alfaro Vigo & Rossetto, section 1.3: program 1.8 without its lines 11 and 13)
using CountRun = void(std::size_t n, Addition addition, Count& count, Stopwatch& watch);
CountRun cpu_count, opencl_count, cuda_count;

} // namespace reduction
