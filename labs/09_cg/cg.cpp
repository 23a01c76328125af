#include "cg.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <type_traits>

#include "gpulab/error.hpp"
#include "gpulab/report.hpp"
#include "gpulab/sparse/convert.hpp"
#include "rungs.hpp"

namespace cg {

namespace {

template <class T>
void check_vector(const std::vector<T>& v, std::size_t n, const char* what, const std::string& name) {
    if (v.size() != n)
        throw gpulab::UsageError(fmt::format("{} has {} numbers, {} has {} rows", what, v.size(), name, n));
    for (std::size_t i = 0; i < n; ++i)
        if (!std::isfinite(v[i])) throw gpulab::UsageError(fmt::format("{}: number {} is {}", what, i + 1, v[i]));
}

/// The norm of b. @throws gpulab::UsageError when its square underflows, since a residual of zero would end every
/// iteration, or overflows
template <class T> double checked_norm(const std::vector<T>& b) {
    double squares = 0, norm = 0;
    for (const T v : b) squares += static_cast<double>(v) * v;
    constexpr double least = std::numeric_limits<T>::min(), most = std::numeric_limits<T>::max();
    if (squares >= least && squares <= most) return std::sqrt(squares);
    for (const T v : b) norm = std::hypot(norm, static_cast<double>(v));
    if (norm > 0)
        throw gpulab::UsageError(fmt::format(
            "the right-hand side has a norm of {:.3g}; its square is needed, so it must be at {} {:.2g} in {} "
            "precision: multiply the numbers by a power of 2, then x is multiplied too",
            norm, squares < least ? "least" : "most", std::sqrt(squares < least ? least : most),
            std::is_same_v<T, double> ? "double" : "single"));
    return 0;
}

/// Whether the columns of each row increase, without duplicates.
template <class T> bool is_sorted(const gpulab::Csr<T>& a) {
    for (std::size_t i = 0; i < a.rows; ++i)
        for (auto k = a.row_start[i] + 1; k < a.row_start[i + 1]; ++k)
            if (a.column[static_cast<std::size_t>(k) - 1] >= a.column[static_cast<std::size_t>(k)]) return false;
    return true;
}

/// Compares each row with the same row of the transpose. Two elements may differ by the last bits, as they do when a
/// program has added them up in another order. @pre sorted
template <class T> void check_symmetric(const gpulab::Csr<T>& a, const std::string& name) {
    const gpulab::Csc<T> transpose = gpulab::to_csc(a); // column i of A is row i of the transpose
    constexpr std::int32_t none = std::numeric_limits<std::int32_t>::max();
    for (std::size_t i = 0; i < a.rows; ++i) {
        auto k = static_cast<std::size_t>(a.row_start[i]), l = static_cast<std::size_t>(transpose.column_start[i]);
        const auto k_end = static_cast<std::size_t>(a.row_start[i + 1]);
        const auto l_end = static_cast<std::size_t>(transpose.column_start[i + 1]);
        while (k < k_end || l < l_end) {
            const std::int32_t here = k < k_end ? a.column[k] : none, there = l < l_end ? transpose.row[l] : none;
            const std::int32_t j = std::min(here, there);
            const T upper = here == j ? a.value[k] : T{0}, lower = there == j ? transpose.value[l] : T{0};
            const T allowed = 4 * std::numeric_limits<T>::epsilon() * std::max(std::abs(upper), std::abs(lower));
            if (!(std::abs(upper - lower) <= allowed))
                throw gpulab::UsageError(
                    fmt::format("{} is not symmetric: element ({}, {}) is {}, element ({}, {}) is {}", name, i + 1,
                                j + 1, upper, j + 1, i + 1, lower));
            k += here == j;
            l += there == j;
        }
    }
}

} // namespace

template <class T>
Problem<T> make_problem(gpulab::Csr<T> matrix, std::vector<T> b, std::vector<T> start, const Settings& settings,
                        const std::string& name) {
    gpulab::check_structure(matrix);
    if (matrix.rows != matrix.columns)
        throw gpulab::UsageError(
            fmt::format("{} is not square: {} rows, {} columns", name, matrix.rows, matrix.columns));
    if (!is_sorted(matrix)) matrix = gpulab::to_csr(gpulab::to_coo(matrix));
    const std::size_t n = matrix.rows;
    gpulab::check_finite(matrix, name);
    check_symmetric(matrix, name);
    if (start.empty()) start.assign(n, T{0});
    check_vector(b, n, "the right-hand side", name);
    check_vector(start, n, "the start", name);

    Problem<T> p;
    static_cast<Settings&>(p) = settings;
    if (settings.jacobi) {
        p.inverse_diagonal.resize(n);
        for (std::size_t i = 0; i < n; ++i) {
            T diagonal = 0;
            for (const std::size_t k : matrix.row(i))
                if (static_cast<std::size_t>(matrix.column[k]) == i) diagonal = matrix.value[k];
            p.inverse_diagonal[i] = 1 / diagonal;
            if (!(diagonal > 0) || !std::isfinite(p.inverse_diagonal[i]))
                throw gpulab::UsageError(fmt::format(
                    "{}: diagonal element {} is {}; the Jacobi preconditioner divides by it, so it must be positive{}",
                    name, i + 1, diagonal, diagonal > 0 ? ", and so large that 1 divided by it is finite" : ""));
        }
    }
    const double norm = checked_norm(b);
    p.matrix = std::move(matrix);
    p.b = std::move(b);
    p.start = std::move(start);
    p.stop_at = settings.tolerance * (settings.absolute ? 1 : norm);
    return p;
}

template <class T> End end_by_curvature(double pq, const std::vector<double>& history) {
    if (!std::isfinite(pq)) return End::not_finite;
    const End without = end_without_curvature<T>(history);
    const double least = without == End::exhausted ? std::numeric_limits<double>::min() : 0;
    return pq > 0 && pq >= least ? End::none : without;
}

template <class T> End end_without_curvature(const std::vector<double>& history) {
    // From here on the residual is the rounding error of its own update, and p . A p may underflow to zero.
    const bool rounding = history.back() <= std::numeric_limits<T>::epsilon() * history.front();
    return rounding ? End::exhausted : End::not_positive;
}

std::vector<std::pair<std::string, double>>
longest_times(const std::vector<std::map<std::string, double>>& of_devices) {
    std::map<std::string, double> longest;
    for (const auto& times : of_devices)
        for (const auto& [kind, ms] : times) longest[kind] = std::max(longest[kind], ms);
    return {longest.begin(), longest.end()};
}

template <class T> gpulab::Work work(const Problem<T>& p, std::size_t iterations) {
    const auto nonzeros = static_cast<double>(p.matrix.nonzeros()), n = static_cast<double>(p.n());
    const auto times = static_cast<double>(iterations);
    // With Jacobi, 1 / a_ii is read and z computed in two passes, and there is r . z besides r . r.
    const double vectors = p.jacobi ? 12 : 10, operations = p.jacobi ? 14 : 10;
    return {.bytes = times * (nonzeros * (sizeof(T) + 4) + n * 4 + vectors * n * sizeof(T)),
            .flops = times * (2 * nonzeros + operations * n)};
}

bool takes_several_devices(std::string_view variant) { return variant.find("devices") != std::string_view::npos; }

template <class T> std::span<const gpulab::Variant<Run<T>>> variants() {
    constexpr bool in_double = std::is_same_v<T, double>;
#define RUNG(backend, if_built, function, ...) GPULAB_ROW(backend, if_built(function<T>), function, __VA_ARGS__)
    static constexpr gpulab::Variant<Run<T>> table[] = {
#include "rungs.inc"
    };
    return table;
}

#define INSTANTIATE(T)                                                                                \
    template Problem<T> make_problem(gpulab::Csr<T>, std::vector<T>, std::vector<T>, const Settings&, \
                                     const std::string&);                                             \
    template End end_by_curvature<T>(double, const std::vector<double>&);                             \
    template End end_without_curvature<T>(const std::vector<double>&);                                \
    template gpulab::Work work(const Problem<T>&, std::size_t);                                       \
    template std::span<const gpulab::Variant<Run<T>>> variants<T>();
INSTANTIATE(float)
INSTANTIATE(double)

} // namespace cg
