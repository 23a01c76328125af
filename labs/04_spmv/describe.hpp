/// @file
/// What the program prints about its matrix.
#pragma once

#include <filesystem>
#include <fmt/format.h>
#include <string>
#include <vector>

#include "gpulab/metrics.hpp"
#include "gpulab/sparse/convert.hpp"
#include "gpulab/sparse/rows.hpp"
#include "gpulab/terminal.hpp"
#include "studies.hpp"

namespace spmv {

/// What the bytes of a format are in percent of those of the dense matrix.
inline double percent_of_dense(const FormatBytes& all, double bytes) { return 100 * bytes / all.of("dense"); }

/// Prints the row lengths, and the bytes of each format.
template <class T> void describe(const gpulab::Csr<T>& a, const FormatBytes& bytes) {
    const gpulab::RowStatistics s = gpulab::row_statistics(a.row_start);
    fmt::print("{} x {}, {} non-zeros ({:.4g} % filled)\n", a.rows, a.columns, a.nonzeros(),
               a.nonzeros() ? 100 * static_cast<double>(a.nonzeros()) * sizeof(T) / gpulab::dense_bytes(a) : 0.0);
    fmt::print("row length: {} to {}, mean {:.4g}, standard deviation {:.4g}, {} empty rows\n", s.shortest, s.longest,
               s.mean, s.deviation, s.empty);
    for (std::size_t bin = 0; bin < s.histogram.size(); ++bin)
        if (s.histogram[bin] > 0) {
            const std::size_t low = bin == 0 ? 0 : std::size_t{1} << (bin - 1), high = bin == 0 ? 0 : 2 * low - 1;
            fmt::print("  {:>18}  {:>10} rows\n",
                       low == high ? fmt::format("{}", low) : fmt::format("{} - {}", low, high), s.histogram[bin]);
        }
    for (const auto& [name, b] : bytes.all)
        fmt::print("{:<6} {:>16.0f} bytes{}\n", name, b,
                   bytes.of("dense") > 0 ? fmt::format("  {:>10.4g} % of dense", percent_of_dense(bytes, b)) : "");
}

/// How a rung compares with the library on a matrix, in words. @param ours_ms,library_ms the least time of either
inline std::string against_library(const std::string& matrix, const std::string& variant, double ours_ms,
                                   double library_ms) {
    return fmt::format("{}: {} is {:.2f} times as fast as the library", matrix, variant,
                       gpulab::speedup(library_ms, ours_ms));
}

/// A line about a file that was read or written: "read a.mtx: 1.5 MB in 0.010 s, 150 MB/s".
inline std::string rate_text(const char* what, const std::string& path, double bytes, double seconds) {
    return fmt::format("{} {}: {:.1f} MB in {:.3f} s, {:.0f} MB/s", what, path, bytes * 1e-6, seconds,
                       bytes * 1e-6 / seconds);
}

/// Prints that line.
inline void print_rate(const char* what, const std::string& path, double ms) {
    std::error_code none; // /dev/stdout has no size
    const auto bytes = std::filesystem::file_size(path, none);
    if (!none) fmt::print("\n{}\n", rate_text(what, path, static_cast<double>(bytes), ms / 1000));
}

/// Whether a problem is so small that all of it is printed. More than ten columns would not fit on a screen.
template <class T> bool is_small(const gpulab::Csr<T>& a) { return a.rows <= 10 && a.columns <= 10; }

/// Prints a whole small matrix, and the vector, as the lecture shows them.
template <class T> void show(const gpulab::Csr<T>& a, const std::vector<T>& x) {
    const std::vector<T> dense = gpulab::to_dense(a);
    fmt::print("\n");
    for (std::size_t i = 0; i < a.rows; ++i) {
        for (std::size_t j = 0; j < a.columns; ++j) fmt::print("{:>8.4g}", dense[i * a.columns + j]);
        fmt::print("\n");
    }
    const std::size_t columns = gpulab::terminal_of_stdout().columns;
    for (const std::string& line : {fmt::format("row pointers    {}", fmt::join(a.row_start, " ")),
                                    fmt::format("column indices  {}", fmt::join(a.column, " ")),
                                    fmt::format("non-zeros       {}", fmt::join(a.value, " ")),
                                    fmt::format("x               {}", fmt::join(x, " "))})
        fmt::print("{}", gpulab::wrapped(line, columns, 0, 16));
}

} // namespace spmv
