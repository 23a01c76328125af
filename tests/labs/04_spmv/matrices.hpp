/// @file
/// The matrices that SpMV kernels are tested with: of every shape, next to the sizes at which a kernel cuts its work,
/// and with NaN and infinities.
#pragma once

#include <algorithm>
#include <bit>
#include <fmt/format.h>
#include <limits>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "as_csr.hpp"
#include "gpulab/input.hpp"
#include "gpulab/sparse/generate.hpp"
#include "gpulab_testing/testing.hpp"
#include "spmv.hpp"

namespace spmv::testing {

/// A matrix and what is special about it.
template <class T> struct Case {
    std::string name;
    gpulab::Csr<T> matrix;
};

/// Swaps the entries of each row end for end, so that columns fall instead of rise.
template <class T> gpulab::Csr<T> unsorted(gpulab::Csr<T> m) {
    for (std::size_t i = 0; i < m.rows; ++i) {
        std::reverse(m.column.begin() + m.row_start[i], m.column.begin() + m.row_start[i + 1]);
        std::reverse(m.value.begin() + m.row_start[i], m.value.begin() + m.row_start[i + 1]);
    }
    return m;
}

/// Shuffles the entries of each row.
template <class T> gpulab::Csr<T> shuffled(gpulab::Csr<T> m) {
    for (std::size_t i = 0; i < m.rows; ++i) {
        const auto begin = static_cast<std::size_t>(m.row_start[i]);
        for (std::size_t n = m.row_length(i); n > 1; --n) {
            const std::size_t other = begin + gpulab::random_bits(gpulab::testing::seed, begin + n) % n;
            std::swap(m.column[begin + n - 1], m.column[other]);
            std::swap(m.value[begin + n - 1], m.value[other]);
        }
    }
    return m;
}

/// Shuffles all entries, so that those of a row stand anywhere.
template <class T> gpulab::Coo<T> shuffled(gpulab::Coo<T> m) {
    for (std::size_t n = m.nonzeros(); n > 1; --n) {
        const std::size_t other = gpulab::random_bits(gpulab::testing::seed, n) % n;
        std::swap(m.row[n - 1], m.row[other]);
        std::swap(m.column[n - 1], m.column[other]);
        std::swap(m.value[n - 1], m.value[other]);
    }
    return m;
}

/// The same places with whole numbers for values and x, so small that every sum is exact in any order, and none of them
/// zero: what is lost, added twice or taken from elsewhere shows, however long the row. In double the elements of x
/// need more digits than a float has.
template <class T> Problem<T> whole_numbers(gpulab::Csr<T> m) {
    for (std::size_t k = 0; k < m.nonzeros(); ++k) {
        const auto bits = gpulab::random_bits(gpulab::testing::seed, k);
        m.value[k] = static_cast<T>(1 + bits % 3) * (bits >> 63 ? -1 : 1);
    }
    std::vector<T> x(m.columns);
    for (std::size_t j = 0; j < x.size(); ++j)
        x[j] = static_cast<T>(1 + gpulab::random_bits(gpulab::testing::seed + 1, j) %
                                      (sizeof(T) == 4 ? 7 : (std::uint64_t{1} << 30) - 1));
    return {std::move(m), std::move(x)};
}

/// Every third row has entries, the others none.
template <class T> gpulab::Csr<T> mostly_empty(std::size_t rows, std::size_t columns, std::size_t length) {
    const auto length_of = [=](std::size_t i) { return i % 3 == 1 ? std::min(length, columns) : 0; };
    return gpulab::random_rows<T>(rows, columns, length_of, gpulab::testing::seed);
}

/// One full row in the middle, a diagonal elsewhere.
template <class T> gpulab::Csr<T> one_dense_row(std::size_t n) {
    const auto length_of = [=](std::size_t i) { return i == n / 2 ? n : std::size_t{1}; };
    return gpulab::random_rows<T>(n, n, length_of, gpulab::testing::seed);
}

/// One full column: every row has an entry in column 0, and one elsewhere if there is room.
template <class T> gpulab::Csr<T> one_dense_column(std::size_t n) {
    return csr_of<T>(n, n, [&](const auto& put) {
        for (std::size_t i = 0; i < n; ++i) {
            put(i, 0, gpulab::random_unit<T>(1, i));
            if (i > 0) put(i, i, -gpulab::random_unit<T>(2, i));
        }
    });
}

/// Row i has entries in columns i and i + 1, the last one in column 0 instead: three diagonals, of which one holds a
/// single entry.
template <class T> gpulab::Csr<T> ring(std::size_t n) {
    std::size_t k = 0;
    return csr_of<T>(n, n, [&](const auto& put) {
        for (std::size_t i = 0; i < n; ++i)
            for (const std::size_t j : {i, (i + 1) % n}) put(i, j, gpulab::random_unit<T>(3, k++));
    });
}

/// rows x columns without a single entry.
template <class T> gpulab::Csr<T> nothing(std::size_t rows, std::size_t columns) {
    return {rows, columns, std::vector<std::int64_t>(rows + 1), {}, {}};
}

/// Rows of any length, with random entries, as a case.
template <class T, class LengthOf>
Case<T> with_lengths(std::string name, std::size_t rows, std::size_t columns, const LengthOf& length_of,
                     std::uint64_t salt = 0) {
    return {std::move(name), gpulab::random_rows<T>(rows, columns, length_of, gpulab::testing::seed + salt)};
}

/// Matrices of all shapes, small enough for oclgrind.
template <class T> std::vector<Case<T>> small_cases() {
    using namespace gpulab;
    const std::uint64_t seed = gpulab::testing::seed;
    const auto same = [](std::size_t length) { return [=](std::size_t) { return length; }; };
    std::vector<Case<T>> cases = {
        {"lecture", lecture_example<T>()},
        {"0 x 0", nothing<T>(0, 0)},
        {"0 x 5", nothing<T>(0, 5)},
        {"5 x 0", nothing<T>(5, 0)},
        {"300 empty rows", nothing<T>(300, 7)},
        {"1 x 1", banded<T>(1, 0, seed)},
        with_lengths<T>("1 x 300", 1, 300, same(300)),
        with_lengths<T>("300 x 1", 300, 1, same(1)),
        {"two rows of three empty", mostly_empty<T>(257, 100, 5)},
        {"one dense row", one_dense_row<T>(129)},
        {"one dense column", one_dense_column<T>(129)},
        {"unsorted columns", unsorted(banded<T>(65, 9, seed))},
        {"shuffled columns", shuffled(banded<T>(65, 20, seed))},
    };
    for (const std::size_t length : {1, 2, 3, 4, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65})
        cases.push_back(with_lengths<T>(fmt::format("rows of {}", length), 37, 80, same(length), length));
    return cases;
}

/// A few that reach every loop of the kernels, for tools a thousand times slower than a device: rows for each number of
/// lanes, each with a ragged block.
template <class T> std::vector<Case<T>> tiny_cases() {
    constexpr std::size_t group = 128; // threads of a block or group, one or more for each row
    std::vector<Case<T>> cases = {{"lecture", gpulab::lecture_example<T>()},
                                  {"two rows of three empty", mostly_empty<T>(2 * group + 3, 100, 5)},
                                  {"a ring", ring<T>(2 * group + 3)}};
    for (const std::size_t length : {2, 5, 9, 17, 34, 65}) {
        const std::size_t rows_of_group = group / std::bit_floor(std::min<std::size_t>(length, 32));
        cases.push_back(with_lengths<T>(fmt::format("rows of {}", length), 2 * rows_of_group + 1, 80,
                                        [=](std::size_t) { return length; }));
    }
    return cases;
}

/// The same as small_cases() and larger ones, whose rows and non-zeros straddle warps, blocks and tiles.
template <class T> std::vector<Case<T>> all_cases() {
    using namespace gpulab;
    const std::uint64_t seed = gpulab::testing::seed;
    std::vector<Case<T>> cases = small_cases<T>();
    for (const std::size_t n : {31, 32, 33, 127, 128, 129, 255, 256, 257, 1023, 1024, 1025})
        cases.push_back(with_lengths<T>(
            fmt::format("{} rows of 0 to 9", n), n, 1000, [=](std::size_t i) { return random_bits(n, i) % 10; }, n));
    // Non-zeros around the tiles of cuda_row_blocks (512 and 1536) and, with the rows, of cuda_merge_path (1248).
    for (const std::size_t n : {511, 512, 513, 623, 624, 625, 1279, 1280, 1281, 1535, 1536, 1537, 4095, 4096, 4097})
        cases.push_back({fmt::format("{} x {}, one per row", n, n), banded<T>(n, 0, seed + n)});
    for (const std::size_t n : {505, 511, 512, 513, 1265, 1275, 1280, 1525, 1536, 1537, 6144})
        cases.push_back(with_lengths<T>(
            fmt::format("one row of {} between short ones", n), 5, n, [=](std::size_t i) { return i == 2 ? n : i; },
            n));
    // Wider than the part of x that a multiprocessor's shared memory holds (65536 of them are what
    // a chunk of cuda_bins can span), in several pieces.
    for (const std::size_t columns : {24576, 24577, 49153, 200003})
        cases.push_back(with_lengths<T>(
            fmt::format("100 rows of {} columns", columns), 100, columns, [](std::size_t i) { return 50 + 13 * i; },
            columns));
    const std::vector<Case<T>> others = {
        with_lengths<T>("long rows, one after the other", 4, 10007, [](std::size_t i) { return 10007 - 97 * i; }),
        with_lengths<T>("10007 empty rows, one entry, 10007 empty rows", 20015, 11,
                        [](std::size_t i) { return std::size_t{i == 10007}; }),
        with_lengths<T>("9001 rows of at most 2", 9001, 50000, [](std::size_t i) { return i % 3; }),
        // More rows and columns than 16 or 19 bits count, and than a grid of few blocks has threads.
        with_lengths<T>("530007 rows of at most 4", 530007, 530007, [](std::size_t i) { return i % 5; }),
        {"one dense row of 20011", one_dense_row<T>(20011)},
        {"one dense column of 20011", one_dense_column<T>(20011)},
        {"laplace2d:101x67", laplace_2d<T>(101, 67)},
        {"laplace3d:17x13x11", laplace_3d<T>(17, 13, 11)},
        {"power law", power_law_rows<T>(20011, 20011, 12, 2.1, seed)},
        {"shuffled power law", shuffled(power_law_rows<T>(5003, 9001, 20, 2.1, seed))},
        {"unsorted power law", unsorted(power_law_rows<T>(5003, 9001, 20, 2.3, seed))},
    };
    cases.insert(cases.end(), others.begin(), others.end());
    return cases;
}

/// Five rows of three entries each, or of `entries`, `distance` columns from one to the next.
template <class T> gpulab::Csr<T> far_apart(std::size_t distance, std::size_t entries = 3) {
    constexpr std::size_t rows = 5;
    std::size_t k = 0;
    return csr_of<T>(rows, (entries - 1) * distance + 3 * rows, [&](const auto& put) {
        for (std::size_t i = 0; i < rows; ++i)
            for (std::size_t n = 0; n < entries; ++n)
                put(i, 3 * i + n * distance, gpulab::random_unit<T>(distance, k++));
    });
}

/// Columns as far apart as 15, 16 and 17 bits count, and one less and one more.
template <class T> std::vector<Case<T>> far_apart_cases() {
    std::vector<Case<T>> cases;
    for (const std::size_t distance : {32767, 32768, 32769, 65535, 65536, 65537, 131071, 131072, 131073})
        cases.push_back({fmt::format("columns {} apart", distance), far_apart<T>(distance)});
    return cases;
}

/// A matrix that grows row by row. Its entries are random and leave out the first four columns, which special_cases()
/// needs.
template <class T> struct Rows {
    Rows() { matrix.columns = 1013; }

    /// @return where the row's first entry stands
    std::size_t add(std::size_t length) {
        const std::size_t first = matrix.column.size();
        for (std::size_t n = 0; n < length; ++n) {
            matrix.value.push_back(gpulab::random_unit<T>(gpulab::testing::seed, first + n));
            matrix.column.push_back(static_cast<std::int32_t>(4 + (11 * matrix.rows + n) % (matrix.columns - 4)));
        }
        ++matrix.rows;
        matrix.row_start.push_back(static_cast<std::int64_t>(matrix.column.size()));
        return first;
    }

    gpulab::Csr<T> matrix;
};

/// Matrices of a size that stands next to a tile.
/// @param of what the tile counts: "rows", "nnz", "items" (rows and non-zeros together), "row length", or "columns"
///        from the first entry to the last; for "sums" there are none, only a large test has that many
/// @param mean row length, at least 1, where the size leaves a choice
template <class T> std::vector<Case<T>> cases_of_size(std::string_view of, std::size_t size, std::size_t mean) {
    const auto near_mean = [mean](std::size_t i) { return mean - 1 + i % 3; };
    std::vector<Case<T>> cases;
    const auto add = [&](const std::string& shape, const Rows<T>& rows) {
        cases.push_back({fmt::format("{} {}: {}", size, of, shape), rows.matrix});
    };
    Rows<T> same, one, several;
    if (of == "rows") {
        for (std::size_t i = 0; i < size; ++i) several.add(near_mean(i));
        for (std::size_t i = 0; i < size; ++i) one.add(i + 1 == size ? mean : 0);
        add(fmt::format("of about {}", mean), several);
        add("empty but the last", one);
        // Random columns are on too many diagonals for DIA.
        cases.push_back({fmt::format("{} {}: a band", size, of), gpulab::banded<T>(size, 1, gpulab::testing::seed)});
        cases.push_back({fmt::format("{} {}: a ring", size, of), ring<T>(size)});
    } else if (of == "nnz") {
        for (std::size_t i = 0; i < size; ++i) same.add(1);
        one.add(size);
        several.add(0);
        for (std::size_t left = size; left > 0;) {
            const std::size_t length = std::min(left, several.matrix.rows % 5 ? near_mean(several.matrix.rows) : 0);
            several.add(length);
            left -= length;
        }
        several.add(0);
        add("one per row", same);
        add("in one row", one);
        add("in long and empty rows", several);
    } else if (of == "items") {
        for (std::size_t i = 0; i < size; ++i) same.add(0);
        if (size > 0) one.add(size - 1);
        for (std::size_t left = size; left > 0;) {
            const std::size_t length = std::min(left - 1, several.matrix.rows % 5 ? near_mean(several.matrix.rows) : 0);
            several.add(length);
            left -= length + 1;
        }
        add("empty rows", same);
        add("one row", one);
        add("long and empty rows", several);
    } else if (of == "row length") {
        one.add(size);
        for (int i = 0; i < 7; ++i) same.add(size);
        for (std::size_t i = 0; i < 200; ++i) several.add(i == 100 ? size : near_mean(i));
        add("a single row", one);
        add("seven rows", same);
        add(fmt::format("among rows of about {}", mean), several);
    } else if (of == "columns" && size > 0) {
        cases.push_back({fmt::format("entries {} columns apart", size), far_apart<T>(size)});
    }
    return cases;
}

/// A row at the edge of a tile.
struct EdgeRow {
    std::size_t first;  ///< where its first entry stands
    std::size_t length; ///< its entries
    std::size_t before; ///< number of them before the edge
};

/// Fills up with short rows until an edge is `before` entries away, then adds a row. Every second time there are empty
/// rows on both sides of it.
/// @param items a tile counts rows and non-zeros together, not non-zeros alone
template <class T>
EdgeRow add_at_edge(Rows<T>& rows, std::size_t tile, bool items, std::size_t length, std::size_t before) {
    const auto to_edge = [&] {
        const std::size_t done = rows.matrix.nonzeros() + (items ? rows.matrix.rows : 0);
        return (tile - (done + before) % tile) % tile;
    };
    const bool between_empty = rows.matrix.rows % 2 == 0;
    if (!items && between_empty) rows.add(0);
    while (to_edge() > 0) {
        const std::size_t longest = std::min<std::size_t>(to_edge() - (items ? 1 : 0), 6);
        rows.add(items && rows.matrix.rows % 2 ? 0 : longest);
    }
    if (!items && between_empty) rows.add(0);
    const std::size_t first = rows.add(length);
    if (between_empty) rows.add(0);
    return {first, length, before};
}

/// Rows that begin, end and lie at every place of a tile's edge: exactly at it, one entry to either side, across one
/// edge and across several.
/// @param items see add_at_edge()
template <class T> Case<T> rows_at_edges(std::size_t tile, bool items) {
    Rows<T> rows;
    for (const std::size_t length : std::set<std::size_t>{0, 1, 2, 5, tile - 1, tile, tile + 1, 2 * tile, 2 * tile + 3})
        for (const std::size_t before : std::set<std::size_t>{0, 1, 2, length / 2, length - 1, length, length + 1})
            if (before <= length + (items ? 1 : 0)) add_at_edge(rows, tile, items, length, before);
    return {fmt::format("rows at the edges of {} {}", tile, items ? "items" : "nnz"), std::move(rows.matrix)};
}

/// A matrix with NaN and infinities, and the answer.
template <class T> struct Special {
    std::string name;
    Problem<T> problem;
    Output<T> y;
};

/// How an entry is made special.
enum class Mark { nan_value, nan_x, infinite_value, minus_infinite_x, infinite_both_ways, zero_times_infinity, none };
inline constexpr std::size_t marks = 7;

/// y = A x, row by row.
template <class T> Output<T> product(const Problem<T>& p) {
    Output<T> y(p.matrix.rows);
    for (std::size_t i = 0; i < y.size(); ++i)
        for (std::int64_t k = p.matrix.row_start[i]; k < p.matrix.row_start[i + 1]; ++k) {
            const auto entry = static_cast<std::size_t>(k);
            y[i] += p.matrix.value[entry] * p.x[static_cast<std::size_t>(p.matrix.column[entry])];
        }
    return y;
}

/// Gives a matrix made with Rows whole numbers, marks entries, and works out the answer. All that is finite is exact,
/// and NaN and infinity come out the same in any order.
/// @param mark `mark(problem)`: calls mark_entry() for the entries to mark
template <class T, class MarkAll> Special<T> special_case(std::string name, gpulab::Csr<T> m, const MarkAll& mark_all) {
    constexpr T inf = std::numeric_limits<T>::infinity(), nan = std::numeric_limits<T>::quiet_NaN();
    Special<T> s{std::move(name), whole_numbers(std::move(m)), {}};
    for (T& x : s.problem.x) x = std::fmod(x, T{8}) + 1;
    s.problem.x[0] = 1;
    s.problem.x[1] = nan;
    s.problem.x[2] = inf;
    s.problem.x[3] = -inf;
    mark_all(s.problem);
    s.y = product(s.problem);
    return s;
}

/// The same with the elements of x that are not finite replaced by whole numbers, for formats that multiply padding.
template <class T> Special<T> with_finite_x(Special<T> s) {
    for (std::size_t j = 0; j < s.problem.x.size(); ++j)
        if (!std::isfinite(s.problem.x[j])) s.problem.x[j] = static_cast<T>(j + 2);
    s.y = product(s.problem);
    return s;
}

/// Marks entry k of a problem made by special_case(); for infinite_both_ways entry `other` gets the other sign.
template <class T> void mark_entry(Problem<T>& p, Mark mark, std::size_t k, std::size_t other) {
    constexpr T inf = std::numeric_limits<T>::infinity(), nan = std::numeric_limits<T>::quiet_NaN();
    gpulab::Csr<T>& a = p.matrix;
    if (mark == Mark::nan_value) a.value[k] = nan;
    if (mark == Mark::nan_x) a.column[k] = 1;
    if (mark == Mark::infinite_value) a.value[k] = inf;
    if (mark == Mark::minus_infinite_x) {
        a.column[k] = 3;
        a.value[k] = 2;
    }
    if (mark == Mark::infinite_both_ways) {
        a.value[other] = -inf;
        a.value[k] = inf;
    }
    if (mark == Mark::zero_times_infinity) {
        a.column[k] = 2;
        a.value[k] = 0;
    }
}

/// Rows of about the mean length: each way of marking at every place of a row.
template <class T> Special<T> special_rows(std::size_t mean) {
    Rows<T> rows;
    for (std::size_t i = 0; i < marks * (mean + 1); ++i) rows.add(i % 11 == 0 ? 0 : mean + i % 2);
    return special_case(fmt::format("rows of about {}", mean), std::move(rows.matrix), [&](Problem<T>& p) {
        for (std::size_t i = 0; i < p.matrix.rows; ++i) {
            const std::size_t length = p.matrix.row_length(i), place = i / marks;
            const auto first = static_cast<std::size_t>(p.matrix.row_start[i]);
            if (place < length) mark_entry(p, static_cast<Mark>(i % marks), first + place, first + length - 1 - place);
        }
    });
}

/// Rows across the edges of a tile, marked at every place that can matter: at the row's ends and on both sides of each
/// edge. @param items see add_at_edge()
template <class T> Special<T> special_at_edges(std::size_t tile, bool items) {
    struct Marked {
        EdgeRow row;
        std::size_t place;
        Mark mark;
    };
    Rows<T> rows;
    std::vector<Marked> marked;
    const auto add = [&](std::size_t length, std::size_t before, const std::set<std::size_t>& places) {
        for (const std::size_t place : places)
            for (std::size_t mark = 0; place < length && mark < marks; ++mark)
                marked.push_back({add_at_edge(rows, tile, items, length, before), place, static_cast<Mark>(mark)});
    };
    for (std::size_t before = 0; before <= (items ? 6 : 5); ++before) add(5, before, {0, 1, 2, 3, 4});
    for (const std::size_t length : {tile + 1, 2 * tile + 3})
        for (const std::size_t before : {std::size_t{1}, tile / 2 + 1})
            add(length, before, {0, before - 1, before, before + tile - 1, before + tile, length - 1});
    return special_case(fmt::format("rows at the edges of {} {}", tile, items ? "items" : "nnz"),
                        std::move(rows.matrix), [&](Problem<T>& p) {
                            for (const Marked& m : marked) { // infinities of both signs: one on each side of the edge
                                const std::size_t other = m.place < m.row.before ? m.row.length - 1 : 0;
                                mark_entry(p, m.mark, m.row.first + m.place, m.row.first + other);
                            }
                        });
}

/// Single long rows next to a length at which a row is cut, marked at every place that can matter.
template <class T> Special<T> special_long_rows(std::size_t tile) {
    Rows<T> rows;
    std::vector<std::pair<std::size_t, Mark>> marked;
    std::vector<std::size_t> others;
    for (const std::size_t length : {tile - 1, tile, tile + 1, 2 * tile, 2 * tile + 1})
        for (const std::size_t place : std::set<std::size_t>{0, 1, tile / 2, tile - 1, tile, length - 1})
            for (std::size_t mark = 0; place < length && mark < marks; ++mark) {
                const std::size_t first = rows.add(length);
                marked.emplace_back(first + place, static_cast<Mark>(mark));
                others.push_back(first + length - 1 - place);
            }
    return special_case(fmt::format("rows of about {} and {}", tile, 2 * tile), std::move(rows.matrix),
                        [&](Problem<T>& p) {
                            for (std::size_t n = 0; n < marked.size(); ++n)
                                mark_entry(p, marked[n].second, marked[n].first, others[n]);
                        });
}

} // namespace spmv::testing
