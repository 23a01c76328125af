/// @file
/// The studies of lab 04.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "gpulab/jobs.hpp"
#include "gpulab/options.hpp"
#include "gpulab/report.hpp"
#include "spmv.hpp"

namespace spmv {

/// The studies, for `--study list`.
std::vector<gpulab::StudySummary> study_list();

/// Runs the study that the user chose, in float or double.
/// @param rows the number of rows of the studies' larger matrices
/// @return the program's exit code
template <class T> int run_study(const gpulab::Options& options, std::size_t rows);

/// Bytes of a matrix in each format. They are computed without building it, because it may be very large.
struct FormatBytes {
    double dense, csr, coo, csc, ell, dia, hyb, jds, bcsr;
    double bins; ///< of cuda_bins: 4 bytes and a value per entry, 4 bytes per row; without the padding of its chunks
};
template <class T> FormatBytes format_bytes(const gpulab::Csr<T>& matrix);

/// Bytes that a run needs at its peak.
struct MemoryNeed {
    double device = 0; ///< COO with x, y and the offsets: the largest format except those that pad or sort, and check
                       ///< for themselves
    double host = 0; ///< the matrix, the memory for making or reading it, one conversion at a time, x, y, the reference
};
template <class T> MemoryNeed memory_need(const gpulab::MatrixSize& size);

/// A line about a file that was read or written: "read a.mtx: 1.5 MB in 0.010 s, 150 MB/s".
std::string rate_text(std::string_view what, const std::string& path, double bytes, double seconds);

/// Adds a column for the format, and says what the bound counts where a format is smaller than CSR.
void add_format_column(gpulab::Report& report, const FormatBytes& bytes);

/// Adds to a result the format of its variant and the bytes of the matrix in that format, and where a preparation was
/// timed, its milliseconds and how many products take as long.
void add_format(gpulab::Result& result, const FormatBytes& bytes);

} // namespace spmv
