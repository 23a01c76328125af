// CPU variants with one mistake each. The right ones are in labs/06_tridiagonal/cpu.
#include <algorithm>
#include <array>
#include <thread>
#include <vector>

#include "gpulab/poisoning.hpp"
#include "wrong_tridiagonal.hpp"

namespace tridiagonal::wrong {

namespace {

using P = Problem<double>;
using O = Output<double>;

/// What a Thomas loop may get wrong.
enum class Thomas { right, carries_over, reads_a_0, no_zero, next_system, wrong_sign, stops_early, c_from_next };

/// Thomas on one system of arrays; `c_before` and `d_before` are what the system before left there.
std::int32_t thomas(Thomas mistake, const P& p, std::size_t s, double* x, std::vector<double>& c_new, double& c_before,
                    double& d_before) {
    const std::size_t n = p.n, at_0 = s * n;
    std::int32_t zero = no_zero_pivot;
    if (mistake != Thomas::carries_over) c_before = d_before = 0;
    const bool all_rows = mistake == Thomas::carries_over || mistake == Thomas::reads_a_0;
    for (std::size_t i = 0; i < n; ++i) {
        const std::size_t k = at_0 + i;
        const double c = p.c[mistake == Thomas::c_from_next ? std::min(k + 1, p.size() - 1) : k];
        const double pivot = i > 0 || all_rows ? p.b[k] - p.a[k] * c_before : p.b[k];
        if (pivot == 0 && zero == no_zero_pivot) zero = static_cast<std::int32_t>(i);
        d_before = x[i] = (i > 0 || all_rows ? p.d[k] - p.a[k] * d_before : p.d[k]) / pivot;
        c_before = c_new[i] = c / pivot;
    }
    for (std::size_t i = n - 1; i-- > (mistake == Thomas::stops_early ? 1u : 0u);)
        x[i] -= (mistake == Thomas::wrong_sign ? -c_new[i] : c_new[i]) * x[i + 1];
    return mistake == Thomas::no_zero ? no_zero_pivot : zero;
}

void all_systems(Thomas mistake, const P& p, O& out, Stopwatch& watch) {
    std::vector<double> c_new(p.n);
    const auto run = [&] {
        double c_before = 0, d_before = 0;
        for (std::size_t s = 0; s < p.systems; ++s) {
            const std::size_t reported = mistake == Thomas::next_system ? (s + 1) % p.systems : s;
            out.zero_pivot[reported] = thomas(mistake, p, s, &out.x[s * p.n], c_new, c_before, d_before);
        }
    };
    watch.time(run, gpulab::poisoning(out, c_new));
}

template <Thomas mistake> void thomas_variant(const P& p, O& out, Stopwatch& watch) {
    all_systems(mistake, p, out, watch);
}

/// Three threads with equal shares, and nobody has the remainder.
void remainder_lost(const P& p, O& out, Stopwatch& watch) {
    const std::size_t threads = 3, share = p.systems / threads;
    watch.tile(threads, "systems");
    const auto run = [&] {
        std::vector<std::jthread> workers;
        for (std::size_t t = 0; t < threads; ++t)
            workers.emplace_back([&, t] {
                std::vector<double> c_new(p.n);
                double c_before = 0, d_before = 0;
                for (std::size_t s = t * share; s < (t + 1) * share; ++s)
                    out.zero_pivot[s] = thomas(Thomas::right, p, s, &out.x[s * p.n], c_new, c_before, d_before);
            });
    };
    watch.time(run, gpulab::poisoning(out));
}

/// Eliminates in place, so that the second run begins with what the first has left of the equations.
void not_restored(const P& p, O& out, Stopwatch& watch) {
    P work = p;
    std::vector<double> c_new(p.n);
    const auto run = [&] {
        double c_before = 0, d_before = 0;
        for (std::size_t s = 0; s < p.systems; ++s) {
            double* const d = &work.d[s * p.n];
            out.zero_pivot[s] = thomas(Thomas::right, work, s, d, c_new, c_before, d_before); // x takes the place of d
            std::copy(d, d + p.n, &out.x[s * p.n]);
        }
    };
    watch.time(run, gpulab::poisoning(out, c_new));
}

/// PCR that overwrites the equations which it still has to read.
void pcr_in_place(const P& p, O& out, Stopwatch& watch) {
    const std::size_t n = p.n;
    std::vector<double> a(n), b(n), c(n), d(n);
    const auto run = [&] {
        for (std::size_t s = 0; s < p.systems; ++s) {
            for (std::size_t i = 0; i < n; ++i) {
                const std::size_t k = s * n + i;
                a[i] = i > 0 ? p.a[k] : 0, b[i] = p.b[k], c[i] = i + 1 < n ? p.c[k] : 0, d[i] = p.d[k];
            }
            out.zero_pivot[s] = no_zero_pivot;
            for (std::size_t step = 1; step < n; step *= 2)
                for (std::size_t i = 0; i < n; ++i) {
                    const double alpha = i >= step ? a[i] / b[i - step] : 0,
                                 beta = i + step < n ? c[i] / b[i + step] : 0;
                    if (i >= step) b[i] -= alpha * c[i - step], d[i] -= alpha * d[i - step];
                    if (i + step < n) b[i] -= beta * a[i + step], d[i] -= beta * d[i + step];
                    a[i] = i >= step ? -alpha * a[i - step] : 0;
                    c[i] = i + step < n ? -beta * c[i + step] : 0;
                }
            for (std::size_t i = 0; i < n; ++i) {
                if (b[i] == 0) out.zero_pivot[s] = static_cast<std::int32_t>(i);
                out.x[s * n + i] = d[i] / b[i];
            }
        }
    };
    watch.time(run, gpulab::poisoning(out, a, b, c, d));
}

/// Solves the first time only.
void first_run_only(const P& p, O& out, Stopwatch& watch) {
    std::vector<double> c_new(p.n);
    bool done = false;
    const auto run = [&] {
        double c_before = 0, d_before = 0;
        for (std::size_t s = 0; !done && s < p.systems; ++s)
            out.zero_pivot[s] = thomas(Thomas::right, p, s, &out.x[s * p.n], c_new, c_before, d_before);
        done = true;
    };
    watch.time(run, gpulab::poisoning(out));
}

} // namespace

void cpu_right(const Problem<double>& p, Output<double>& out, Stopwatch& watch) {
    all_systems(Thomas::right, p, out, watch);
}

std::span<const WrongVariant<Run<double>>> cpu_variants() {
    static constexpr std::array table = {
        WrongVariant<Run<double>>{"carries_over", "a system begins with c' and d' of the one before",
                                  thomas_variant<Thomas::carries_over>},
        WrongVariant<Run<double>>{"reads_a_0", "a of row 0 times 0 is NaN when a is",
                                  thomas_variant<Thomas::reads_a_0>},
        WrongVariant<Run<double>>{"no_zero", "a zero pivot is found and not reported", thomas_variant<Thomas::no_zero>,
                                  "zero pivots"},
        WrongVariant<Run<double>>{"next_system", "a zero pivot is reported of the next system",
                                  thomas_variant<Thomas::next_system>, "zero pivots"},
        WrongVariant<Run<double>>{"wrong_sign", "c' is added on the way up", thomas_variant<Thomas::wrong_sign>},
        WrongVariant<Run<double>>{"stops_early", "the way up stops before row 0", thomas_variant<Thomas::stops_early>},
        WrongVariant<Run<double>>{"c_from_next", "c of the next row", thomas_variant<Thomas::c_from_next>},
        WrongVariant<Run<double>>{"remainder_lost", "equal shares of systems, and nobody has the rest", remainder_lost},
        WrongVariant<Run<double>>{"not_restored", "the equations are overwritten and not restored", not_restored},
        WrongVariant<Run<double>>{"pcr_in_place", "PCR reads coefficients that it has overwritten in the same step",
                                  pcr_in_place},
        WrongVariant<Run<double>>{"first_run_only", "later runs rely on the result of the first", first_run_only},
    };
    return table;
}

} // namespace tridiagonal::wrong
