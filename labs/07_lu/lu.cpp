#include "batch.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <numeric>

#include "gpulab/compare.hpp"
#include "gpulab/input.hpp"
#include "gpulab/parallel.hpp"
#include "gpulab/poison.hpp"
#include "gpulab/report.hpp"
#include "lu.hpp"
#include "rungs.hpp"

namespace lu {

double Problem::flops() const {
    const auto m = static_cast<double>(n);
    const double one = m < 2 ? 0 : m * (m - 1) / 2 + m * (m - 1) * (2 * m - 1) / 3; // sum of (n-1-k) + 2 (n-1-k)^2
    return one * static_cast<double>(count);
}

double Problem::bytes() const {
    return 2.0 * sizeof(double) * static_cast<double>(n) * static_cast<double>(n) * static_cast<double>(count);
}

void poison(Factors& f) {
    gpulab::poison(f.lu);
    gpulab::poison(f.pivots);
}

void restore(const Problem& p, Factors& f) {
    f.lu = p.a;
    gpulab::poison(f.pivots);
}

Singular::Singular(std::size_t column, std::optional<std::size_t> matrix)
    : Error(fmt::format("{} is singular: column {} has no pivot other than zero",
                        matrix ? fmt::format("matrix {} of the batch", *matrix + 1) : "the matrix", column + 1)),
      column_(column) {}

ZeroPivot::ZeroPivot(std::size_t column)
    : Unsupported(fmt::format("the pivot of column {} is zero; a variant with pivoting (its name ends in _pivot) may "
                              "go on",
                              column + 1)),
      column_(column) {}

void no_exchanges(Factors& f) { std::iota(f.pivots.begin(), f.pivots.end(), 0); }

void check_pivots(const Factors& f, bool pivoting) {
    for (std::size_t row = 0; row < f.pivots.size(); ++row) { // of all matrices
        const std::size_t k = row % f.n;
        if (f.lu[row * f.n + k] != 0) continue; // NaN is not zero
        if (!pivoting) throw ZeroPivot(k);
        throw Singular(k, f.pivots.size() > f.n ? std::optional(row / f.n) : std::nullopt);
    }
}

Problem make_problem(std::size_t n, std::uint64_t seed) {
    return {n, gpulab::random_vector<double>(n * n, seed), true};
}

std::vector<std::size_t> row_order(const Factors& f) {
    std::vector<std::size_t> order(f.n);
    std::iota(order.begin(), order.end(), std::size_t{0});
    for (std::size_t k = 0; k < f.n; ++k) {
        const std::int64_t p = f.pivots[k];
        if (p < static_cast<std::int64_t>(k) || p >= static_cast<std::int64_t>(f.n)) return {};
        std::swap(order[k], order[static_cast<std::size_t>(p)]);
    }
    return order;
}

double norm(const std::vector<double>& matrix, std::size_t n) {
    double largest = 0;
    for (std::size_t i = 0; i < n; ++i) {
        double sum = 0;
        for (std::size_t j = 0; j < n; ++j) sum += std::abs(matrix[i * n + j]);
        raise(largest, sum);
    }
    return largest;
}

namespace {

/// L (U x), with part(v) in place of each element v of L and U.
template <class Part> std::vector<double> product(const Factors& f, const std::vector<double>& x, const Part& part) {
    const std::size_t n = f.n;
    std::vector<double> ux(n), lux(n);
    gpulab::for_ranges(n, 256, [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i)
            for (std::size_t j = i; j < n; ++j) ux[i] += part(f.lu[i * n + j]) * x[j];
    });
    gpulab::for_ranges(n, 256, [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i) {
            lux[i] = ux[i];
            for (std::size_t j = 0; j < i; ++j) lux[i] += part(f.lu[i * n + j]) * ux[j];
        }
    });
    return lux;
}

/// The largest of some numbers >= 0; NaN when one of them is.
double largest_of(const std::vector<double>& values) {
    double largest = 0;
    for (const double v : values) raise(largest, v);
    return largest;
}

