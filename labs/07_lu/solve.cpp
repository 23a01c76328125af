#include "solve.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>

#include "gpulab/compare.hpp"
#include "gpulab/input.hpp"
#include "gpulab/parallel.hpp"
#include "gpulab/report.hpp"
#include "rungs.hpp"

namespace lu {

double SolveProblem::flops() const {
    const auto m = static_cast<double>(n);
    return (2 * m * m - m) * static_cast<double>(count);
}

double SolveProblem::bytes() const {
    const auto m = static_cast<double>(n);
    return sizeof(double) * (m * m + 2 * m * static_cast<double>(count));
}

SolveProblem make_solve_problem(const Problem& p, const Factors& f, std::vector<double> b, std::size_t count) {
    return {p.n, count, p.a, f, std::move(b)};
}

SolveProblem make_solve_problem(const Problem& p, std::size_t count, std::uint64_t seed) {
    Factors f(p.n);
    Stopwatch once;
    cpu_threads_pivot(p, f, once);
    SolveProblem system = make_solve_problem(p, f, gpulab::random_vector<double>(p.n * count, seed), count);
    system.random = p.random;
    return system;
}

std::vector<double> permuted(const SolveProblem& p) {
    const std::vector<std::size_t> order = row_order(p.factors);
    std::vector<double> rows(p.b.size());
    for (std::size_t i = 0; i < p.n; ++i)
        std::copy_n(p.b.begin() + static_cast<std::ptrdiff_t>(order[i] * p.count), p.count,
                    rows.begin() + static_cast<std::ptrdiff_t>(i * p.count));
    return rows;
}

std::vector<double> residual_of(const SolveProblem& p, const Solution& x) {
    std::vector<double> r(p.b.size());
    gpulab::for_ranges(p.n, 64, [&](std::size_t begin, std::size_t end) {
        std::vector<long double> sum(p.count);
        for (std::size_t i = begin; i < end; ++i) {
            for (std::size_t c = 0; c < p.count; ++c) sum[c] = p.b[i * p.count + c];
            for (std::size_t j = 0; j < p.n; ++j)
                for (std::size_t c = 0; c < p.count; ++c)
                    sum[c] -= static_cast<long double>(p.a[i * p.n + j]) * x[j * p.count + c];
            for (std::size_t c = 0; c < p.count; ++c) r[i * p.count + c] = static_cast<double>(sum[c]);
        }
    });
    return r;
}

double backward_error(const SolveProblem& p, const Solution& x) {
    const std::vector<double> r = residual_of(p, x);
    const double matrix = norm(p.a, p.n);
    double worst = 0;
    for (std::size_t c = 0; c < p.count; ++c) {
        double of_r = 0, of_x = 0, of_b = 0;
        for (std::size_t i = 0; i < p.n; ++i) {
            raise(of_r, std::abs(r[i * p.count + c]));
            raise(of_x, std::abs(x[i * p.count + c]));
            raise(of_b, std::abs(p.b[i * p.count + c]));
        }
        const double scale = static_cast<double>(p.n) * std::numeric_limits<double>::epsilon() * (matrix * of_x + of_b);
        raise(worst, of_r == 0 ? 0 : of_r / scale);
    }
    return worst;
}

gpulab::Comparison compare(const SolveProblem& p, const Solution& x, bool refined) {
    gpulab::Comparison result;
    if (x.size() != p.n * p.count) {
        result.message = fmt::format("expected {} elements, got {}", p.n * p.count, x.size());
        return result;
    }
    result.error = backward_error(p, x);
    result.tolerance = 1;
    if (!x.empty()) {
        const double size = norm(p.a, p.n), of_row = lambda / 2 / std::sqrt(static_cast<double>(p.n));
        if (!refined) result.tolerance = 1.5 * growth_norm(p.factors) / size;
        if (p.random)
            result.tolerance =
                std::min(result.tolerance, refined ? of_row : 3 * of_row * random_growth(p.factors) / size);
    }
    result.passed = result.error <= result.tolerance && std::isfinite(result.tolerance);
    if (!result.passed)
        result.message = fmt::format("B - A X is {:.3g} times n eps (norm(A) norm(X) + norm(B)); rounding explains "
                                     "{:.3g} times",
                                     result.error, result.tolerance);
    return result;
}

namespace {

/// x = A^-1 x, or A^-T x, from the factors.
void apply_inverse(const Factors& f, const std::vector<std::size_t>& order, std::vector<double>& x, bool transpose) {
    const std::size_t n = f.n;
    const double* const a = f.lu.data();
    std::vector<double> y(n);
    if (!transpose) { // L U x = P b
        for (std::size_t i = 0; i < n; ++i) {
            y[i] = x[order[i]];
            for (std::size_t j = 0; j < i; ++j) y[i] -= a[i * n + j] * y[j];
        }
        for (std::size_t i = n; i-- > 0;) {
            for (std::size_t j = i + 1; j < n; ++j) y[i] -= a[i * n + j] * y[j];
            y[i] /= a[i * n + i];
        }
        x = y;
        return;
    }
    y = x; // U^T L^T P x = b: row by row, as the factors are stored
    for (std::size_t i = 0; i < n; ++i) {
        y[i] /= a[i * n + i];
        for (std::size_t j = i + 1; j < n; ++j) y[j] -= a[i * n + j] * y[i];
    }
    for (std::size_t i = n; i-- > 0;)
        for (std::size_t j = 0; j < i; ++j) y[j] -= a[i * n + j] * y[i];
    for (std::size_t i = 0; i < n; ++i) x[order[i]] = y[i];
}

double one_norm(const std::vector<double>& x) {
    double sum = 0;
    for (const double v : x) sum += std::abs(v);
    return sum;
}

} // namespace

double condition_estimate(const Problem& p, const Factors& f) {
    const std::size_t n = p.n;
    if (n == 0) return 0;
    for (std::size_t i = 0; i < n; ++i)
        if (f.lu[i * n + i] == 0) return std::numeric_limits<double>::infinity();
    const std::vector<std::size_t> order = row_order(f);
    if (order.empty()) throw gpulab::Error("the row exchanges make no permutation");

    std::vector<double> column(n);
    for (std::size_t i = 0; i < n; ++i)
        for (std::size_t j = 0; j < n; ++j) column[j] += std::abs(p.a[i * n + j]);
    const double of_a = *std::max_element(column.begin(), column.end());

    // norm(A^-1) = max norm(A^-1 x) over norm(x) = 1 is reached at a unit vector. Climb from one to the next.
    std::vector<double> x(n, 1.0 / static_cast<double>(n));
    double of_inverse = 0;
    std::size_t last = n;
    for (int climb = 0; climb < 5; ++climb) {
        apply_inverse(f, order, x, false);
        const double found = one_norm(x);
        if (!std::isfinite(found)) return std::numeric_limits<double>::infinity();
        if (!(found > of_inverse)) break;
        of_inverse = found;
        for (double& v : x) v = v < 0 ? -1 : 1;
        apply_inverse(f, order, x, true); // the slope
        const auto steepest =
            std::max_element(x.begin(), x.end(), [](double a, double b) { return std::abs(a) < std::abs(b); });
        const auto at = static_cast<std::size_t>(steepest - x.begin());
        if (at == last) break;
        last = at;
        std::fill(x.begin(), x.end(), 0.0);
        x[at] = 1;
    }
    // A second guess with alternating signs, for matrices that mislead the first.
    for (std::size_t i = 0; i < n; ++i)
        x[i] = (i % 2 ? -1.0 : 1.0) * (1 + (n > 1 ? static_cast<double>(i) / static_cast<double>(n - 1) : 0));
    apply_inverse(f, order, x, false);
    const double estimate = of_a * std::max(2 * one_norm(x) / (3 * static_cast<double>(n)), of_inverse);
    return std::isfinite(estimate) ? estimate : std::numeric_limits<double>::infinity();
}

gpulab::Work work(const SolveProblem& p) {
    return {.bytes = p.bytes(), .flops = p.flops(), .arithmetic = gpulab::Arithmetic::fp64};
}

std::span<const gpulab::Variant<SolveRun>> solve_variants() {
#define RUNG(backend, if_built, function, ...) GPULAB_ROW(backend, if_built(function), function, __VA_ARGS__)
    static constexpr gpulab::Variant<SolveRun> table[] = {
#include "rungs_solve.inc"
    };
    return table;
}

} // namespace lu
