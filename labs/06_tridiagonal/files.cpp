#include "files.hpp"

#include <cmath>
#include <fmt/format.h>

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
    if (table.columns < 4)
        throw gpulab::UsageError(
            fmt::format("{}: {} columns; at least four are needed: a, b, c and d", path, table.columns));
    if (table.rows == 0 || table.rows % systems != 0)
        throw gpulab::UsageError(
            fmt::format("{}: {} equations are not {} systems of equal size", path, table.rows, systems));
    const std::size_t right_hand_sides = table.columns - 3, size = table.rows * right_hand_sides;
    if (systems * right_hand_sides >= std::size_t{1} << 31)
        throw gpulab::UsageError(fmt::format("{}: {} right-hand sides are too many", path, right_hand_sides));
    Problem<T> p;
    p.n = table.rows / systems;
    p.systems = systems * right_hand_sides;
    std::vector<T>* const columns[] = {&p.a, &p.b, &p.c, &p.d};
    for (std::vector<T>* column : columns) column->resize(size); // elements that are not stored are zero
    for (std::size_t row = 0; row < table.rows; ++row)
        for (const std::size_t k : table.row(row)) {
            const auto column = static_cast<std::size_t>(table.column[k]);
            if (column < 3) // of every right-hand side
                for (std::size_t r = 0; r < right_hand_sides; ++r)
                    (*columns[column])[r * table.rows + row] += table.value[k];
            else p.d[(column - 3) * table.rows + row] += table.value[k];
        }
    check_finite(p, path);
    return p;
}

Announced announced(const std::string& path) {
    const gpulab::MatrixSize size = gpulab::matrix_market_size(path);
    return {size.rows, size.columns > 3 ? size.columns - 3 : 1};
}

template <class T>
void write_others(gpulab::OutputFile& file, const Problem<T>& problem, const Reference<T>& reference,
                  std::size_t right_hand_sides) {
    const std::string zero = zero_pivot_message(reference.out);
    const std::vector<T> x = solve_others(problem, reference);
    if (zero.empty() || x.empty())
        throw gpulab::Error(file.path() + ": not written, because no variant has solved all systems");
    file.write(gpulab::array_text(x, right_hand_sides));
    throw gpulab::Error(fmt::format("{}: {}; x of such systems is nan there, of the others the solution of cpu_thomas",
                                    file.path(), zero));
}

#define INSTANTIATE(T)                                                 \
    template Problem<T> read_problem(const std::string&, std::size_t); \
    template void write_others(gpulab::OutputFile&, const Problem<T>&, const Reference<T>&, std::size_t);
INSTANTIATE(float)
INSTANTIATE(double)

} // namespace tridiagonal
