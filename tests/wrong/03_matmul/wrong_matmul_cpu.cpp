// CPU variants with one mistake each. The right ones are labs/03_matmul/cpu/.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <thread>
#include <vector>

#include "gpulab/poisoning.hpp"
#include "wrong_matmul.hpp"

namespace matmul::wrong {

namespace {

constexpr std::size_t tile = 16; // of k

/// The product from sums that a function `sum(p, i, j)` gives.
template <class Sum> void multiply(const Problem<float>& p, Output<float>& c, Stopwatch& watch, const Sum& sum) {
    watch.tile(tile, "k");
    const auto run = [&] {
        for (std::size_t i = 0; i < p.m; ++i)
            for (std::size_t j = 0; j < p.n; ++j) c[i * p.n + j] = sum(p, i, j);
    };
    watch.time(run, gpulab::poisoning(c));
}

/// Products begin ... end - 1 of element (i, j).
float products(const Problem<float>& p, std::size_t i, std::size_t j, std::size_t begin, std::size_t end) {
    float sum = 0;
    for (std::size_t l = begin; l < end; ++l) sum += p.a[i * p.k + l] * p.b[l * p.n + j];
    return sum;
}

float element(const Problem<float>& p, std::size_t i, std::size_t j) { return products(p, i, j, 0, p.k); }

void int_accumulator(const Problem<float>& p, Output<float>& c, Stopwatch& watch) {
    multiply(p, c, watch, [](const Problem<float>& q, std::size_t i, std::size_t j) {
        int sum = 0; // program 1.6 of the book
        for (std::size_t l = 0; l < q.k; ++l)
            sum = static_cast<int>(static_cast<float>(sum) + q.a[i * q.k + l] * q.b[l * q.n + j]);
        return static_cast<float>(sum);
    });
}

/// Rows for three threads without the remainder: m mod 3 rows are left out.
void remainder_lost(const Problem<float>& p, Output<float>& c, Stopwatch& watch) {
    const std::size_t threads = 3, share = p.m / threads;
    watch.tile(threads, "m");
    const auto run = [&] {
        std::vector<std::jthread> workers;
        for (std::size_t t = 0; t < threads; ++t)
            workers.emplace_back([&, t] {
                for (std::size_t i = t * share; i < (t + 1) * share; ++i)
                    for (std::size_t j = 0; j < p.n; ++j) c[i * p.n + j] = element(p, i, j);
            });
    };
    watch.time(run, gpulab::poisoning(c));
}

/// Adds to C, which an earlier run may have left.
void not_cleared(const Problem<float>& p, Output<float>& c, Stopwatch& watch) {
    std::fill(c.begin(), c.end(), 0.0f);
    multiply(p, c, watch,
             [&](const Problem<float>& q, std::size_t i, std::size_t j) { return c[i * q.n + j] + element(q, i, j); });
}

/// Works in its first run only.
void first_run_only(const Problem<float>& p, Output<float>& c, Stopwatch& watch) {
    bool done = false;
    const auto run = [&] {
        if (done) return;
        for (std::size_t e = 0; e < p.size(); ++e) c[e] = element(p, e / p.n, e % p.n);
        done = true;
    };
    watch.time(run, gpulab::poisoning(c));
}

/// The same, and nothing is poisoned: the answer is right.
void keeps_its_answer(const Problem<float>& p, Output<float>& c, Stopwatch& watch) {
    bool done = false;
    watch.time([&] {
        if (done) return;
        for (std::size_t e = 0; e < p.size(); ++e) c[e] = element(p, e / p.n, e % p.n);
        done = true;
    });
}

/// A last tile of one product is left out, from 33 whole ones on.
void short_last_tile_lost(const Problem<float>& p, Output<float>& c, Stopwatch& watch) {
    multiply(p, c, watch, [](const Problem<float>& q, std::size_t i, std::size_t j) {
        return products(q, i, j, 0, q.k == 33 * tile + 1 ? q.k - 1 : q.k);
    });
}

/// Whole tiles in which a row of A has nothing but zeros are left out: 0 times NaN is lost.
void zeros_skipped(const Problem<float>& p, Output<float>& c, Stopwatch& watch) {
    multiply(p, c, watch, [](const Problem<float>& q, std::size_t i, std::size_t j) {
        float sum = 0;
        for (std::size_t l = 0; l < q.k; l += tile) {
            const float* const a = q.a.data() + i * q.k + l;
            const bool whole = l + tile <= q.k;
            if (whole && std::all_of(a, a + tile, [](float x) { return x == 0; })) continue;
            sum += products(q, i, j, l, std::min(l + tile, q.k));
        }
        return sum;
    });
}

/// The last tile is filled with numbers of the next row, which meet zeros.
void reads_on(const Problem<float>& p, Output<float>& c, Stopwatch& watch) {
    multiply(p, c, watch, [](const Problem<float>& q, std::size_t i, std::size_t j) {
        float sum = element(q, i, j);
        for (std::size_t l = q.k; l % tile != 0; ++l)
            if (i * q.k + l < q.a.size()) sum += q.a[i * q.k + l] * 0.0f;
        return sum;
    });
}

void denormals_flushed(const Problem<float>& p, Output<float>& c, Stopwatch& watch) {
    multiply(p, c, watch, [](const Problem<float>& q, std::size_t i, std::size_t j) {
        const float sum = element(q, i, j);
        return std::abs(sum) < std::numeric_limits<float>::min() ? 0 : sum;
    });
}

} // namespace

void cpu_right(const Problem<float>& p, Output<float>& c, Stopwatch& watch) { multiply(p, c, watch, element); }

std::span<const WrongVariant> cpu_variants() {
    static const std::array table = {
        WrongVariant{"int_accumulator", "the sum is an int", int_accumulator},
        WrongVariant{"remainder_lost", "m mod P rows left out", remainder_lost},
        WrongVariant{"not_cleared", "+= on what an earlier run left", not_cleared},
        WrongVariant{"first_run_only", "works once", first_run_only, by_shapes},
        WrongVariant{"keeps_its_answer", "works once and poisons nothing", keeps_its_answer, by_manners},
        WrongVariant{"short_last_tile_lost", "a last tile of one product is left out", short_last_tile_lost, by_tiles},
        WrongVariant{"zeros_skipped", "products with 16 zeros of A are left out", zeros_skipped, by_zeros},
        WrongVariant{"reads_on", "the last tile holds numbers of the next row", reads_on, by_edges},
        WrongVariant{"denormals_flushed", "sums below the smallest normal number are 0", denormals_flushed,
                     by_denormals},
    };
    return table;
}

} // namespace matmul::wrong
