#include "files.hpp"

#include <cmath>
#include <fmt/format.h>
#include <iterator>

#include "gpulab/error.hpp"
#include "gpulab/sparse/matrix_market.hpp"

namespace tridiagonal {

namespace {

/// @throws UsageError when a number with a meaning is not finite
template <class T> void check_finite(const Problem<T>& p, const std::string& path) {
    const auto check = [&](char name, const std::vector<T>& column, std::size_t k) {
        if (!std::isfinite(column[k]))
            throw gpulab::UsageError(fmt::format("{}: {} of system {}, row {} is {}: only finite values can be used",
                                                 path, name, k / p.n, k % p.n, column[k]));
    };
    for (std::size_t k = 0; k < p.size(); ++k) {
        if (k % p.n > 0) check('a', p.a, k);
        check('b', p.b, k);
        if (k % p.n + 1 < p.n) check('c', p.c, k);
        check('d', p.d, k);
    }
}

} // namespace

template <class T> Problem<T> read_problem(const std::string& path, std::size_t systems) {
    const gpulab::Csr<T> table = gpulab::read_matrix_market<T>(path);
    if (table.columns != 4)
        throw gpulab::UsageError(fmt::format("{}: {} columns; four are needed: a, b, c and d", path, table.columns));
    if (table.rows == 0 || table.rows % systems != 0)
        throw gpulab::UsageError(
            fmt::format("{}: {} equations are not {} systems of equal size", path, table.rows, systems));
    Problem<T> p;
    p.n = table.rows / systems, p.systems = systems;
    std::vector<T>* const columns[] = {&p.a, &p.b, &p.c, &p.d};
    for (std::vector<T>* column : columns) column->resize(table.rows); // elements that are not stored are zero
    for (std::size_t row = 0; row < table.rows; ++row)
        for (auto k = static_cast<std::size_t>(table.row_start[row]);
             k < static_cast<std::size_t>(table.row_start[row + 1]); ++k)
            (*columns[table.column[k]])[row] += table.value[k];
    check_finite(p, path);
    return p;
}

std::size_t announced_rows(const std::string& path) {
    return static_cast<std::size_t>(gpulab::matrix_market_size(path).rows);
}

template <class T> void write_solution(gpulab::OutputFile& file, const std::vector<T>& x) {
    std::string text = fmt::format("%%MatrixMarket matrix array real general\n{} 1\n", x.size());
    for (const T value : x) fmt::format_to(std::back_inserter(text), "{}\n", value);
    file.write(text);
}

#define INSTANTIATE(T)                                                    \
    template Problem<T> read_problem<T>(const std::string&, std::size_t); \
    template void write_solution(gpulab::OutputFile&, const std::vector<T>&);
INSTANTIATE(float)
INSTANTIATE(double)

} // namespace tridiagonal
