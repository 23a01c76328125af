#include "files.hpp"

#include <cmath>
#include <fmt/format.h>
#include <iterator>
#include <utility>

#include "gpulab/device.hpp"
#include "gpulab/error.hpp"
#include "gpulab/sparse/convert.hpp"
#include "gpulab/sparse/matrix_market.hpp"

namespace lu {

Dense read_dense(const std::string& path) {
    const gpulab::MatrixSize size = gpulab::matrix_market_size(path);
    const double bytes = 8.0 * static_cast<double>(size.rows) * static_cast<double>(size.columns);
    if (const auto memory = static_cast<double>(gpulab::host_memory_bytes()); memory > 0 && 4 * bytes > memory)
        throw gpulab::UsageError(fmt::format("{}: a dense matrix of {} x {} does not fit main memory four times", path,
                                             size.rows, size.columns));
    const gpulab::Csr<double> sparse = gpulab::read_matrix_market<double>(path);
    gpulab::check_finite(sparse, path);
    return {sparse.rows, sparse.columns, gpulab::to_dense(sparse)};
}

void check_square(const std::string& path, std::size_t rows, std::size_t columns) {
    if (rows != columns)
        throw gpulab::UsageError(fmt::format("{}: a square matrix is needed, not {} x {}", path, rows, columns));
}

Problem read_problem(const std::string& path) {
    Dense a = read_dense(path);
    check_square(path, a.rows, a.columns);
    if (a.rows == 0) throw gpulab::UsageError(fmt::format("{}: a square matrix is needed, not 0 x 0", path));
    if (a.rows > max_rows) throw gpulab::UsageError(fmt::format("{}: more than {} rows", path, max_rows));
    if (!std::isfinite(norm(a.values, a.rows)))
        throw gpulab::UsageError(fmt::format("{}: the sum of the magnitudes in a row overflows", path));
    return {a.rows, std::move(a.values)};
}

std::string array_text(const Dense& matrix) {
    std::string text = fmt::format("%%MatrixMarket matrix array real general\n{} {}\n", matrix.rows, matrix.columns);
    for (std::size_t j = 0; j < matrix.columns; ++j)
        for (std::size_t i = 0; i < matrix.rows; ++i)
            fmt::format_to(std::back_inserter(text), "{}\n", matrix.values[i * matrix.columns + j]);
    return text;
}

} // namespace lu
