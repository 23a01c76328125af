#include <algorithm>
#include <array>
#include <cmath>

#include "gpulab/poisoning.hpp"
#include "wrong_lu.hpp"

namespace lu::wrong {

namespace {

enum class Mistake {
    none,
    swaps_right_only,
    swaps_left_only,
    no_absolute_value,
    smallest,
    last_of_equals,
    searches_from_the_panel,
    counts_from_the_panel,
    search_misses_last_row,
    scales_before_exchange,
    overwritten_column,
    column_not_scaled,
    ragged_rows,
    ragged_columns,
    last_panel_column,
    exchanges_backwards,
    left_of_the_panel_kept,
    rows_of_u_not_solved,
    solves_with_pivots,
    update_adds,
    zero_not_reported,
    reports_next_column,
    no_pivot_for_nan,
    keeps_its_answer,
    pivots_not_written,
    single_precision,
};

/// Elimination in panels of 16 columns, with the mistake chosen at compile time.
template <Mistake m, bool pivoting> void eliminate(Factors& f) {
    constexpr std::size_t width = 16;
    const std::size_t n = f.n;
    double* const a = f.lu.data();
    const auto exchange = [&](std::size_t k, std::size_t p, std::size_t begin, std::size_t end) {
        if (k != p) std::swap_ranges(a + k * n + begin, a + k * n + end, a + p * n + begin);
    };
    for (std::size_t k0 = 0; k0 < n; k0 += width) {
        const std::size_t k1 = std::min(k0 + width, n);
        const std::size_t panel_end = m == Mistake::last_panel_column && k1 < n ? k1 - 1 : k1;
        for (std::size_t k = k0; k < k1; ++k) {
            std::size_t best = m == Mistake::no_pivot_for_nan ? n : k;
            if (pivoting) {
                double largest = -1;
                const std::size_t from = m == Mistake::searches_from_the_panel ? k0 : k;
                for (std::size_t i = from; i < n; ++i) {
                    if (m == Mistake::search_misses_last_row && i + 1 == n && n > k + 1) break;
                    const double x = a[i * n + k];
                    const double size = m == Mistake::no_absolute_value ? x
                                        : m == Mistake::smallest        ? (x == 0 ? -1 : 1 / std::abs(x))
                                                                        : std::abs(x);
                    if (size > largest || (m == Mistake::last_of_equals && size == largest)) largest = size, best = i;
                }
            }
            const std::size_t row = std::min(best, n - 1); // what a kernel would read outside
            if (m != Mistake::pivots_not_written)
                f.pivots[k] = static_cast<std::int32_t>(m == Mistake::counts_from_the_panel ? best - k0 : best);
            if (m == Mistake::scales_before_exchange)
                for (std::size_t i = k + 1; i < n; ++i) a[i * n + k] /= a[k * n + k];
            exchange(k, row, m == Mistake::swaps_right_only ? k : k0, m == Mistake::swaps_left_only ? k + 1 : k1);
            for (std::size_t i = k + 1; i < n; ++i) {
                if (m != Mistake::column_not_scaled && m != Mistake::scales_before_exchange)
                    a[i * n + k] /= a[k * n + k];
                double factor = a[i * n + k];
                if (m == Mistake::overwritten_column) factor /= a[k * n + k]; // divided already
                for (std::size_t j = k + 1; j < panel_end; ++j) a[i * n + j] -= factor * a[k * n + j];
            }
        }
        for (std::size_t s = 0; s < k1 - k0; ++s) {
            const std::size_t k = m == Mistake::exchanges_backwards ? k1 - 1 - s : k0 + s;
            const auto p = static_cast<std::size_t>(std::clamp<std::int64_t>(
                m == Mistake::counts_from_the_panel ? f.pivots[k] + static_cast<std::int64_t>(k0) : f.pivots[k], 0,
                static_cast<std::int64_t>(n) - 1));
            if (m != Mistake::left_of_the_panel_kept) exchange(k, p, 0, k0);
            exchange(k, p, k1, n);
        }
        if (m != Mistake::rows_of_u_not_solved)
            for (std::size_t i = k0; i < k1; ++i) {
                for (std::size_t k = k0; k < i; ++k)
                    for (std::size_t j = k1; j < n; ++j) a[i * n + j] -= a[i * n + k] * a[k * n + j];
                for (std::size_t j = k1; j < n && m == Mistake::solves_with_pivots; ++j) a[i * n + j] /= a[i * n + i];
            }
        const std::size_t rows = m == Mistake::ragged_rows ? k1 + (n - k1) / 16 * 16 : n;
        const std::size_t columns = m == Mistake::ragged_columns ? k1 + (n - k1) / 16 * 16 : n;
        for (std::size_t i = k1; i < rows; ++i)
            for (std::size_t k = k0; k < k1; ++k)
                for (std::size_t j = k1; j < columns; ++j)
                    a[i * n + j] -= (m == Mistake::update_adds ? -1 : 1) * a[i * n + k] * a[k * n + j];
    }
    if (m == Mistake::single_precision)
        for (double& x : f.lu) x = static_cast<float>(x);
}

template <Mistake m, bool pivoting> void variant(const Problem& p, Factors& f, Stopwatch& watch) {
    const auto reset = [&] {
        f.lu = p.a;
        if (m == Mistake::pivots_not_written) no_exchanges(f);
        else gpulab::poison(f.pivots);
    };
    if (m == Mistake::keeps_its_answer) { // a second run factorises the factors
        reset();
        watch.time([&] { eliminate<m, pivoting>(f); });
    } else {
        watch.time([&] { eliminate<m, pivoting>(f); }, reset);
    }
    if (m == Mistake::zero_not_reported) return;
    try {
        check_pivots(f, pivoting);
    } catch (const Singular& fault) {
        if (m == Mistake::reports_next_column) throw Singular(fault.column() + 1);
        throw;
    }
}

#define WRONG(name, mistake, pivoting, ...) \
    WrongVariant { #name, mistake, variant < Mistake::name, pivoting>, __VA_ARGS__ }

enum class SolveMistake { none, rows_not_exchanged, exchanged_back, divides_l, last_unknown_lost, one_right_hand_side };

template <SolveMistake m> void solver(const SolveProblem& p, Solution& x, Stopwatch& watch) {
    const std::size_t n = p.n, count = p.count;
    const double* const a = p.factors.lu.data();
    const auto solve = [&] {
        x = m == SolveMistake::rows_not_exchanged ? p.b : permuted(p);
        if (m == SolveMistake::exchanged_back) {
            const auto order = row_order(p.factors);
            for (std::size_t i = 0; i < n; ++i)
                std::copy_n(p.b.begin() + static_cast<std::ptrdiff_t>(i * count), count,
                            x.begin() + static_cast<std::ptrdiff_t>(order[i] * count));
        }
        for (std::size_t c = 0; c < (m == SolveMistake::one_right_hand_side ? std::min<std::size_t>(1, count) : count);
             ++c) {
            for (std::size_t i = 0; i < n; ++i) {
                for (std::size_t j = 0; j < i; ++j) x[i * count + c] -= a[i * n + j] * x[j * count + c];
                if (m == SolveMistake::divides_l) x[i * count + c] /= a[i * n + i];
            }
            for (std::size_t i = n; i-- > 0;) {
                const std::size_t end = m == SolveMistake::last_unknown_lost && i + 1 < n ? n - 1 : n;
                for (std::size_t j = i + 1; j < end; ++j) x[i * count + c] -= a[i * n + j] * x[j * count + c];
                x[i * count + c] /= a[i * n + i];
            }
        }
    };
    watch.time(solve, gpulab::poisoning(x));
}

} // namespace

void cpu_right(const Problem& p, Factors& f, Stopwatch& watch) { variant<Mistake::none, false>(p, f, watch); }
void cpu_right_pivot(const Problem& p, Factors& f, Stopwatch& watch) { variant<Mistake::none, true>(p, f, watch); }
void cpu_right_solver(const SolveProblem& p, Solution& x, Stopwatch& watch) { solver<SolveMistake::none>(p, x, watch); }

std::span<const WrongVariant> cpu_plain() {
    static const std::array table = {
        WRONG(overwritten_column, "the update divides the column that is divided already", false),
        WRONG(column_not_scaled, "the column is never divided", false),
        WRONG(ragged_rows, "the update leaves out the last rows, fewer than a tile", false),
        WRONG(ragged_columns, "the update leaves out the last columns, fewer than a tile", false),
        WRONG(last_panel_column, "the last column of a panel is left out", false),
        WRONG(rows_of_u_not_solved, "no triangular solve", false),
        WRONG(solves_with_pivots, "L is solved as if it had the pivots on its diagonal", false),
        WRONG(update_adds, "+= for -=", false),
        WRONG(zero_not_reported, "a zero pivot gives NaN in silence", false, by_singular),
        WRONG(keeps_its_answer, "it works in place and never gets the matrix again", false),
        WRONG(single_precision, "the factors are rounded to float", false),
    };
    return table;
}

std::span<const WrongVariant> cpu_pivoting() {
    static const std::array table = {
        WRONG(swaps_right_only, "the pivot's row is exchanged to the right of the column only", true),
        WRONG(swaps_left_only, "it is exchanged up to the column only", true),
        WRONG(no_absolute_value, "the largest element, not the largest magnitude", true),
        WRONG(smallest, "the smallest element that is not zero", true),
        WRONG(last_of_equals, ">= for > in the search", true, by_special),
        WRONG(searches_from_the_panel, "the search starts at the top of the panel", true),
        WRONG(counts_from_the_panel, "pivots are counted from the top of the panel", true),
        WRONG(search_misses_last_row, "the search ends one row early", true),
        WRONG(scales_before_exchange, "the column is divided by what stood on the diagonal before", true),
        WRONG(exchanges_backwards, "the exchanges of a panel are applied from the last to the first", true),
        WRONG(left_of_the_panel_kept, "L, left of the panel, is not exchanged", true),
        WRONG(last_panel_column, "the last column of a panel is left out", true),
        WRONG(zero_not_reported, "a singular matrix gives NaN in silence", true, by_singular),
        WRONG(reports_next_column, "the column of a singular matrix is off by one", true, by_singular),
        WRONG(no_pivot_for_nan, "a search that finds nothing larger than NaN leaves no pivot", true, by_nan),
        WRONG(pivots_not_written, "the exchanges are done but not told", true),
        WRONG(keeps_its_answer, "it works in place and never gets the matrix again", true),
    };
    return table;
}

std::span<const WrongSolver> cpu_solvers() {
    static const std::array table = {
        WrongSolver{"rows_not_exchanged", "B instead of P B", solver<SolveMistake::rows_not_exchanged>},
        WrongSolver{"exchanged_back", "the transpose of P", solver<SolveMistake::exchanged_back>},
        WrongSolver{"divides_l", "L is taken to have the pivots on its diagonal", solver<SolveMistake::divides_l>},
        WrongSolver{"last_unknown_lost", "the last unknown is left out above", solver<SolveMistake::last_unknown_lost>},
        WrongSolver{"one_right_hand_side", "the others are never solved", solver<SolveMistake::one_right_hand_side>,
                    by_sizes},
    };
    return table;
}

} // namespace lu::wrong