/// The infinity norm of P A - L U, from all its elements.
double residual(const Problem& p, const Factors& f, const std::vector<std::size_t>& order) {
    const std::size_t n = p.n;
    std::vector<double> row_sum(n);
    const std::size_t worth_a_thread =
        std::max<std::size_t>(16, (std::size_t{1} << 21) / (n * n)); // about 2^21 products
    gpulab::for_ranges(n, worth_a_thread, [&](std::size_t begin, std::size_t end) {
        std::vector<double> row(n);
        for (std::size_t i = begin; i < end; ++i) {
            std::copy_n(p.a.begin() + static_cast<std::ptrdiff_t>(order[i] * n), n, row.begin());
            // From the last product to the first: in the order of the elimination, its rounding errors would be
            // repeated, and cancel.
            for (std::size_t k = i + 1; k-- > 0;) {
                const double l = k == i ? 1 : f.lu[i * n + k];
                for (std::size_t j = k; j < n; ++j) row[j] -= l * f.lu[k * n + j];
            }
            for (const double r : row) row_sum[i] += std::abs(r);
        }
    });
    return largest_of(row_sum);
}

/// The largest element of (P A - L U) x for three vectors x of numbers in (-1, 1).
double sampled_residual(const Problem& p, const Factors& f, const std::vector<std::size_t>& order) {
    const std::size_t n = p.n;
    double largest = 0;
    for (std::uint64_t sample = 0; sample < 3; ++sample) {
        const std::vector<double> x = gpulab::random_vector<double>(n, 77 + sample);
        std::vector<double> r = product(f, x, [](double v) { return v; });
        gpulab::for_ranges(n, 256, [&](std::size_t begin, std::size_t end) {
            for (std::size_t i = begin; i < end; ++i) {
                double sum = 0;
                for (std::size_t j = 0; j < n; ++j) sum += p.a[order[i] * n + j] * x[j];
                r[i] = std::abs(sum - r[i]);
            }
        });
        raise(largest, largest_of(r));
    }
    return largest;
}

/// What is wrong with the pivots, or with an element of L, or "".
std::string fault_of_pivoting(const Factors& f, bool pivoting) {
    for (std::size_t k = 0; k < f.n; ++k) {
        const std::int64_t p = f.pivots[k];
        if (p < static_cast<std::int64_t>(k) || p >= static_cast<std::int64_t>(f.n))
            return fmt::format(
                "step {} exchanges row {} with row {}, which is not one of {} ... {}: the exchanges make "
                "no permutation",
                k, k, p, k, f.n - 1);
        if (!pivoting && p != static_cast<std::int64_t>(k))
            return fmt::format("step {} exchanges rows, and the variant is one without pivoting", k);
    }
    // Multiplying by a reciprocal instead of dividing may give the next number above 1.
    constexpr double most = 1 + std::numeric_limits<double>::epsilon();
    for (std::size_t i = 0; i < f.n && pivoting; ++i)
        for (std::size_t j = 0; j < i; ++j)
            if (!(std::abs(f.lu[i * f.n + j]) <= most))
                return fmt::format("l({}, {}) = {} is larger than 1: the pivot of column {} was not the largest", i, j,
                                   f.lu[i * f.n + j], j);
    return "";
}

} // namespace

double growth_norm(const Factors& f) {
    return largest_of(product(f, std::vector<double>(f.n, 1.0), [](double v) { return std::abs(v); }));
}

double random_growth(const Factors& f) {
    return std::sqrt(largest_of(product(f, std::vector<double>(f.n, 1.0), [](double v) { return v * v; })));
}

double growth_factor(const Problem& p, const Factors& f) {
    double of_u = 0, of_a = 0;
    for (std::size_t i = 0; i < f.n; ++i)
        for (std::size_t j = i; j < f.n; ++j) raise(of_u, std::abs(f.lu[i * f.n + j]));
    for (const double element : p.a) raise(of_a, std::abs(element));
    return of_u / of_a;
}

