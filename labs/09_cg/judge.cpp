#include "judge.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <numeric>
#include <type_traits>

#include "gpulab/compare.hpp"
#include "gpulab/input.hpp"
#include "gpulab/parallel.hpp"

namespace cg {

namespace {

/// Calls body(i) for all rows on all threads and adds up what it returns.
template <class Sum = double, class Body> double sum_over_rows(std::size_t n, const Body& body) {
    const unsigned parts = gpulab::parts_for(n, 16384);
    std::vector<Sum> sums(parts);
    gpulab::for_parts(parts, [&](unsigned part) {
        Sum sum = 0;
        for (std::size_t i = n * part / parts; i < n * (part + 1) / parts; ++i) sum += body(i);
        sums[part] = sum;
    });
    return static_cast<double>(std::accumulate(sums.begin(), sums.end(), Sum{0}));
}

/// The sum of the absolute terms of a row's product: what its rounding error is proportional to.
template <class T> double row_size(const gpulab::Csr<T>& a, std::size_t i, const std::vector<double>& x) {
    double sum = 0;
    for (const std::size_t k : a.row(i))
        sum += std::abs(static_cast<double>(a.value[k]) * x[static_cast<std::size_t>(a.column[k])]);
    return sum;
}

template <class Wide, class T, class Vector> Wide row_product(const gpulab::Csr<T>& a, std::size_t i, const Vector& x) {
    Wide sum = 0;
    for (const std::size_t k : a.row(i))
        sum += static_cast<Wide>(a.value[k]) * static_cast<Wide>(x[static_cast<std::size_t>(a.column[k])]);
    return sum;
}

/// How large the random changes are.
struct Noise {
    double row = 0, sum = 0;
};

/// The method in double, with random changes: of every element of q by at most noise.row of its row's absolute terms,
/// of both scalars by at most noise.sum of themselves.
/// @param most norms in the history: one that would be longer is not complete
template <class T> Reference iterate(const Problem<T>& p, const Noise& noise, std::uint64_t seed, std::size_t most) {
    const std::size_t n = p.n();
    std::vector<double> r(n), d(p.start.begin(), p.start.end()), q(n);
    std::uint64_t draw = 0;
    const auto random = [&](std::uint64_t at) { return 2 * gpulab::random_unit(seed, at) - 1; };
    const auto product = [&](std::size_t i, std::uint64_t at) {
        const double exact = row_product<double>(p.matrix, i, d);
        return noise.row > 0 ? exact + noise.row * random(at) * row_size(p.matrix, i, d) : exact;
    };
    const auto changed = [&](double value, std::uint64_t at) { return value * (1 + noise.sum * random(at)); };
    const auto weight = [&](std::size_t i) { return p.jacobi ? static_cast<double>(p.inverse_diagonal[i]) : 1.0; };
    Reference result;
    std::vector<double>& history = result.history;
    End& end = result.end;
    const auto note = [&](double rr) {
        history.push_back(std::sqrt(rr));
        end = !std::isfinite(rr) ? End::not_finite : history.back() <= p.stop_at ? End::converged : End::limit;
        return end == End::limit && history.size() <= p.limit;
    };
    sum_over_rows(n, [&](std::size_t i) { return r[i] = p.b[i] - product(i, i), 0.0; });
    double rho = sum_over_rows(n, [&](std::size_t i) { return d[i] = weight(i) * r[i], r[i] * d[i]; });
    bool more = note(sum_over_rows(n, [&](std::size_t i) { return r[i] * r[i]; }));
    while (more && history.size() <= most) {
        draw += n;
        const double pq = sum_over_rows(n, [&](std::size_t i) {
            q[i] = product(i, draw + i);
            return d[i] * q[i];
        });
        end = end_by_curvature<T>(pq, history);
        if (end != End::none) break;
        const double alpha = changed(rho / pq, ++draw);
        const double rr = sum_over_rows(n, [&](std::size_t i) { return r[i] -= alpha * q[i], r[i] * r[i]; });
        const double next_rho =
            p.jacobi ? sum_over_rows(n, [&](std::size_t i) { return weight(i) * r[i] * r[i]; }) : rr;
        const double beta = p.steepest ? 0 : changed(next_rho / rho, ++draw);
        rho = next_rho;
        more = note(rr);
        sum_over_rows(n, [&](std::size_t i) { return d[i] = weight(i) * r[i] + beta * d[i], 0.0; });
    }
    result.complete = !more || history.size() <= most;
    return result;
}

} // namespace

template <class T> std::string describe_end(const Problem<T>& p, const Output<T>& out) {
    const double residual = out.history.empty() ? std::numeric_limits<double>::quiet_NaN() : out.history.back();
    const std::size_t k = out.iterations();
    switch (out.end) {
    case End::converged:
        return fmt::format("converged after {} iterations: residual {:.3g}, wanted {:.3g}", k, residual, p.stop_at);
    case End::limit:
        return fmt::format("not converged within {} iterations: residual {:.3g}, wanted {:.3g}", k, residual,
                           p.stop_at);
    case End::not_positive:
        return fmt::format("the matrix is not positive definite: p.Ap = {:.3g} in iteration {}", out.curvature, k + 1);
    case End::exhausted:
        return fmt::format("after {} iterations the residual is rounding only: {:.3g}, wanted {:.3g}", k, residual,
                           p.stop_at);
    case End::not_finite:
        return fmt::format("a number became infinite or NaN in iteration {}; the last residual was {:.3g}", k + 1,
                           out.history.size() > 1 && !std::isfinite(residual) ? out.history[k - 1] : residual);
    default: return "no end";
    }
}

template <class T> double true_residual(const Problem<T>& p, const std::vector<T>& x) {
    if (x.size() != p.n()) return std::numeric_limits<double>::quiet_NaN();
    using Wide = std::conditional_t<std::is_same_v<T, float>, double, long double>;
    // In long double: a variant's tree rounds less than one sum after another, and must not be wrong for that.
    return std::sqrt(sum_over_rows<long double>(p.n(), [&](std::size_t i) {
        const auto r = static_cast<double>(static_cast<Wide>(p.b[i]) - row_product<Wide>(p.matrix, i, x));
        return r * r;
    }));
}

template <class T> Reference make_reference(const Problem<T>& p, double patience) {
    constexpr double epsilon = std::numeric_limits<T>::epsilon();
    const double step = static_cast<double>(p.matrix.nonzeros() + 5 * p.n()) + 1;
    const auto most = static_cast<std::size_t>(std::clamp(patience / step, 3.0, 1e9));
    Reference reference = iterate(p, {}, 0, most);
    const Noise noise{8 * epsilon, (16 + std::sqrt(static_cast<double>(p.n()))) * epsilon};
    for (const double norm : reference.history) reference.allowed.push_back(noise.sum * norm);
    for (std::uint64_t run = 1; run <= 4; ++run) {
        const std::vector<double> other = iterate(p, noise, run, most).history;
        for (std::size_t k = 0; k < reference.history.size(); ++k) {
            const double deviation = k < other.size() ? std::abs(other[k] - reference.history[k]) : 0;
            reference.allowed[k] = std::max(reference.allowed[k], 8 * deviation);
        }
    }
    // In some iterations a deviation happens to pass through zero: relative to the norm, `allowed` never falls.
    for (std::size_t k = 1; k < reference.allowed.size(); ++k)
        if (reference.history[k - 1] > 0)
            reference.allowed[k] = std::max(reference.allowed[k],
                                            reference.allowed[k - 1] / reference.history[k - 1] * reference.history[k]);
    return reference;
}

template <class T> double residual_gap(const Problem<T>& p, const Output<T>& out) {
    double norm = 0, first = 0, last = 0; // of vectors: by hypot, because their squares may underflow
    std::size_t longest = 0;
    for (std::size_t i = 0; i < p.n(); ++i) {
        double row = 0;
        for (const std::size_t k : p.matrix.row(i)) row += std::abs(static_cast<double>(p.matrix.value[k]));
        norm = std::max(norm, row);
        longest = std::max(longest, p.matrix.row_length(i));
        first = std::hypot(first, static_cast<double>(p.start[i]));
        last = std::hypot(last, static_cast<double>(out.x[i]));
    }
    const double size = std::max(first, 2 * last);
    const double b = out.history.empty() ? 0 : out.history.front();
    const auto k = static_cast<double>(out.iterations()) + 1;
    return std::numeric_limits<T>::epsilon() * k * ((static_cast<double>(longest) + 4) * (norm * size) + 4 * b);
}

template <class T> gpulab::Comparison compare(const Problem<T>& p, const Reference& reference, const Output<T>& out) {
    gpulab::Comparison result;
    result.tolerance = 1; // errors count in units of what is allowed
    result.error = 0;
    const auto fail = [&](double error, std::string message) {
        result.error = error;
        result.message = std::move(message);
        return result;
    };
    constexpr double nan = std::numeric_limits<double>::quiet_NaN();
    const std::size_t k = out.iterations();
    if (out.history.empty()) return fail(nan, "it gives no history");
    if (out.x.size() != p.n()) return fail(nan, fmt::format("x has {} elements, not {}", out.x.size(), p.n()));
    if (k > p.limit) return fail(nan, fmt::format("{} iterations, at most {} are allowed", k, p.limit));

    // Does it end where it should, by its own history?
    for (std::size_t i = 0; i < k; ++i)
        if (!(out.history[i] > p.stop_at))
            return fail(nan, fmt::format("iteration {} has a residual of {:.9g} and it goes on; wanted {:.9g}", i,
                                         out.history[i], p.stop_at));
    const bool below = out.history[k] <= p.stop_at;
    if (below != (out.end == End::converged) || (out.end == End::limit && k != p.limit))
        return fail(nan, fmt::format("after {} iterations with a residual of {:.9g} it says: {}", k, out.history[k],
                                     describe_end(p, out)));

    // The history, as long as rounding lets it agree.
    bool agreeing = true;
    for (std::size_t i = 0; i <= k && i < reference.history.size(); ++i) {
        agreeing = !(reference.allowed[i] > 0.1 * reference.history[i]);
        if (!agreeing) break;
        const double is = out.history[i], wanted = reference.history[i];
        if (is == wanted || (std::isnan(is) && std::isnan(wanted))) continue; // infinity - infinity is NaN
        const double difference = std::abs(is - wanted);
        if (!(difference <= reference.allowed[i] && std::isfinite(difference)))
            return fail(difference / reference.allowed[i],
                        fmt::format("the residual after iteration {} is {:.9g}, expected {:.9g}; rounding explains a "
                                    "difference of {:.2g}{}",
                                    i, is, wanted, reference.allowed[i],
                                    sizeof(T) == 4 && !std::isfinite(is)
                                        ? " (sums in float overflow beyond 3.4e38: try --type double)"
                                        : ""));
        if (difference > 0) result.error = std::max(result.error, difference / reference.allowed[i]);
    }
    // The end.
    if (reference.complete) {
        const std::size_t wanted = reference.history.size() - 1, last = std::min(k, wanted);
        if (agreeing && k != wanted && std::abs(reference.history[last] - p.stop_at) > reference.allowed[last])
            return fail(nan,
                        fmt::format("it ends after {} iterations, expected {}: {}", k, wanted, describe_end(p, out)));
        if (!agreeing && (k > 2 * wanted + 10 || 2 * k + 10 < wanted))
            return fail(nan, fmt::format("{} iterations, expected about {}", k, wanted));
        const bool broken = out.end == End::not_positive || out.end == End::not_finite;
        if ((agreeing ? k == wanted : broken) && out.end != reference.end)
            return fail(nan, "expected another end: " + describe_end(p, out));
    }
    if (out.end == End::not_finite && !(reference.complete && reference.end == End::not_finite))
        return fail(nan, describe_end(p, out));

    // The solution itself.
    if (out.end != End::not_finite) {
        const double is = true_residual(p, out.x), gap = residual_gap(p, out),
                     difference = std::abs(is - out.history[k]);
        if (!(difference <= gap && std::isfinite(difference))) // an infinite x makes both infinite
            return fail(difference / gap, fmt::format("b - A x has a norm of {:.9g}, the last iteration claims {:.9g}; "
                                                      "rounding explains a difference of {:.2g}",
                                                      is, out.history[k], gap));
        if (difference > 0) result.error = std::max(result.error, difference / gap);
    }
    result.passed = result.error <= result.tolerance;
    return result;
}

#define INSTANTIATE(T)                                                       \
    template std::string describe_end(const Problem<T>&, const Output<T>&);  \
    template double true_residual(const Problem<T>&, const std::vector<T>&); \
    template Reference make_reference(const Problem<T>&, double);            \
    template double residual_gap(const Problem<T>&, const Output<T>&);       \
    template gpulab::Comparison compare(const Problem<T>&, const Reference&, const Output<T>&);
INSTANTIATE(float)
INSTANTIATE(double)

} // namespace cg
