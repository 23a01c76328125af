/// @file
/// The studies of lab 07, and what a single run and a study share.
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gpulab/forward.hpp"
#include "lu.hpp"

namespace lu {

/// For `--study list`.
std::vector<gpulab::StudySummary> study_list();

/// Runs the study the user chose.
/// @param n the size of the studies that take --n
/// @return the program's exit code
int run_study(const gpulab::Options& options, std::size_t n);

/// Why a variant is skipped on a device that computes on the CPU: its operations would take too long. "" when it
/// runs; one that the user names always does.
std::string too_slow(const gpulab::Options& options, std::string_view variant, const gpulab::Device& device,
                     double flops);

/// cpu_right_looking_pivot, or cpu_batch_sequential for a batch, to which speed-ups refer, and its median time; not
/// measured when it would take too long.
gpulab::Sequential sequential(const Problem& p);

/// Gives results an extra `percent_of_library`: their speed in percent of the library's on the same device.
class PercentOfLibrary {
public:
    /// @param result the library's must come before those that are compared with it. One that was not timed, or has no
    ///        library to be compared with, stays as it is
    /// @param library whether it is the library's own
    /// @param pivoting results with pivoting are compared with the library with pivoting, others with the one without
    void add_to(gpulab::Result& result, bool library, bool pivoting);

private:
    std::map<std::pair<std::string, bool>, double> library_ms_; // by device, and with or without pivoting
};

/// Bytes and operations of the study `update`: c = A22 - A21 A12, m x m, where A21 has `width` columns. A22 is read, c
/// written, A21 and A12 are read once.
gpulab::Work update_work(std::size_t m, std::size_t width);

/// For the study `block`: a rung with panels of `width` columns.
using OfWidth = void(const Problem& p, Factors& f, Stopwatch& watch, int width);
OfWidth cpu_blocked_of_width;
OfWidth cuda_blocked_of_width; ///< at most 64 columns
OfWidth cuda_cluster_of_width; ///< at most 64 columns

/// A row of the study `block`.
struct PanelRung {
    std::string_view name;
    gpulab::Backend backend = gpulab::Backend::cpu;
    OfWidth* run = nullptr; ///< nullptr: not built
    int most = 0;           ///< columns of a panel
    gpulab::Needs needs = {};
};
std::span<const PanelRung> panel_rungs();

/// The study `block`: panels of 8 to 256 columns.
void block(const gpulab::Options& options, gpulab::Report& report, std::size_t n, std::span<const PanelRung> rungs);

/// For the study `figure-3-10`: the kernels of cuda_two_kernels_16 and cuda_two_kernels_32 and the copy of the factors
/// to the host, in one time, as in the book.
Run cuda_kernels_and_copy_16, cuda_kernels_and_copy_32;

/// For the study `update`: c = A22 - A21 A12 alone, row by row, where A11 has `width` rows and columns.
using Update = void(const Problem& p, std::vector<double>& c, Stopwatch& watch, int width);
Update cuda_update_tiled;  ///< the product of cuda_blocked_pivot
Update cuda_update_tensor; ///< that of cuda_tensor_pivot
Update cuda_update_cublas; ///< the vendor's library

} // namespace lu
