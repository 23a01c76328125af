#include "files.hpp"

#include <cstdint>
#include <fmt/format.h>
#include <iterator>

#include "gpulab/device.hpp"
#include "gpulab/error.hpp"
#include "gpulab/sparse/matrix_market.hpp"

namespace cg {

template <class T> std::vector<T> read_vector(const std::string& path) {
    const gpulab::Csr<T> table = gpulab::read_matrix_market<T>(path);
    if (table.columns != 1 && table.rows != 1)
        throw gpulab::UsageError(fmt::format("{}: {} x {} numbers are no vector", path, table.rows, table.columns));
    const std::size_t n = table.columns == 1 ? table.rows : table.columns;
    // A file may announce columns without an entry.
    if (const std::uint64_t memory = gpulab::host_memory_bytes(); memory > 0 && n > memory / sizeof(T))
        throw gpulab::UsageError(fmt::format("{}: {} numbers do not fit main memory", path, n));
    std::vector<T> x(n); // what is not stored is zero
    for (std::size_t row = 0; row < table.rows; ++row)
        for (auto k = static_cast<std::size_t>(table.row_start[row]);
             k < static_cast<std::size_t>(table.row_start[row + 1]); ++k)
            x[table.columns == 1 ? row : static_cast<std::size_t>(table.column[k])] += table.value[k];
    return x;
}

template <class T> std::string to_matrix_market(const std::vector<T>& x) {
    std::string text = fmt::format("%%MatrixMarket matrix array real general\n{} 1\n", x.size());
    for (const T value : x) fmt::format_to(std::back_inserter(text), "{}\n", value);
    return text;
}

template std::vector<float> read_vector(const std::string&);
template std::vector<double> read_vector(const std::string&);
template std::string to_matrix_market(const std::vector<float>&);
template std::string to_matrix_market(const std::vector<double>&);

} // namespace cg
