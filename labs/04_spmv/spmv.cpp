#include "spmv.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <type_traits>

#include "gpulab/compare.hpp"
#include "gpulab/error.hpp"
#include "gpulab/input.hpp"
#include "gpulab/parallel.hpp"
#include "gpulab/poison.hpp"
#include "gpulab/report.hpp"
#include "rungs.hpp"

namespace spmv {

template <class T> Problem<T> make_problem(gpulab::Csr<T> matrix, std::uint64_t seed) {
    gpulab::check_structure(matrix);
    const std::size_t columns = matrix.columns;
    return {std::move(matrix), gpulab::random_vector<T>(columns, seed)};
}

template <class T> void check_finite_x(const Problem<T>& p, const char* format) {
    if (!std::ranges::all_of(p.x, [](T x) { return std::isfinite(x); }))
        throw gpulab::Unsupported(fmt::format("{} multiplies its padding: x must be finite", format));
}

template <class T> Reference<T> make_reference(const Problem<T>& p) {
    using Wide = std::conditional_t<std::is_same_v<T, float>, double, long double>;
    const gpulab::Csr<T>& a = p.matrix;
    Reference<T> r{Output<T>(a.rows), std::vector<double>(a.rows)};
    const auto rows = [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i) {
            Wide sum = 0;
            double size = 0;
            for (auto k = static_cast<std::size_t>(a.row_start[i]); k < static_cast<std::size_t>(a.row_start[i + 1]);
                 ++k) {
                const Wide product = static_cast<Wide>(a.value[k]) * p.x[static_cast<std::size_t>(a.column[k])];
                sum += product;
                size += static_cast<double>(std::abs(product));
            }
            r.y[i] = static_cast<T>(sum);
            // Below the smallest normal number rounding errors no longer shrink with the sum: allow one for each term.
            const auto length = static_cast<double>(a.row_length(i));
            const double least = length > 0 ? (1 + length) * static_cast<double>(std::numeric_limits<T>::min()) : 0;
            r.scale[i] = std::max((1 + std::sqrt(length)) * size, least);
        }
    };
    gpulab::for_ranges(a.rows, 4096, rows);
    return r;
}

template <class T> void check_range(const Problem<T>& p, const Reference<T>& r, const std::string& name) {
    const gpulab::Csr<T>& a = p.matrix;
    for (std::size_t i = 0; i < a.rows; ++i) {
        // The scale is (1 + sqrt(length)) times the sum of the absolute values, which no partial sum exceeds.
        const double sum = r.scale[i] / (1 + std::sqrt(static_cast<double>(a.row_length(i))));
        if (sum <= static_cast<double>(std::numeric_limits<T>::max())) continue;
        if (std::all_of(a.value.begin() + a.row_start[i], a.value.begin() + a.row_start[i + 1],
                        [](T v) { return std::isfinite(v); })) // else the matrix says infinity or NaN itself
            throw gpulab::UsageError(
                fmt::format("{}: the sum of row {} can pass the largest number of its type, {:.4g}", name, i + 1,
                            static_cast<double>(std::numeric_limits<T>::max())));
    }
}

template <class T> gpulab::Comparison compare(const Reference<T>& reference, const Output<T>& y) {
    constexpr double tolerance = 2 * static_cast<double>(std::numeric_limits<T>::epsilon());
    const auto scale = [&](std::size_t i) { return reference.scale[i]; };
    const auto is_nan = [](T v) { return std::isnan(v); };
    if (y.size() != reference.y.size() || std::ranges::none_of(reference.y, is_nan))
        return gpulab::compare(reference.y, y, tolerance, scale);
    // A row with NaN in it sums to NaN, whose bits are not those that mark what nobody has written.
    Output<T> expected = reference.y, got = y;
    for (std::size_t i = 0; i < y.size(); ++i) {
        if (!is_nan(expected[i])) continue;
        if (!is_nan(y[i]) || gpulab::is_poison(y[i])) {
            gpulab::Comparison wrong;
            wrong.tolerance = tolerance;
            wrong.message = fmt::format("row {} is {}; it has NaN among its terms", i + 1,
                                        is_nan(y[i]) ? "not written" : fmt::format("{}", y[i]));
            return wrong;
        }
        expected[i] = got[i] = 0;
    }
    return gpulab::compare(expected, got, tolerance,
                           [&](std::size_t i) { return is_nan(reference.y[i]) ? 1.0 : scale(i); });
}

template <class T> gpulab::Work work(const gpulab::Csr<T>& a) {
    const auto nonzeros = static_cast<double>(a.nonzeros()), rows = static_cast<double>(a.rows);
    return {.bytes = nonzeros * (sizeof(T) + 4) + rows * (sizeof(T) + 4) + static_cast<double>(a.columns) * sizeof(T),
            .flops = 2 * nonzeros};
}

template <class T> std::span<const gpulab::Variant<Run<T>>> variants() {
    constexpr bool in_double = std::is_same_v<T, double>;
#define RUNG(backend, if_built, function, ...) GPULAB_ROW(backend, if_built(function<T>), function, __VA_ARGS__)
    static constexpr gpulab::Variant<Run<T>> table[] = {
#include "rungs.inc"
    };
    return table;
}

#define INSTANTIATE(T)                                                                     \
    template Problem<T> make_problem(gpulab::Csr<T>, std::uint64_t);                       \
    template void check_finite_x(const Problem<T>&, const char*);                          \
    template Reference<T> make_reference(const Problem<T>&);                               \
    template void check_range(const Problem<T>&, const Reference<T>&, const std::string&); \
    template gpulab::Comparison compare(const Reference<T>&, const Output<T>&);            \
    template gpulab::Work work(const gpulab::Csr<T>&);                                     \
    template std::span<const gpulab::Variant<Run<T>>> variants<T>();
INSTANTIATE(float)
INSTANTIATE(double)

} // namespace spmv
