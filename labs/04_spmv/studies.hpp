/// @file
/// The studies of lab 04.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gpulab/jobs.hpp"
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
    /// By the format's name, "dense", "CSR" and so on, in the order in which they are shown. "bins" are those of
    /// cuda_bins: 4 bytes and a value per entry, 4 bytes per row; without the padding of its chunks.
    std::vector<std::pair<std::string, double>> all;
    double of(std::string_view format) const; ///< @param format in lower case @pre there is such a format
};
template <class T> FormatBytes format_bytes(const gpulab::Csr<T>& matrix);

/// Bytes that a run needs at its peak.
struct MemoryNeed {
    double device = 0; ///< COO with x, y and the offsets: the largest format except those that pad or sort, and check
                       ///< for themselves
    double host = 0; ///< the matrix, the memory for making or reading it, one conversion at a time, x, y, the reference
};
template <class T> MemoryNeed memory_need(const gpulab::MatrixSize& size);

/// Adds a column for the format, and says what the bound counts where a format is smaller than CSR.
void add_format_column(gpulab::Report& report, const FormatBytes& bytes);

/// Adds to a result the format of its variant and the bytes of the matrix in that format, and where a preparation was
/// timed, its milliseconds and how many products take as long.
void add_format(gpulab::Result& result, const FormatBytes& bytes);

} // namespace spmv
