// CPU variants with one mistake each. The right ones are labs/02_reduction/cpu/.
#include <algorithm>
#include <array>
#include <cmath>
#include <thread>
#include <vector>

#include "gpulab/poisoning.hpp"
#include "wrong_reduction.hpp"

namespace reduction::wrong {

namespace {

/// A tile of no size that is tested anyway.
constexpr std::size_t odd_tile = 640;

/// Adds up what `term(i)` gives for i = 0 ... n - 1. @param runs how many runs of a measurement do anything
template <class Term>
void add_up(std::size_t n, Scalar<float>& sum, Stopwatch& watch, const Term& term, int runs = 1 << 30) {
    const auto run = [&] {
        if (runs-- <= 0) return;
        double total = 0;
        for (std::size_t i = 0; i < n; ++i) total += term(i);
        sum[0] = static_cast<float>(total);
    };
    watch.tile(odd_tile);
    watch.tile(odd_tile, "terms");
    watch.time(run, gpulab::poisoning(sum));
}

// Sums.

template <int runs> void sum(const SumProblem<float>& p, Scalar<float>& sum, Stopwatch& watch) {
    add_up(
        p.size(), sum, watch, [&](std::size_t i) { return p.a[i]; }, runs);
}

/// Runs from 1, as an index that starts there in another language does.
void starts_at_one(const SumProblem<float>& p, Scalar<float>& sum, Stopwatch& watch) {
    add_up(p.size(), sum, watch, [&](std::size_t i) { return i == 0 ? 0 : p.a[i]; });
}

/// Equal shares for three threads: n mod 3 elements are left out.
void remainder_lost(const SumProblem<float>& p, Scalar<float>& sum, Stopwatch& watch) {
    const std::size_t threads = 3, share = p.size() / threads;
    const auto run = [&] {
        std::vector<double> of_thread(threads);
        {
            std::vector<std::jthread> workers;
            for (std::size_t t = 0; t < threads; ++t)
                workers.emplace_back([&, t] {
                    for (std::size_t i = t * share; i < (t + 1) * share; ++i) of_thread[t] += p.a[i];
                });
        }
        sum[0] = static_cast<float>(of_thread[0] + of_thread[1] + of_thread[2]);
    };
    watch.time(run, gpulab::poisoning(sum));
}

void float_accumulator(const SumProblem<float>& p, Scalar<float>& sum, Stopwatch& watch) {
    const auto run = [&] {
        float total = 0;
        for (const float x : p.a) total += x;
        sum[0] = total;
    };
    watch.time(run, gpulab::poisoning(sum));
}

/// Adds in whole numbers.
void int_accumulator(const SumProblem<float>& p, Scalar<float>& sum, Stopwatch& watch) {
    add_up(p.size(), sum, watch, [&](std::size_t i) { return std::trunc(p.a[i]); });
}

/// A last tile of a single element is not seen.
void last_tile_of_one(const SumProblem<float>& p, Scalar<float>& sum, Stopwatch& watch) {
    const std::size_t n = p.size() % odd_tile == 1 && p.size() > 1 ? p.size() - 1 : p.size();
    add_up(n, sum, watch, [&](std::size_t i) { return p.a[i]; });
}

/// One lane of 32 takes NaN for 0.
void nan_lost_in_a_lane(const SumProblem<float>& p, Scalar<float>& sum, Stopwatch& watch) {
    add_up(p.size(), sum, watch, [&](std::size_t i) { return i % 32 == 13 && std::isnan(p.a[i]) ? 0 : p.a[i]; });
}

/// Takes denormals for 0, as the fast-math options of compilers do.
void flushes_denormals(const SumProblem<float>& p, Scalar<float>& sum, Stopwatch& watch) {
    add_up(p.size(), sum, watch, [&](std::size_t i) { return std::fpclassify(p.a[i]) == FP_SUBNORMAL ? 0 : p.a[i]; });
}

// Dot products.

template <int runs> void dot(const DotProblem<float>& p, Scalar<float>& sum, Stopwatch& watch) {
    add_up(
        p.size(), sum, watch, [&](std::size_t i) { return static_cast<double>(p.a[i]) * p.b[i]; }, runs);
}

void squares(const DotProblem<float>& p, Scalar<float>& sum, Stopwatch& watch) {
    add_up(p.size(), sum, watch, [&](std::size_t i) { return static_cast<double>(p.a[i]) * p.a[i]; });
}

/// Products that are NaN are left out, but not in what fills no vector of four.
void nan_lost_in_vectors(const DotProblem<float>& p, Scalar<float>& sum, Stopwatch& watch) {
    add_up(p.size(), sum, watch, [&](std::size_t i) {
        const double product = static_cast<double>(p.a[i]) * p.b[i];
        return std::isnan(product) && i < p.size() / 4 * 4 ? 0 : product;
    });
}

/// Does not look at b where a is 0: 0 times NaN is lost.
void skips_zeros(const DotProblem<float>& p, Scalar<float>& sum, Stopwatch& watch) {
    add_up(p.size(), sum, watch, [&](std::size_t i) { return p.a[i] == 0 ? 0 : static_cast<double>(p.a[i]) * p.b[i]; });
}

// Series.

template <int runs> void series(const SeriesProblem<float>& p, Scalar<float>& sum, Stopwatch& watch) {
    add_up(
        p.terms, sum, watch, [&](std::size_t i) { return series_term(p.series, p.x, i); }, runs);
}

void from_one(const SeriesProblem<float>& p, Scalar<float>& sum, Stopwatch& watch) {
    add_up(p.terms, sum, watch, [&](std::size_t i) { return i == 0 ? 0 : series_term(p.series, p.x, i); });
}

/// Three threads carry the sign from term to term, and each begins with a positive one.
void each_share_begins_positive(const SeriesProblem<float>& p, Scalar<float>& sum, Stopwatch& watch) {
    const std::size_t share = std::max<std::size_t>(1, p.terms / 3);
    add_up(p.terms, sum, watch, [&](std::size_t i) {
        const double size = std::abs(series_term(p.series, p.x, i));
        return i % share % 2 == 0 ? size : -size;
    });
}

/// The last term is lost where it is alone in its tile.
void last_term_alone(const SeriesProblem<float>& p, Scalar<float>& sum, Stopwatch& watch) {
    const std::size_t terms = p.terms % odd_tile == 1 && p.terms > 1 ? p.terms - 1 : p.terms;
    add_up(terms, sum, watch, [&](std::size_t i) { return series_term(p.series, p.x, i); });
}

// Prefix sums.

/// Ways to get a prefix sum wrong.
enum class Mistake {
    none,
    first_run_only,
    swapped,          ///< inclusive for exclusive
    subtracts,        ///< exclusive as inclusive minus the element itself: NaN where there should be none
    nan_stays,        ///< a NaN does not get beyond its tile
    last_tile_of_one, ///< a last tile of a single element is not written
    in_float          ///< adds in float
};

template <Mistake mistake> void scan(const ScanProblem<float>& p, Prefixes<float>& out, Stopwatch& watch) {
    bool done = false;
    const auto run = [&] {
        if (std::exchange(done, true) && mistake == Mistake::first_run_only) return;
        const bool inclusive = (p.kind == Scan::inclusive) != (mistake == Mistake::swapped);
        const std::size_t n = p.size();
        const bool one_left = mistake == Mistake::last_tile_of_one && n > 1 && n % odd_tile == 1;
        double sum = 0;
        for (std::size_t i = 0; i < (one_left ? n - 1 : n); ++i) {
            if (mistake == Mistake::nan_stays && i % odd_tile == 0 && std::isnan(sum)) sum = 0;
            const double before = sum;
            sum += p.a[i];
            if (mistake == Mistake::in_float) sum = static_cast<float>(sum);
            const double exclusive = mistake == Mistake::subtracts ? sum - p.a[i] : before;
            out[i] = static_cast<float>(inclusive ? sum : exclusive);
        }
    };
    watch.tile(odd_tile);
    watch.time(run, gpulab::poisoning(out));
}

} // namespace

void cpu_without_poison(const SumProblem<float>& p, Scalar<float>& sum, Stopwatch& watch) {
    watch.time([&] {
        double total = 0;
        for (const float x : p.a) total += x;
        sum[0] = static_cast<float>(total);
    });
}

Controls cpu_controls() { return {sum<1 << 30>, dot<1 << 30>, series<1 << 30>, scan<Mistake::none>}; }

std::span<const WrongSum> cpu_sums() {
    static const std::array table = {
        WrongSum{"first_run_only", "does nothing from the second run on", sum<1>},
        WrongSum{"starts_at_one", "element 0 left out", starts_at_one},
        WrongSum{"remainder_lost", "n mod P elements left out", remainder_lost},
        WrongSum{"float_accumulator", "Book 1.7: floats added in a float", float_accumulator},
        WrongSum{"int_accumulator", "Book 1.6: floats added in an int", int_accumulator},
        WrongSum{"last_tile_of_one", "a last tile of one element is lost", last_tile_of_one},
        WrongSum{"nan_lost_in_a_lane", "one lane of 32 takes NaN for 0", nan_lost_in_a_lane},
        WrongSum{"flushes_denormals", "denormals become 0", flushes_denormals},
    };
    return table;
}

std::span<const WrongDot> cpu_dots() {
    static const std::array table = {
        WrongDot{"first_run_only", "does nothing from the second run on", dot<1>},
        WrongDot{"squares", "a is multiplied by itself", squares},
        WrongDot{"nan_lost_in_vectors", "NaN is lost, but not in the tail", nan_lost_in_vectors},
        WrongDot{"skips_zeros", "0 times NaN is lost", skips_zeros},
    };
    return table;
}

std::span<const WrongSeries> cpu_series() {
    static const std::array table = {
        WrongSeries{"first_run_only", "does nothing from the second run on", series<1>},
        WrongSeries{"from_one", "the first term is left out", from_one},
        WrongSeries{"each_share_begins_positive", "a share that begins at an odd term has all signs wrong",
                    each_share_begins_positive},
        WrongSeries{"last_term_alone", "a last tile of one term is lost", last_term_alone},
    };
    return table;
}

std::span<const WrongScan> cpu_scans() {
    static const std::array table = {
        WrongScan{"first_run_only", "does nothing from the second run on", scan<Mistake::first_run_only>},
        WrongScan{"inclusive_for_exclusive", "off by one element", scan<Mistake::swapped>},
        WrongScan{"subtracts", "exclusive as inclusive minus the element: NaN too early", scan<Mistake::subtracts>},
        WrongScan{"nan_stays", "a NaN does not get beyond its tile", scan<Mistake::nan_stays>},
        WrongScan{"last_tile_of_one", "a last tile of one element is not written", scan<Mistake::last_tile_of_one>},
        WrongScan{"in_float", "adds in float", scan<Mistake::in_float>},
    };
    return table;
}

} // namespace reduction::wrong
