// CPU variants with one mistake each. The right ones are in labs/04_spmv/cpu.
#include <algorithm>
#include <array>
#include <thread>
#include <vector>

#include "gpulab/poisoning.hpp"
#include "gpulab/sparse/convert.hpp"
#include "wrong_spmv.hpp"

namespace spmv::wrong {

namespace {

/// The product of entry k.
float term(const Problem<float>& p, std::size_t k) {
    return p.matrix.value[k] * p.x[static_cast<std::size_t>(p.matrix.column[k])];
}
std::size_t begin_of(const Problem<float>& p, std::size_t i) { return static_cast<std::size_t>(p.matrix.row_start[i]); }

/// @param sum `sum(k_begin, k_end)`: of a row's entries
template <class Sum> void each_row(const Problem<float>& p, Output<float>& y, Stopwatch& watch, const Sum& sum) {
    const auto run = [&] {
        for (std::size_t i = 0; i < y.size(); ++i) y[i] = sum(begin_of(p, i), begin_of(p, i + 1));
    };
    watch.time(run, gpulab::poisoning(y));
}

/// The second run relies on what the first has left behind.
void first_run_only(const Problem<float>& p, Output<float>& y, Stopwatch& watch) {
    bool done = false;
    const auto run = [&] {
        for (std::size_t i = 0; !done && i < y.size(); ++i) {
            y[i] = 0;
            for (std::size_t k = begin_of(p, i); k < begin_of(p, i + 1); ++k) y[i] += term(p, k);
        }
        done = true;
    };
    watch.time(run, gpulab::poisoning(y));
}

/// The same, and nothing poisons y: the answer is right.
void first_run_only_without_poison(const Problem<float>& p, Output<float>& y, Stopwatch& watch) {
    bool done = false;
    watch.time([&] {
        for (std::size_t i = 0; !done && i < y.size(); ++i) {
            y[i] = 0;
            for (std::size_t k = begin_of(p, i); k < begin_of(p, i + 1); ++k) y[i] += term(p, k);
        }
        done = true;
    });
}

/// COO without clearing y: each run adds to the one before.
void not_cleared(const Problem<float>& p, Output<float>& y, Stopwatch& watch) {
    const gpulab::Coo<float> a = gpulab::to_coo(p.matrix);
    std::fill(y.begin(), y.end(), 0.0f); // once, instead of in every run
    const auto run = [&] {
        for (std::size_t k = 0; k < a.nonzeros(); ++k) y[static_cast<std::size_t>(a.row[k])] += term(p, k);
    };
    watch.time(run, gpulab::poisoning(y));
}

/// Equal runs of rows for three threads, without the remainder.
void remainder_lost(const Problem<float>& p, Output<float>& y, Stopwatch& watch) {
    const std::size_t threads = 3, share = y.size() / threads;
    const auto run = [&] {
        std::vector<std::jthread> workers;
        for (std::size_t t = 0; t < threads; ++t)
            workers.emplace_back([&, t] {
                for (std::size_t i = t * share; i < (t + 1) * share; ++i) {
                    float sum = 0;
                    for (std::size_t k = begin_of(p, i); k < begin_of(p, i + 1); ++k) sum += term(p, k);
                    y[i] = sum;
                }
            });
    };
    watch.time(run, gpulab::poisoning(y));
}

/// A last tile of one row gets no worker.
void last_tile_of_one_row_lost(const Problem<float>& p, Output<float>& y, Stopwatch& watch) {
    constexpr std::size_t tile = 96;
    watch.tile(tile, "rows");
    const std::size_t tiles = y.size() <= 1 ? 1 : (y.size() - 2) / tile + 1;
    const auto run = [&] {
        for (std::size_t i = 0; i < std::min(tiles * tile, y.size()); ++i) {
            float sum = 0;
            for (std::size_t k = begin_of(p, i); k < begin_of(p, i + 1); ++k) sum += term(p, k);
            y[i] = sum;
        }
    };
    watch.time(run, gpulab::poisoning(y));
}

/// A last tile of one entry gets no worker.
void last_tile_of_one_entry_lost(const Problem<float>& p, Output<float>& y, Stopwatch& watch) {
    constexpr std::size_t tile = 84;
    watch.tile(tile, "nnz");
    const std::size_t tiles = p.matrix.nonzeros() <= 1 ? 1 : (p.matrix.nonzeros() - 2) / tile + 1;
    each_row(p, y, watch, [&](std::size_t k, std::size_t end) {
        float sum = 0;
        for (; k < std::min(end, tiles * tile); ++k) sum += term(p, k);
        return sum;
    });
}

/// A row that begins exactly at a tile's edge and fills the tile: its first entry is taken for the row's before.
void full_tile_at_edge(const Problem<float>& p, Output<float>& y, Stopwatch& watch) {
    constexpr std::size_t tile = 2999;
    watch.tile(tile, "nnz");
    each_row(p, y, watch, [&](std::size_t k, std::size_t end) {
        if (k > 0 && k % tile == 0 && end - k > tile) ++k;
        float sum = 0;
        for (; k < end; ++k) sum += term(p, k);
        return sum;
    });
}

/// Each tile adds up its part of a row; a part that is carried on to the row's end is left out when it is NaN.
void nan_left_over_lost(const Problem<float>& p, Output<float>& y, Stopwatch& watch) {
    constexpr std::size_t tile = 64;
    watch.tile(tile, "nnz");
    each_row(p, y, watch, [&](std::size_t k, std::size_t end) {
        float sum = 0;
        while (k < end) {
            float part = 0;
            const std::size_t edge = std::min(end, (k / tile + 1) * tile);
            for (; k < edge; ++k) part += term(p, k);
            if (k == end || part > 0 || part < 0) sum += part;
        }
        return sum;
    });
}

/// A stored 0 is passed over, also where it meets infinity.
void zeros_skipped(const Problem<float>& p, Output<float>& y, Stopwatch& watch) {
    each_row(p, y, watch, [&](std::size_t k, std::size_t end) {
        float sum = 0;
        for (; k < end; ++k)
            if (p.matrix.value[k] != 0) sum += term(p, k);
        return sum;
    });
}

/// ELL whose padding has column 0 instead of none: 0 times x[0] is added.
void padding_multiplied(const Problem<float>& p, Output<float>& y, Stopwatch& watch) {
    const gpulab::Ell<float> a = gpulab::to_ell(p.matrix);
    const auto run = [&] {
        std::fill(y.begin(), y.end(), 0.0f);
        for (std::size_t s = 0; s < a.width; ++s)
            for (std::size_t i = 0; i < a.rows; ++i)
                y[i] += a.value[s * a.rows + i] * p.x[static_cast<std::size_t>(std::max(a.column[s * a.rows + i], 0))];
    };
    watch.time(run, gpulab::poisoning(y));
}

/// Columns counted in 16 bits from the row's first; one too many is let through and becomes 0.
void columns_in_16_bits(const Problem<float>& p, Output<float>& y, Stopwatch& watch) {
    each_row(p, y, watch, [&](std::size_t k, std::size_t end) {
        float sum = 0;
        for (const std::size_t first = k; k < end; ++k) {
            const std::int32_t distance = p.matrix.column[k] - p.matrix.column[first];
            sum += distance == 0x10000 ? p.matrix.value[k] * p.x[static_cast<std::size_t>(p.matrix.column[first])]
                                       : term(p, k);
        }
        return sum;
    });
}

/// Products rounded to whole numbers on the way.
void truncates(const Problem<float>& p, Output<float>& y, Stopwatch& watch) {
    each_row(p, y, watch, [&](std::size_t k, std::size_t end) {
        float sum = 0;
        for (; k < end; ++k) sum += static_cast<float>(static_cast<int>(term(p, k)));
        return sum;
    });
}

} // namespace

void cpu_right(const Problem<float>& p, Output<float>& y, Stopwatch& watch) {
    each_row(p, y, watch, [&](std::size_t k, std::size_t end) {
        float sum = 0;
        for (; k < end; ++k) sum += term(p, k);
        return sum;
    });
}

std::span<const WrongVariant<Run<float>>> cpu_variants() {
    using V = WrongVariant<Run<float>>;
    static const std::array table = {
        V{"first_run_only", "works in its first run only", first_run_only},
        V{"first_run_only_without_poison", "the same, and the answer stands", first_run_only_without_poison, "manners"},
        V{"not_cleared", "y += without clearing y", not_cleared},
        V{"remainder_lost", "n mod P rows left out", remainder_lost},
        V{"last_tile_of_one_row_lost", "m tile + 1 rows lose the last", last_tile_of_one_row_lost,
          "sizes next to its tiles"},
        V{"last_tile_of_one_entry_lost", "m tile + 1 entries lose the last", last_tile_of_one_entry_lost,
          "sizes next to its tiles"},
        V{"full_tile_at_edge", "a row that begins at a tile's edge and fills the tile", full_tile_at_edge,
          "rows at its tiles' edges"},
        V{"nan_left_over_lost", "a part of a row that is NaN is not carried on", nan_left_over_lost,
          "NaN and infinities"},
        V{"zeros_skipped", "0 times infinity left out", zeros_skipped, "NaN and infinities"},
        V{"padding_multiplied", "ELL padding times x[0]", padding_multiplied, "NaN and infinities"},
        V{"columns_in_16_bits", "a distance of 65536 taken for 0", columns_in_16_bits, "columns far apart"},
        V{"truncates", "an int on the way", truncates},
    };
    return table;
}

} // namespace spmv::wrong
