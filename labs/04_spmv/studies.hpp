/// @file
/// The studies of lab 04.
#pragma once

#include <cstddef>
#include <vector>

#include "gpulab/jobs.hpp"
#include "gpulab/options.hpp"
#include "gpulab/report.hpp"
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

/// Says of each result which format its variant computes with, and what the matrix takes in it: the note for
/// gpulab::measure_all().
template <class T> class FormatNotes {
public:
    /// Gives the format a column. How many bytes each takes stands above the table.
    FormatNotes(gpulab::Report& report, const gpulab::Csr<T>& matrix);
    void operator()(const gpulab::Job<Run<T>>& job, gpulab::Result& result) const;

private:
    FormatBytes bytes_;
};

} // namespace spmv
