// Reads Matrix Market files. Their text: matrix_market.cpp.
#include <algorithm>
#include <fmt/format.h>
#include <limits>
#include <new>
#include <string>

#include "gpulab/device.hpp"
#include "gpulab/error.hpp"
#include "gpulab/file.hpp"
#include "gpulab/input_file.hpp"
#include "gpulab/sparse/convert.hpp"
#include "gpulab/sparse/matrix_market.hpp"

namespace gpulab {

namespace {

constexpr std::size_t all = std::numeric_limits<std::size_t>::max();

std::string read_all(InputFile& source, const std::string& path, std::string text) {
    if (source.has_length()) {
        if (const auto memory = host_memory_bytes(); memory > 0 && source.bytes() > memory)
            throw cannot_read(path, fmt::format("its {} bytes do not fit main memory", source.bytes()));
        text.reserve(source.bytes() + (1 << 16));
    }
    source.read(text, all);
    return text;
}

/// A text that matrix_market_size() had to read to its end.
struct Kept {
    std::string path, text;
    bool there = false;
} kept;

} // namespace

MatrixSize matrix_market_size(const std::string& path) try {
    MatrixSize size;
    double bytes = 0;
    if (!kept.there || kept.path != path) {
        kept = {};
        InputFile source(path);
        std::string text;
        for (std::size_t most = 1 << 16; source.read(text, most) && !holds_header(text);) most *= 2;
        size = announced_size(text);
        bytes = static_cast<double>(source.bytes());
        if (!source.has_length()) kept = {path, read_all(source, path, std::move(text)), true};
    }
    if (kept.there) {
        size = announced_size(kept.text);
        bytes = static_cast<double>(kept.text.size());
    }
    size.nonzeros = std::min(size.nonzeros, bytes); // an entry takes 2 bytes or more, mirrored 4
    return size;
} catch (const std::bad_alloc&) {
    throw cannot_read(path, "there is not enough main memory");
}

template <class T> Csr<T> read_matrix_market(const std::string& path) try {
    Coo<T> coo;
    {
        std::string text;
        if (kept.there && kept.path == path) {
            text = std::move(kept.text);
        } else {
            InputFile source(path);
            source.read(text, 1 << 16); // to know whether it is compressed
            text = read_all(source, path, std::move(text));
        }
        kept = {};
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
