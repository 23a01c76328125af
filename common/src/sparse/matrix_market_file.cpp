// Reads Matrix Market files. Their text: matrix_market.cpp.
#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fmt/format.h>
#include <new>
#include <optional>
#include <string>
#include <utility>

#include "gpulab/device.hpp"
#include "gpulab/error.hpp"
#include "gpulab/file.hpp"
#include "gpulab/input_file.hpp"
#include "gpulab/sparse/convert.hpp"
#include "gpulab/sparse/matrix_market.hpp"

namespace gpulab {

namespace fs = std::filesystem;

namespace {

/// The text of the file whose size was asked for, for who reads the matrix next.
struct Kept {
    std::string path, text;
    fs::file_time_type written; // a regular file that has changed since is read again
    std::uintmax_t bytes;
};
std::optional<Kept> kept;

std::string& keep(const std::string& path) {
    std::error_code failed;
    const fs::file_time_type written = fs::last_write_time(path, failed);
    const std::uintmax_t bytes = fs::file_size(path, failed);
    const bool same =
        kept && kept->path == path && (fs::is_fifo(path, failed) || (kept->written == written && kept->bytes == bytes));
    if (!same) {
        kept.reset(); // before the other takes memory
        kept = {path, content_of(path), written, bytes};
    }
    return kept->text;
}

} // namespace

MatrixSize matrix_market_size(const std::string& path) {
    const std::string& text = keep(path);
    MatrixSize size = announced_size(text);
    // An entry takes 2 bytes or more, mirrored 4.
    size.nonzeros = std::min(size.nonzeros, static_cast<double>(text.size()));
    return size;
}

template <class T> Csr<T> read_matrix_market(const std::string& path) try {
    Coo<T> coo;
    {
        const std::string text = std::move(keep(path));
        kept.reset();
        coo = parse_matrix_market<T>(text, path);
    }
    // Few entries may announce very many rows, and CSR stores an offset for each.
    const double bytes = 16.0 * static_cast<double>(coo.rows) + (sizeof(T) + 4.0) * static_cast<double>(coo.nonzeros());
    const auto memory = static_cast<double>(host_memory_bytes());
    if (memory > 0 && bytes > memory)
        throw UsageError(
            fmt::format("{}: {} rows and {} entries do not fit main memory", path, coo.rows, coo.nonzeros()));
    try {
        return to_csr(coo);
    } catch (const Error& e) {
        throw Error(fmt::format("{}: {}", path, e.what()));
    }
} catch (const std::bad_alloc&) {
    throw cannot_read(path, "there is not enough main memory");
}

template <class T> std::vector<T> read_vector(const std::string& path, std::size_t size) {
    const auto check = [&](std::size_t rows, std::size_t columns) {
        if (rows != 1 && columns != 1)
            throw UsageError(fmt::format("{}: {} x {} numbers are no vector", path, rows, columns));
        if (size > 0 && rows * columns != size)
            throw UsageError(fmt::format("{}: a vector of {} numbers, not {}", path, rows * columns, size));
    };
    if (const MatrixSize announced = matrix_market_size(path); announced.rows > 0)
        check(announced.rows, announced.columns);
    const Csr<T> table = read_matrix_market<T>(path);
    check(table.rows, table.columns);
    const std::size_t n = table.columns == 1 ? table.rows : table.columns;
    // A file may announce columns without an entry.
    if (const auto memory = host_memory_bytes(); memory > 0 && n > memory / sizeof(T))
        throw UsageError(fmt::format("{}: {} numbers do not fit main memory", path, n));
    std::vector<T> x(n); // what is not stored is zero
    for (std::size_t row = 0; row < table.rows; ++row)
        for (const std::size_t k : table.row(row))
            x[table.columns == 1 ? row : static_cast<std::size_t>(table.column[k])] += table.value[k];
    return x;
}

template <class T> void write_matrix_market(const std::string& path, const Csr<T>& matrix) {
    OutputFile file(path);
    file.write(to_matrix_market(matrix));
}

template Csr<float> read_matrix_market(const std::string&);
template Csr<double> read_matrix_market(const std::string&);
template std::vector<float> read_vector(const std::string&, std::size_t);
template std::vector<double> read_vector(const std::string&, std::size_t);
template void write_matrix_market(const std::string&, const Csr<float>&);
template void write_matrix_market(const std::string&, const Csr<double>&);

} // namespace gpulab
