/// @file
/// The studies of lab 04.
#pragma once

#include <cstddef>
#include <vector>

#include "gpulab/options.hpp"
#include "spmv.hpp"

namespace spmv {

/// For `--study list`.
std::vector<gpulab::StudySummary> study_list();

/// Runs the study the user chose, in float or double.
/// @param rows the number of rows of the studies' larger matrices
/// @return the program's exit code
template <class T> int run_study(const gpulab::Options& options, std::size_t rows);

/// Bytes a matrix takes in each format; ELL without building it, since it may explode.
struct FormatBytes {
    double dense, csr, coo, csc, ell;
    double bins; ///< of cuda_bins: 4 bytes and a value per entry, 4 bytes per row; what fills up its chunks left out
};
template <class T> FormatBytes format_bytes(const gpulab::Csr<T>& matrix);

/// Bytes that a run takes at its peak.
struct MemoryNeed {
    double device = 0; ///< COO, the largest format but ELL, which refuses for itself; with x, y and the offsets
    double host = 0; ///< the matrix, what making or reading it takes, one conversion at a time, x, y and the reference
};
template <class T> MemoryNeed memory_need(const gpulab::MatrixSize& size);

/// Runs all chosen variants out of a table on one problem and adds them to the report.
template <class T>
void run_variants(const gpulab::Options& options, gpulab::Report& report, const Problem<T>& problem,
                  const std::vector<gpulab::Variant<Run<T>>>& table);

} // namespace spmv
