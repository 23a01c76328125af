#include "tridiagonal.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <type_traits>
#include <utility>

#include "gpulab/compare.hpp"
#include "gpulab/input.hpp"
#include "gpulab/jobs.hpp"
#include "gpulab/parallel.hpp"
#include "gpulab/raise.hpp"
#include "rungs.hpp"

namespace tridiagonal {

namespace {

/// The type in which the reference is computed.
template <class T> using Wide = std::conditional_t<std::is_same_v<T, float>, double, long double>;

/// Calls body(s) for each system, on all threads.
template <class Body> void for_systems(std::size_t n, std::size_t systems, const Body& body) {
    const std::size_t worth_a_thread = std::max<std::size_t>(4096 / n, 1);
    gpulab::for_ranges(systems, worth_a_thread, [&](std::size_t begin, std::size_t end) {
        for (std::size_t s = begin; s < end; ++s) body(s);
    });
}

/// Thomas on rows that row(i) gives as {a, b, c, d}; a of row 0 and c of the last one must be 0.
/// @param c_new,x scratch and the solution, n each
/// @return the first row whose pivot is zero, or no_zero_pivot
template <class W, class Row>
std::int32_t thomas(std::size_t n, const Row& row, std::vector<W>& c_new, std::vector<W>& x) {
    std::int32_t zero = no_zero_pivot;
    W c_before = 0, d_before = 0;
    for (std::size_t i = 0; i < n; ++i) {
        const auto [a, b, c, d] = row(i);
        const W pivot = i == 0 ? b : b - a * c_before;
        if (pivot == 0 && zero == no_zero_pivot) zero = static_cast<std::int32_t>(i);
        c_before = c_new[i] = c / pivot;
        d_before = x[i] = (i == 0 ? d : d - a * d_before) / pivot;
    }
    for (std::size_t i = n - 1; i-- > 0;) x[i] -= c_new[i] * x[i + 1];
    return zero;
}

/// Row i of a system as four numbers of W, with zeros where a and c have no meaning.
template <class W, class T> std::array<W, 4> row_of(const Problem<T>& p, std::size_t s, std::size_t i) {
    const std::size_t k = s * p.n + i;
    return {i == 0 ? W{0} : W{p.a[k]}, W{p.b[k]}, i + 1 == p.n ? W{0} : W{p.c[k]}, W{p.d[k]}};
}

} // namespace

template <class T>
Problem<T> make_problem(const std::string& kind, std::size_t n, std::size_t systems, std::uint64_t seed) {
    if (n == 0 || systems == 0) throw gpulab::UsageError("at least one system of at least one unknown");
    const std::size_t size = n * systems;
    Problem<T> p{n,
                 systems,
                 gpulab::random_vector<T>(size, seed),
                 gpulab::zeros<T>(size),
                 gpulab::random_vector<T>(size, seed + 1),
                 gpulab::random_vector<T>(size, seed + 2)};
    const auto each = [&](const auto& body) {
        gpulab::for_ranges(size, 65536, [&](std::size_t begin, std::size_t end) {
            for (std::size_t k = begin; k < end; ++k) body(k);
        });
    };
    if (kind == "dominant") {
        each([&](std::size_t k) {
            const T margin = gpulab::random_between(seed + 3, k, T(0.5), T(1.5));
            const T size_of_b = std::abs(p.a[k]) + std::abs(p.c[k]) + margin;
            p.b[k] = gpulab::random_bits(seed + 4, k) % 2 == 0 ? size_of_b : -size_of_b;
        });
    } else if (kind == "spd") {
        // L has m on its diagonal and l below it. Row k of L L^T: l[k] m[k-1], m[k]^2 + l[k]^2, l[k+1] m[k].
        const auto l = [&](std::size_t k) { return gpulab::random_between(seed + 3, k, T(-0.8), T(0.8)); };
        const auto m = [&](std::size_t k) { return gpulab::random_between(seed + 4, k, T(0.8), T(1.2)); };
        each([&](std::size_t k) {
            if (k % n > 0) p.a[k] = l(k) * m(k - 1);
            p.b[k] = m(k) * m(k) + (k % n > 0 ? l(k) * l(k) : T{0});
            if (k % n + 1 < n) p.c[k] = l(k + 1) * m(k);
        });
    } else if (kind == "poisson") {
        each([&](std::size_t k) {
            if (k % n > 0) p.a[k] = -1;
            p.b[k] = 2;
            if (k % n + 1 < n) p.c[k] = -1;
            p.d[k] = static_cast<T>(1 + k / n % 8);
        });
    } else {
        throw gpulab::UsageError("'" + kind +
                                 "' is no kind of matrix: " + fmt::format("{}", fmt::join(matrix_kinds, ", ")));
    }
    return p;
}

template <class T> Reference<T> make_reference(const Problem<T>& p) {
    using W = Wide<T>;
    Reference<T> r{Output<T>(p.n, p.systems), gpulab::zeros<double>(p.size())};
    std::vector<unsigned char> proves(p.systems, 1);
    for_systems(p.n, p.systems, [&](std::size_t s) {
        std::vector<W> c_new(p.n), x(p.n), size(p.n);
        r.out.zero_pivot[s] = thomas<W>(
            p.n, [&](std::size_t i) { return row_of<W>(p, s, i); }, c_new, x);
        thomas<W>(
            p.n,
            [&](std::size_t i) {
                const auto [a, b, c, d] = row_of<W>(p, s, i);
                const W left = i == 0 ? W{0} : std::abs(a * x[i - 1]),
                        right = i + 1 == p.n ? W{0} : std::abs(c * x[i + 1]);
                return std::array<W, 4>{-std::abs(a), std::abs(b), -std::abs(c),
                                        left + std::abs(b * x[i]) + right + std::abs(d)};
            },
            c_new, size);
        for (std::size_t i = 0; i < p.n; ++i) {
            r.out.x[s * p.n + i] = static_cast<T>(x[i]);
            // Below the smallest normal number rounding errors no longer shrink.
            r.scale[s * p.n + i] = std::max(static_cast<double>(size[i]), double{std::numeric_limits<T>::min()});
            // The inverse of M(A) has no negative element exactly when all pivots of M(A) are positive; then
            // c_new of Thomas, -|c| / pivot, is nowhere positive.
            if (c_new[i] > 0 || !std::isfinite(size[i]) || size[i] < 0) proves[s] = 0;
        }
        if (r.out.zero_pivot[s] != no_zero_pivot) proves[s] = 0;
    });
    if (std::find(proves.begin(), proves.end(), 0) != proves.end()) r.scale.clear();
    return r;
}

template <class T> void check_fits(const Problem<T>& p, const Reference<T>& reference) {
    for (std::size_t k = 0; k < p.size(); ++k)
        if (!std::isfinite(reference.out.x[k]) && reference.out.zero_pivot[k / p.n] == no_zero_pivot)
            throw gpulab::Error(fmt::format("the solution is larger than a {} holds: x of system {}, row {}",
                                            std::is_same_v<T, float> ? "float" : "double", k / p.n, k % p.n));
}

template <class T> double relative_residual(const Problem<T>& p, const Output<T>& out) {
    using W = Wide<T>;
    std::vector<double> residual(p.systems);
    for_systems(p.n, p.systems, [&](std::size_t s) {
        if (out.zero_pivot[s] != no_zero_pivot) return;
        W worst = 0, norm_a = 0, norm_x = 0, norm_d = 0;
        for (std::size_t i = 0; i < p.n; ++i) {
            const T* const x = &out.x[s * p.n + i];
            const auto [a, b, c, d] = row_of<W>(p, s, i);
            const W left = i == 0 ? W{0} : a * x[-1], right = i + 1 == p.n ? W{0} : c * x[1];
            const W r = std::abs(left + b * *x + right - d);
            gpulab::raise(worst, r);
            norm_a = std::max(norm_a, std::abs(a) + std::abs(b) + std::abs(c));
            norm_x = std::max(norm_x, std::abs(W{*x}));
            norm_d = std::max(norm_d, std::abs(d));
        }
        const W scale = norm_a * norm_x + norm_d;
        residual[s] = worst == 0 ? 0 : static_cast<double>(worst / scale);
    });
    double worst = 0;
    for (const double r : residual) gpulab::raise(worst, r);
    return worst;
}

template <class T> double tolerance(std::size_t n) {
    return 2 * (1 + std::log2(static_cast<double>(n))) * double{std::numeric_limits<T>::epsilon()};
}

template <class T> std::string zero_pivot_message(const Output<T>& out) {
    for (std::size_t s = 0; s < out.zero_pivot.size(); ++s)
        if (out.zero_pivot[s] != no_zero_pivot)
            return gpulab::is_poison(out.zero_pivot[s])
                       ? fmt::format("nobody wrote whether system {} has a zero pivot", s)
                       : fmt::format("zero pivot in system {}, row {}", s, out.zero_pivot[s]);
    return "";
}

template <class T>
gpulab::Comparison compare(const Problem<T>& p, const Reference<T>& reference, const Output<T>& out) {
    gpulab::Comparison result;
    result.tolerance = tolerance<T>(p.n);
    result.message = zero_pivot_message(out);
    if (result.message.empty() && out.zero_pivot.size() != p.systems) result.message = "zero pivots of another length";
    if (!result.message.empty()) return result;
    if (out.x.size() != p.size()) {
        result.message = fmt::format("expected {} unknowns, got {}", p.size(), out.x.size());
        return result;
    }
    const double residual = relative_residual(p, out);
    if (!reference.scale.empty()) {
        result = gpulab::compare(reference.out.x, out.x, result.tolerance,
                                 [&](std::size_t k) { return reference.scale[k]; });
        if (!result.passed) {
            const std::size_t at = result.first;
            result.message += fmt::format(" (system {}, row {})", at / p.n, at % p.n);
            return result;
        }
    } else {
        result.error = residual;
    }
    // An error of `tolerance` in every unknown changes a residual by that much, and rounding x itself by as much again.
    result.passed = residual <= 2 * result.tolerance;
    if (!result.passed)
        result.message = fmt::format("a relative residual of {:.2e}, tolerance {:.2e}", residual, 2 * result.tolerance);
    return result;
}

template <class T>
gpulab::Comparison compare_given(const Problem<T>& p, const Reference<T>& reference, const Output<T>& out,
                                 bool reports) {
    if (const std::string zero = zero_pivot_message(out); !zero.empty())
        throw gpulab::Unsupported(zero + ": this method does not exchange rows");
    const auto judged = [&] {
        const gpulab::Comparison result = compare(p, reference, out);
        if (!result.passed && reference.scale.empty() && std::isfinite(result.error))
            throw gpulab::Unsupported(result.message + ": without exchanging rows this system loses digits");
        return result;
    };
    if (reports) return judged();
    if (const std::string zero = zero_pivot_message(reference.out); !zero.empty())
        throw gpulab::Unsupported(zero + ": this variant does not report it");
    for (std::size_t k = 0; k < out.x.size(); ++k)
        if (!std::isfinite(out.x[k]) && !gpulab::is_poison(out.x[k]))
            throw gpulab::Unsupported(fmt::format("x of system {}, row {} is {}: this variant reports no zero pivots",
                                                  k / p.n, k % p.n, out.x[k]));
    return judged();
}

template <class T> std::vector<T> solve_others(const Problem<T>& p, const Reference<T>& reference) {
    Problem<T> others;
    others.n = p.n;
    std::vector<std::size_t> systems;
    for (std::size_t s = 0; s < p.systems; ++s)
        if (reference.out.zero_pivot[s] == no_zero_pivot) systems.push_back(s);
    if (systems.empty()) return {};
    others.systems = systems.size();
    for (const auto& [from, to] : {std::pair{&p.a, &others.a}, {&p.b, &others.b}, {&p.c, &others.c}, {&p.d, &others.d}})
        for (const std::size_t s : systems)
            to->insert(to->end(), from->begin() + static_cast<std::ptrdiff_t>(s * p.n),
                       from->begin() + static_cast<std::ptrdiff_t>((s + 1) * p.n));
    Output<T> out(others.n, others.systems);
    Stopwatch once;
    gpulab::run_of(variants<T>(), "cpu_thomas")(others, out, once);
    if (!compare(others, make_reference(others), out).passed) return {};
    std::vector<T> x(p.size(), std::numeric_limits<T>::quiet_NaN());
    for (std::size_t k = 0; k < systems.size(); ++k)
        std::copy_n(out.x.begin() + static_cast<std::ptrdiff_t>(k * p.n), p.n,
                    x.begin() + static_cast<std::ptrdiff_t>(systems[k] * p.n));
    return x;
}

template <class T> gpulab::Work work(std::size_t n, std::size_t systems) {
    const double unknowns = static_cast<double>(n) * static_cast<double>(systems);
    return {.bytes = 5 * sizeof(T) * unknowns, .flops = 8 * unknowns};
}

template <class T> std::vector<T> interleave(const std::vector<T>& from, std::size_t n, std::size_t systems) {
    std::vector<T> to(from.size());
    for (std::size_t s = 0; s < systems; ++s)
        for (std::size_t i = 0; i < n; ++i) to[i * systems + s] = from[s * n + i];
    return to;
}

template <class T> std::vector<T> separate(const std::vector<T>& from, std::size_t n, std::size_t systems) {
    return interleave(from, systems, n); // transposing back: rows and columns change places
}

template <class T> std::span<const gpulab::Variant<Run<T>>> variants() {
    constexpr bool in_double = std::is_same_v<T, double>;
#define RUNG(backend, if_built, function, ...) GPULAB_ROW(backend, if_built(function<T>), function, __VA_ARGS__)
    static constexpr gpulab::Variant<Run<T>> table[] = {
#include "rungs.inc"
    };
    return table;
}

#define INSTANTIATE(T)                                                                                         \
    template void check_fits(const Problem<T>&, const Reference<T>&);                                          \
    template std::vector<T> solve_others(const Problem<T>&, const Reference<T>&);                              \
    template gpulab::Comparison compare_given(const Problem<T>&, const Reference<T>&, const Output<T>&, bool); \
    template Problem<T> make_problem(const std::string&, std::size_t, std::size_t, std::uint64_t);             \
    template Reference<T> make_reference(const Problem<T>&);                                                   \
    template double relative_residual(const Problem<T>&, const Output<T>&);                                    \
    template double tolerance<T>(std::size_t);                                                                 \
    template gpulab::Comparison compare(const Problem<T>&, const Reference<T>&, const Output<T>&);             \
    template std::string zero_pivot_message(const Output<T>&);                                                 \
    template gpulab::Work work<T>(std::size_t, std::size_t);                                                   \
    template std::vector<T> interleave(const std::vector<T>&, std::size_t, std::size_t);                       \
    template std::vector<T> separate(const std::vector<T>&, std::size_t, std::size_t);                         \
    template std::span<const gpulab::Variant<Run<T>>> variants<T>();
INSTANTIATE(float)
INSTANTIATE(double)

} // namespace tridiagonal