namespace {

/// compare() for a batch: the comparison of each matrix, of which the worst is the answer.
gpulab::Comparison compare_each(const Problem& p, const Factors& f, bool pivoting) {
    const std::size_t elements = p.n * p.n;
    std::vector<gpulab::Comparison> each(p.count);
    gpulab::for_ranges(p.count, 64, [&](std::size_t begin, std::size_t end) {
        Problem matrix{p.n, std::vector<double>(elements), p.random};
        Factors factors(p.n);
        for (std::size_t m = begin; m < end; ++m) {
            const auto first = static_cast<std::ptrdiff_t>(m * elements), row = static_cast<std::ptrdiff_t>(m * p.n);
            std::copy_n(p.a.begin() + first, elements, matrix.a.begin());
            std::copy_n(f.lu.begin() + first, elements, factors.lu.begin());
            std::copy_n(f.pivots.begin() + row, p.n, factors.pivots.begin());
            each[m] = compare(matrix, factors, pivoting);
        }
    });
    const auto worse = [](const gpulab::Comparison& a, const gpulab::Comparison& b) {
        if (a.passed != b.passed) return b.passed;
        return a.error * b.tolerance > b.error * a.tolerance; // a larger part of what is allowed
    };
    std::size_t worst = 0;
    for (std::size_t m = 1; m < p.count; ++m)
        if (worse(each[m], each[worst])) worst = m;
    if (!each[worst].passed)
        each[worst].message = fmt::format("matrix {} of the batch: {}", worst + 1, each[worst].message);
    return each[worst];
}

} // namespace

gpulab::Comparison compare(const Problem& p, const Factors& f, bool pivoting) {
    gpulab::Comparison result;
    if (f.n != p.n || f.lu.size() != p.a.size() || f.pivots.size() != p.n * p.count) {
        result.message = "the factors have another size than the matrix";
        return result;
    }
    if (p.count > 1) return compare_each(p, f, pivoting);
    if (result.message = fault_of_pivoting(f, pivoting); !result.message.empty()) return result;
    if (p.n == 0) {
        result.passed = true;
        result.error = 0;
        return result;
    }
    const std::vector<std::size_t> order = row_order(f);
    const double size = norm(p.a, p.n),
                 scale = static_cast<double>(p.n) * std::numeric_limits<double>::epsilon() * size;
    const bool sampled = p.n > 1024;
    const double difference = sampled ? sampled_residual(p, f, order) : residual(p, f, order);
    result.error = difference == 0 ? 0 : difference / scale;
    result.tolerance = growth_norm(f) / size;
    if (p.random && pivoting) {
        const double of_row = sampled ? 3 / std::sqrt(static_cast<double>(p.n)) : 1;
        result.tolerance = std::min(result.tolerance, lambda / 2 * of_row * random_growth(f) / size);
    }
    result.passed = result.error <= result.tolerance && std::isfinite(result.tolerance); // NaN fails
    if (!result.passed)
        result.message = fmt::format("P A - L U is {:.3g} in the infinity norm, {:.3g} times n eps norm(A); rounding "
                                     "explains {:.3g} times",
                                     difference, result.error, result.tolerance);
    return result;
}

gpulab::Work work(const Problem& p) {
    return {.bytes = p.bytes(), .flops = p.flops(), .arithmetic = gpulab::Arithmetic::fp64};
}

std::span<const gpulab::Variant<Run>> variants() {
#define RUNG(backend, if_built, function, ...) GPULAB_ROW(backend, if_built(function), function, __VA_ARGS__)
    static constexpr gpulab::Variant<Run> table[] = {
#include "rungs.inc"
    };
    return table;
}

Problem make_batch(std::size_t n, std::size_t count, std::uint64_t seed) {
    return {n, gpulab::random_vector<double>(count * n * n, seed), true, count};
}

std::span<const gpulab::Variant<Run>> batch_variants() {
    static constexpr gpulab::Variant<Run> table[] = {
#include "rungs_batch.inc"
    };
    return table;
}

} // namespace lu
