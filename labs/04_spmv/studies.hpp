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
    double strips; ///< of cuda_strips, the products it keeps included, its offsets left out
};
template <class T> FormatBytes format_bytes(const gpulab::Csr<T>& matrix);

/// Runs all chosen variants out of a table on one problem and adds them to the report.
template <class T>
void run_variants(const gpulab::Options& options, gpulab::Report& report, const Problem<T>& problem,
                  const std::vector<gpulab::Variant<Run<T>>>& table);

} // namespace spmv
