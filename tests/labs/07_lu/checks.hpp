/// @file
/// The checks that right and wrong factorisations go through.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <fmt/format.h>
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gpulab/error.hpp"
#include "gpulab/guard.hpp"
#include "gpulab/input.hpp"
#include "gpulab_testing/pairs.hpp"
#include "gpulab_testing/testing.hpp"
#include "gpulab_testing/variants.hpp"
#include "gpulab_testing/verdict.hpp"
#include "lu.hpp"

namespace lu::testing {

using gpulab::Backend;
using gpulab::testing::in_turn;
using gpulab::testing::seed;
using gpulab::testing::verdict;
using AnyRun = std::function<Run>;

/// What is known of a variant under test, and the tiles that it names, once it has run.
struct Rung {
    AnyRun run;
    Backend backend = Backend::cpu;
    bool pivoting = false;
    bool baseline = false; ///< a library: it may round where the rungs are exact, and take any of several equal pivots
    bool on_gpu = false;
    std::vector<gpulab::Tile> tiles = {};
    std::size_t least = 0, most = max_rows; ///< rows that it takes
};

/// The sizes of a list that a variant takes, and the largest that it takes in place of larger ones.
inline std::vector<std::size_t> taken(const Rung& rung, std::vector<std::size_t> sizes) {
    for (std::size_t& n : sizes) n = std::min(n, rung.most);
    std::erase_if(sizes, [&](std::size_t n) { return n < rung.least; });
    sizes.erase(std::ranges::unique(sizes).begin(), sizes.end());
    return sizes;
}

/// A matrix and its only factors.
struct Example {
    Problem problem;
    Factors factors;
};

/// One of `values`.
template <class List> double pick(const List& values, std::uint64_t series, std::size_t i) {
    return values[gpulab::random_bits(series, i) % std::size(values)];
}

/// P^T L U for given factors: what has them as its factorisation.
inline Problem problem_of(const Factors& f) {
    const std::size_t n = f.n;
    const std::vector<std::size_t> order = row_order(f);
    Problem p{n, std::vector<double>(n * n)};
    for (std::size_t i = 0; i < n; ++i) {
        double* const row = p.a.data() + order[i] * n;
        for (std::size_t k = 0; k <= i; ++k) {
            const double l = k == i ? 1 : f.lu[i * n + k];
            if (l == 0) continue;
            for (std::size_t j = k; j < n; ++j) row[j] += l * f.lu[k * n + j];
        }
    }
    return p;
}

/// Numbers with which every step of the elimination is exact, in any order: L of quarters, so that no two candidates
/// for a pivot are equal, U of whole numbers, with powers of two on the diagonal. Pivoting exchanges rows at random.
/// @param zero_pivot the column in which U has a zero on its diagonal; n: none
inline Factors exact_factors(std::size_t n, bool pivoting, std::size_t zero_pivot, std::uint64_t series) {
    constexpr double quarters[] = {-0.5, -0.25, 0, 0, 0.25, 0.5}, whole[] = {-2, -1, 0, 1, 2},
                     powers[] = {-2, -1, 1, 2};
    Factors f(n);
    for (std::size_t i = 0; i < n; ++i) {
        for (std::size_t j = 0; j < n; ++j)
            f.lu[i * n + j] = j < i    ? pick(quarters, series, i * n + j)
                              : j == i ? pick(powers, series, i * n + j)
                                       : pick(whole, series, i * n + j);
        f.pivots[i] = static_cast<std::int32_t>(pivoting ? i + gpulab::random_bits(series + 1, i) % (n - i) : i);
    }
    if (zero_pivot < n) f.lu[zero_pivot * n + zero_pivot] = 0;
    return f;
}

/// The matrix of given factors, with them.
inline Example example_of(Factors f) {
    Problem p = problem_of(f);
    return {std::move(p), std::move(f)};
}

/// The exact example of one size. Made once, for all variants.
inline const Example& exact_example(std::size_t n, bool pivoting) {
    static std::map<std::pair<std::size_t, bool>, Example> made;
    const auto [at, is_new] = made.try_emplace({n, pivoting});
    if (is_new) at->second = example_of(exact_factors(n, pivoting, n, seed + n));
    return at->second;
}

/// A random matrix; without pivoting one whose diagonal dominates, so that it can do without.
inline Problem random_problem(std::size_t n, bool pivoting) {
    Problem p = make_problem(n, seed + n);
    for (std::size_t i = 0; i < n && !pivoting; ++i) p.a[i * n + i] += static_cast<double>(n);
    return p;
}

/// The very factors, to the last bit.
inline gpulab::Comparison same(const Factors& expected, const Factors& f) {
    const gpulab::Comparison c = gpulab::compare(expected.lu, f.lu, 0);
    if (!c.passed) return c;
    for (std::size_t k = 0; k < f.n; ++k)
        if (f.pivots[k] != expected.pivots[k])
            return verdict(fmt::format("step {} should exchange row {} with row {}, not {}", k, k, expected.pivots[k],
                                       f.pivots[k]));
    return c;
}

/// What fault_of() of the framework finds; a zero pivot that is reported where there is none is a fault, too.
template <class Judge> std::string fault_of(const Rung& rung, const Problem& p, Factors& f, const Judge& judge) {
    try {
        return gpulab::testing::fault_of(rung.run, p, f, judge);
    } catch (const Singular& e) {
        return e.what();
    } catch (const ZeroPivot& e) {
        return e.what();
    }
}

/// What it finds with given factors as the only right answer; for a library, with a small residual as the right one.
inline std::string fault_of(const Rung& rung, const Example& e) {
    Factors f(e.problem.n);
    return fault_of(rung, e.problem, f, [&] {
        const gpulab::Comparison residual = compare(e.problem, f, rung.pivoting);
        return rung.baseline || !residual.passed ? residual : same(e.factors, f);
    });
}

/// What it finds with any factors of small residual.
inline std::string residual_fault(const Rung& rung, const Problem& p) {
    Factors f(p.n);
    return fault_of(rung, p, f, [&] { return compare(p, f, rung.pivoting); });
}

/// The first fault at those of the sizes that a variant takes, after the size; or "".
/// @param fault_at `fault_at(n)`: what is wrong at one size, or ""
template <class FaultAt>
std::string first_fault(const Rung& rung, const std::vector<std::size_t>& sizes, const FaultAt& fault_at) {
    for (const std::size_t n : taken(rung, sizes))
        if (const std::string fault = fault_at(n); !fault.empty()) return fmt::format("n = {}: {}", n, fault);
    return "";
}

/// Both kinds at a list of sizes.
inline std::string fault_at(const Rung& rung, const std::vector<std::size_t>& sizes) {
    return first_fault(rung, sizes, [&](std::size_t n) {
        const std::string fault = fault_of(rung, exact_example(n, rung.pivoting));
        return fault.empty() ? residual_fault(rung, random_problem(n, rung.pivoting)) : fault;
    });
}

/// Factors and pivots written out.
inline Factors factors_of(std::size_t n, std::vector<double> lu, std::vector<std::int32_t> pivots) {
    Factors f;
    f.n = n;
    f.lu = std::move(lu);
    f.pivots = std::move(pivots);
    return f;
}

/// What a variant gives, run once.
inline Factors factorised_by(const AnyRun& run, const Problem& p) {
    Factors f(p.n, p.count);
    Stopwatch once;
    run(p, f, once);
    return f;
}

/// 3 x 3, with numbers that a reader can follow.
inline std::string fault_by_hand(const Rung& rung) {
    const std::vector<double> lu = {4, 2, 8, 0.5, 2, 4, 0.25, 0.5, 3};
    if (rung.pivoting) return fault_of(rung, {{3, {2, 3, 8, 1, 1.5, 7, 4, 2, 8}}, factors_of(3, lu, {2, 2, 2})});
    return fault_of(rung, {{3, {4, 2, 8, 2, 3, 8, 1, 1.5, 7}}, factors_of(3, lu, {0, 1, 2})});
}

inline const std::vector<std::size_t>& sizes() {
    static const std::vector<std::size_t> all = {0,  1,  2,  3,  4,  5,  7,  15, 16,  17,  31,  32,  33,
                                                 34, 47, 63, 64, 65, 95, 96, 97, 127, 128, 129, 160, 200};
    return all;
}

/// Sizes next to the tiles that the variant names: not too many steps for a CPU.
inline std::vector<std::size_t> sizes_next_to(const Rung& rung) {
    const std::size_t largest = rung.on_gpu ? 1200 : 300;
    std::vector<std::size_t> all = gpulab::testing::sizes_next_to(rung.tiles, largest, "elements");
    std::erase_if(all, [&](std::size_t n) { return n > largest || std::ranges::count(sizes(), n) > 0; });
    return all;
}

/// Runs the variant once, for its tiles.
inline std::string contract_violation(Rung& rung) {
    const std::size_t n = std::min<std::size_t>(33, rung.most);
    Factors f(n);
    Stopwatch once;
    gpulab::testing::in_turn_noting_tiles(once, "elements",
                                          [&] { rung.run(exact_example(n, rung.pivoting).problem, f, once); });
    rung.tiles = once.tiles();
    return gpulab::testing::contract_violation(rung.backend, rung.baseline, once, {"elements", "matrices"});
}

/// Wilkinson's matrix: 1 on the diagonal and in the last column, -1 below the diagonal. Its factors grow to 2^(n - 1),
/// the most that partial pivoting can do, and all candidates for every pivot are equal. Exact up to n = 53.
inline Example wilkinson(std::size_t n) {
    Example e{{}, Factors(n)};
    e.problem.n = n;
    e.problem.a.resize(n * n);
    for (std::size_t i = 0; i < n; ++i) {
        for (std::size_t j = 0; j < n; ++j) {
            e.problem.a[i * n + j] = j == i || j + 1 == n ? 1 : j < i ? -1 : 0;
            e.factors.lu[i * n + j] = e.problem.a[i * n + j];
        }
        e.factors.lu[i * n + n - 1] = std::ldexp(1.0, static_cast<int>(i));
        e.factors.pivots[i] = static_cast<std::int32_t>(i);
    }
    return e;
}

/// A permutation matrix: L and U are the identity.
inline Example permutation(std::size_t n) {
    Factors f = exact_factors(n, true, n, seed);
    for (std::size_t at = 0; at < n * n; ++at) f.lu[at] = at % (n + 1) == 0 ? 1 : 0;
    return example_of(std::move(f));
}

/// Hilbert's matrix, 1 / (i + j + 1): close to singular already for n = 10.
inline Problem hilbert(std::size_t n) {
    Problem p{n, std::vector<double>(n * n)};
    for (std::size_t e = 0; e < n * n; ++e) p.a[e] = 1.0 / static_cast<double>(e / n + e % n + 1);
    return p;
}

/// Pivots of which several are equal: the first row wins.
inline std::string ties_fault(const Rung& rung) {
    if (rung.baseline || !rung.pivoting) return "";
    constexpr double above = 1 + 0x1p-52, quotient = 1 - 0x1p-52;
    for (const Example& e :
         {Example{{3, {1, 0, 3, 2, 4, 2, -2, -4, 1}}, factors_of(3, {2, 4, 2, 0.5, -2, 2, -1, 0, 3}, {1, 1, 2})},
          // Row 0 of A stands below row 1 when the two are equal candidates.
          Example{{3, {0, 1, 2, 0, -1, 1, 2, 0, 0}}, factors_of(3, {2, 0, 0, 0, -1, 1, 0, -1, 3}, {2, 1, 2})},
          // No tie: the candidates differ in the last bit.
          Example{{2, {1, 0, above, 1}}, factors_of(2, {above, 1, quotient, -quotient}, {1, 1})}})
        if (const std::string fault = fault_of(rung, e); !fault.empty()) return fault;
    // L of -1, 0 and 1 under a diagonal of 1: the row of the diagonal is the first of all equal candidates.
    return first_fault(rung, {40, 70, 150}, [&](std::size_t n) {
        Factors f = exact_factors(n, false, n, seed + 3);
        for (std::size_t i = 0; i < n; ++i)
            for (std::size_t j = 0; j < i; ++j) f.lu[i * n + j] = pick(std::vector{-1.0, 0.0, 0.0, 1.0}, 5, i * n + j);
        return fault_of(rung, example_of(std::move(f)));
    });
}

/// Growth, ill condition, and rows to exchange in every step.
inline std::string special_fault(const Rung& rung) {
    std::string fault = first_fault(rung, {2, 10, 33, 50}, [&](std::size_t n) { return fault_of(rung, wilkinson(n)); });
    if (!fault.empty()) return "Wilkinson's matrix, " + fault;
    fault = first_fault(rung, {10, 12}, [&](std::size_t n) { return residual_fault(rung, hilbert(n)); });
    if (!fault.empty()) return "Hilbert's matrix, " + fault;
    if (rung.pivoting)
        fault = first_fault(rung, {1, 2, 31, 70, 129}, [&](std::size_t n) { return fault_of(rung, permutation(n)); });
    if (!fault.empty()) return "a permutation, " + fault;
    if (fault = ties_fault(rung); !fault.empty()) return "equal candidates: " + fault;
    // Exchanges whose effect is far from the panel: the largest element of each column stands in the last rows.
    fault = first_fault(rung, {65, 130}, [&](std::size_t n) {
        Factors f = exact_factors(n, rung.pivoting, n, seed + 9);
        if (rung.pivoting) std::ranges::fill(f.pivots, static_cast<std::int32_t>(n - 1));
        return fault_of(rung, example_of(std::move(f)));
    });
    if (!fault.empty()) return "each row exchanged with the last, " + fault;
    // Larger numbers with the wrong sign: only the magnitude decides.
    if (rung.pivoting) fault = residual_fault(rung, {2, {1, 2, -3, 4}});
    return fault.empty() ? "" : "a negative pivot: " + fault;
}

/// What is wrong with how a variant reports that the pivot of this column is zero, or "".
inline std::string zero_fault(const Rung& rung, const Problem& p, std::size_t column) {
    Factors f(p.n);
    Stopwatch once;
    poison(f);
    const auto fault_in = [&](const auto& reported) -> std::string {
        gpulab::take_stray_write();
        if (reported.column() != column) return fmt::format("column {} is reported, not {}", reported.column(), column);
        if (std::string(reported.what()).find(fmt::format("column {}", column + 1)) == std::string::npos)
            return fmt::format("the message does not name column {}: {}", column + 1, reported.what());
        return "";
    };
    try {
        in_turn([&] { rung.run(p, f, once); });
    } catch (const Singular& e) {
        return rung.pivoting ? fault_in(e) : e.what();
    } catch (const ZeroPivot& e) {
        return rung.pivoting ? e.what() : fault_in(e);
    }
    return fmt::format("the zero in column {} is not reported", column);
}

/// Matrices without factors: a pivot of zero, in the first column, in the last, and in between.
inline std::string singular_fault(const Rung& rung) {
    if (rung.baseline) return ""; // rounding may hide a zero
    std::string fault = first_fault(rung, {1, 2, 33, 70, 130}, [&](std::size_t n) -> std::string {
        for (const std::size_t column : {std::size_t{0}, n / 2, n - 1}) {
            const Problem p = problem_of(exact_factors(n, rung.pivoting, column, seed + n));
            if (const std::string of_column = zero_fault(rung, p, column); !of_column.empty()) return of_column;
        }
        return "";
    });
    if (!fault.empty()) return fault;
    if (fault = zero_fault(rung, {3, std::vector<double>(9)}, 0); !fault.empty()) return "a matrix of zeros: " + fault;
    const Problem exchanged{2, {0, 1, 1, 0}};
    return rung.pivoting ? residual_fault(rung, exchanged) : zero_fault(rung, exchanged, 0);
}

/// NaN and infinities: the variant ends, writes nothing outside its buffers, and what it gives is no factorisation.
inline std::string not_finite_fault(const Rung& rung) {
    for (const double value : {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()})
        for (const std::size_t n : taken(rung, {1, 2, 35, 70}))
            for (const std::size_t at : {std::size_t{0}, n * n / 2, n * n - 1, n * (n - 1)}) {
                Problem p = random_problem(n, rung.pivoting);
                p.a[at] = value;
                Factors f(n);
                poison(f);
                Stopwatch once;
                gpulab::take_stray_write();
                try {
                    in_turn([&] { rung.run(p, f, once); });
                } catch (const Singular&) {
                    continue; // what is left of the column was zero
                } catch (const ZeroPivot&) {
                    continue;
                } catch (const gpulab::WrongResult& e) {
                    return e.what();
                }
                if (const std::string stray = gpulab::take_stray_write(); !stray.empty()) return stray;
                if (compare(p, f, rung.pivoting).passed)
                    return fmt::format("n = {}, element {} = {}: it passes for a factorisation", n, at, value);
                for (std::size_t k = 0; k < n && !rung.baseline; ++k)
                    if (f.pivots[k] < static_cast<std::int32_t>(k) || f.pivots[k] >= static_cast<std::int32_t>(n))
                        return fmt::format("n = {}, element {} = {}: pivot {} of step {}", n, at, value, f.pivots[k],
                                           k);
                if (n > 1 && at == 0 && std::isnan(value) && rung.pivoting && !rung.baseline && f.pivots[0] == 0)
                    return fmt::format("n = {}: NaN on the diagonal is taken for the pivot", n);
            }
    return "";
}

/// Factors times a power of two: every step stays exact, with pivots below 1e-308, whose reciprocal is infinite, and
/// with large ones.
inline Factors scaled(Factors f, int power) {
    for (std::size_t i = 0; i < f.n; ++i)
        for (std::size_t j = i; j < f.n; ++j) f.lu[i * f.n + j] = std::ldexp(f.lu[i * f.n + j], power);
    return f;
}

/// What is wrong with the factors of the matrix that has these, and no others, or "".
inline std::string factors_fault(const Rung& rung, const Factors& f) {
    Factors got(f.n);
    return fault_of(rung, problem_of(f), got, [&] { return same(f, got); });
}

/// Pivots of 1.5 * 2^1023, above 4e307: their reciprocal is below the normal numbers and has lost digits.
inline std::string huge_pivots_fault(const Rung& rung) {
    if (rung.baseline) return "";
    return first_fault(rung, {2, 40, 130}, [&](std::size_t n) {
        Factors f = exact_factors(n, rung.pivoting, n, seed);
        for (std::size_t i = 0; i < n; ++i)
            for (std::size_t j = i; j < n; ++j)
                f.lu[i * n + j] =
                    std::ldexp(j == i ? std::copysign(1.5, f.lu[i * n + i]) : f.lu[i * n + j], j == i ? 1023 : 1010);
        return factors_fault(rung, f);
    });
}

/// Columns of n equal candidates, 1 and -1: the first row wins, whichever rows a thread, a warp or a block looks at.
/// Only the pivots are looked at. @param columns those that are not the identity's
inline std::string first_of_equals_fault(const Rung& rung, std::size_t n, std::size_t columns) {
    Problem p{n, std::vector<double>(n * n)};
    for (std::size_t i = 0; i < n; ++i) {
        for (std::size_t k = 0; k < std::min(i, columns); ++k)
            p.a[i * n + k] = gpulab::random_bits(n + k, i) % 2 ? 1 : -1;
        p.a[i * n + i] = 1;
    }
    Factors f(n);
    return fault_of(rung, p, f, [&] {
        for (std::size_t k = 0; k < n; ++k)
            if (f.pivots[k] != static_cast<std::int32_t>(k))
                return verdict(fmt::format("step {} takes row {} though row {} is as good", k, f.pivots[k], k));
        return verdict("");
    });
}

/// Options crossed with each other: size, scale, which rows are exchanged, and the column of a zero pivot.
inline std::string pairs_fault(const Rung& rung) {
    if (rung.baseline) return "";
    const std::vector<std::size_t> sizes = taken(rung, {1, 2, 33, 65, 97, 200});
    const std::vector<int> powers = {0, -1040, 900};
    enum class Exchanges { none, at_random, with_the_last };
    const std::vector<std::string_view> exchanges = {"no exchanges", "random exchanges", "each row with the last"};
    const std::vector<std::string_view> zeros = {"", ", the first pivot is zero", ", the middle one is zero",
                                                 ", the last one is zero"};
    for (const auto& row : gpulab::testing::all_pairs({sizes.size(), powers.size(), exchanges.size(), zeros.size()})) {
        const std::size_t n = sizes[row[0]], zero = std::array{n, std::size_t{0}, n / 2, n - 1}[row[3]];
        const auto kind = rung.pivoting ? static_cast<Exchanges>(row[2]) : Exchanges::none;
        Factors f = exact_factors(n, kind == Exchanges::at_random, zero, seed + n + row[3]);
        if (kind == Exchanges::with_the_last) std::ranges::fill(f.pivots, static_cast<std::int32_t>(n - 1));
        f = scaled(std::move(f), powers[row[1]]);
        const std::string fault = zero < n ? zero_fault(rung, problem_of(f), zero) : factors_fault(rung, f);
        if (!fault.empty())
            return fmt::format("n = {}, times 2^{}, {}{}: {}", n, powers[row[1]], exchanges[row[2]], zeros[row[3]],
                               fault);
    }
    return "";
}

/// All that a variant must do, in the order in which it is tried.
inline void check_rung(Rung& rung, gpulab::testing::Faults& faults) {
    faults.check("3 x 3 by hand", [&] { return fault_by_hand(rung); });
    faults.check("every size", [&] { return fault_at(rung, sizes()); });
    faults.check("contract", [&] { return contract_violation(rung); });
    faults.check("sizes next to its tiles", [&] { return fault_at(rung, sizes_next_to(rung)); });
    faults.check("special matrices", [&] { return special_fault(rung); });
    faults.check("singular matrices", [&] { return singular_fault(rung); });
    faults.check("NaN and infinities", [&] { return not_finite_fault(rung); });
    faults.check("equal candidates in rows of one thread", [&] {
        if (rung.baseline || !rung.pivoting) return std::string();
        return first_of_equals_fault(rung, std::min<std::size_t>(rung.on_gpu ? 2100 : 290, rung.most), 40);
    });
    faults.check("huge pivots", [&] { return huge_pivots_fault(rung); });
    faults.check("options in pairs", [&] { return pairs_fault(rung); });
    faults.check("many panels", [&] { // on the CPU: two chunks of 512 columns, and work for two threads
        const std::size_t n = std::min<std::size_t>(rung.on_gpu ? 1100 : 640, rung.most);
        return residual_fault(rung, random_problem(n, rung.pivoting));
    });
}

/// Small sizes, once each: for tools a thousand times slower than the device. Not for a library, which may round.
inline std::string fault_under_tools(const Rung& rung, const std::vector<std::size_t>& small) {
    return first_fault(rung, small, [&](std::size_t n) {
        const Example& e = exact_example(n, rung.pivoting);
        Factors f(n);
        Stopwatch once;
        gpulab::take_stray_write();
        in_turn([&] { rung.run(e.problem, f, once); });
        const std::string stray = gpulab::take_stray_write();
        return stray.empty() ? same(e.factors, f).message : stray;
    });
}

} // namespace lu::testing
