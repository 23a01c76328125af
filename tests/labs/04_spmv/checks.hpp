/// @file
/// The checks that every SpMV variant goes through.
#pragma once

#include <algorithm>
#include <fmt/format.h>
#include <limits>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "gpulab/error.hpp"
#include "gpulab/sparse/convert.hpp"
#include "gpulab_testing/steps.hpp"
#include "matrices.hpp"
#include "spmv.hpp"

namespace spmv::testing {

using namespace gpulab::testing;

/// Runs a variant on every matrix, on the current device: with random numbers, and with whole ones, whose sums must be
/// exact. A format may refuse a matrix (Unsupported).
/// @param random_too false: whole numbers only, for tools that take long
/// @return the first fault, with the matrix it was found at; "" when all answers are right
template <class T> std::string first_fault(Run<T>* run, const std::vector<Case<T>>& cases, bool random_too = true) {
    std::size_t done = 0;
    for (const Case<T>& c : cases) {
        try {
            for (const bool whole : {false, true}) {
                if (!whole && !random_too) continue;
                const Problem<T> p = whole ? whole_numbers(c.matrix) : make_problem(c.matrix, seed);
                const Reference<T> reference = make_reference(p);
                Output<T> y(p.matrix.rows);
                const std::string fault = fault_of(
                    run, p, y, [&] { return whole ? gpulab::compare(reference.y, y, 0.0) : compare(reference, y); });
                if (!fault.empty()) return c.name + (whole ? ", whole numbers: " : ": ") + fault;
            }
            ++done;
        } catch (const gpulab::Unsupported&) {
        }
    }
    return 4 * done >= 3 * cases.size()
               ? ""
               : fmt::format("{} of {} matrices were refused", cases.size() - done, cases.size());
}

/// The lecture's matrix times (1, 2, 3, 4): (8, 22, 5), exact in every arithmetic.
template <class T> std::string fault_by_hand(Run<T>* run) {
    const Problem<T> p{gpulab::lecture_example<T>(), {1, 2, 3, 4}};
    Output<T> y(3);
    return fault_of(run, p, y, [&] { return gpulab::compare(Output<T>{8, 22, 5}, y, 0.0); });
}

/// Small matrices with NaN and infinities whose answers are written down: not in rows beside, not where a format or a
/// warp fills up with padding, and a stored 0 times infinity is NaN. Entries at the same place add up.
template <class T> std::vector<Special<T>> specials_by_hand() {
    constexpr T inf = std::numeric_limits<T>::infinity(), nan = std::numeric_limits<T>::quiet_NaN();
    // 1 2 3 | . 4 . | . . . | . . 5 | (stored 0) . . | . 6 7
    const gpulab::Csr<T> m{6, 3, {0, 3, 4, 4, 5, 6, 8}, {0, 1, 2, 1, 2, 0, 1, 2}, {1, 2, 3, 4, 5, 0, 6, 7}};
    const gpulab::Csr<T> infinite{6, 3, m.row_start, m.column, {1, 2, 3, 4, 5, 0, 6, inf}};
    const gpulab::Csr<T> twice{2, 3, {0, 3, 4}, {1, 1, 1, 0}, {1, 2, 4, 8}};
    return {
        {"x = (inf, 1, 1)", {m, {inf, 1, 1}}, {inf, 4, 0, 5, nan, 13}},
        {"x = (1, 1, inf)", {m, {1, 1, inf}}, {inf, 4, 0, inf, 0, inf}},
        {"x = (nan, 1, 1)", {m, {nan, 1, 1}}, {nan, 4, 0, 5, nan, 13}},
        {"x = (1, -inf, 1)", {m, {1, -inf, 1}}, {-inf, -inf, 0, 5, 0, -inf}},
        {"an infinite entry times 0", {infinite, {1, 1, 0}}, {3, 4, 0, 0, 0, nan}},
        {"entries at one place", {twice, {1, 1, 1}}, {7, 8}},
    };
}

/// Runs a variant on problems with NaN and infinities: they must come through where an entry meets them, and nowhere
/// else. A format may refuse a matrix (Unsupported).
/// @return the first fault, with the matrix it was found at, or ""
template <class T> std::string special_fault(Run<T>* run, const std::vector<Special<T>>& specials) {
    for (const Special<T>& s : specials) {
        try {
            Output<T> y(s.y.size());
            const std::string fault = fault_of(run, s.problem, y, [&] {
                gpulab::Comparison comparison;
                comparison.message = gpulab::testing::special_fault(s.y, y);
                comparison.passed = comparison.message.empty();
                return comparison;
            });
            if (!fault.empty()) return s.name + ": " + fault;
        } catch (const gpulab::Unsupported&) {
        }
    }
    return "";
}

/// Runs a product of COO matrices on every matrix with its entries shuffled: whole numbers, so the sums must be exact.
template <class T> std::string first_coo_fault(RunCoo<T>* run, const std::vector<Case<T>>& cases) {
    for (const Case<T>& c : cases) {
        const Problem<T> p = whole_numbers(c.matrix);
        const gpulab::Coo<T> coo = shuffled(gpulab::to_coo(p.matrix));
        const Reference<T> reference = make_reference(p);
        Output<T> y(p.matrix.rows);
        const auto multiply = [&](const gpulab::Coo<T>& a, Output<T>& out, Stopwatch& watch) {
            in_turn([&] { run(a, p.x, out, watch); });
        };
        const std::string fault = fault_of(multiply, coo, y, [&] { return gpulab::compare(reference.y, y, 0.0); });
        if (!fault.empty()) return c.name + ", shuffled: " + fault;
    }
    return "";
}

/// How far the checks of a variant go.
template <class T> struct Extent {
    std::vector<Case<T>> cases;
    std::vector<std::size_t> means; ///< mean row lengths: some variants choose their tiles by it
    std::size_t largest;            ///< size next to a tile; see sizes_next_to()
};

/// A tile belongs to the mean row length that it was named at.
struct TileAt {
    gpulab::Tile tile;
    std::size_t mean;
};

/// Runs a variant once for each mean row length.
/// @param tiles becomes the tiles that it names; one that it names for several means stands there several times only
///        when it counts rows or their lengths
/// @return what it should have done beside its answer, or ""
template <class T>
std::string contract_violation(const gpulab::Variant<Run<T>>& v, const std::vector<std::size_t>& means,
                               std::vector<TileAt>& tiles) {
    for (const std::size_t mean : means) {
        const Problem<T> p = whole_numbers(cases_of_size<T>("rows", 300, mean).front().matrix);
        Output<T> y(p.matrix.rows);
        Stopwatch once;
        if (std::string stray = stray_write(v.run, p, y, once); !stray.empty()) return stray;
        for (const gpulab::Tile& tile : once.tiles()) {
            const bool by_row = tile.of == "rows" || tile.of == "row length";
            const bool known = std::any_of(tiles.begin(), tiles.end(), [&](const TileAt& t) {
                return !by_row && t.tile.size == tile.size && t.tile.of == tile.of;
            });
            if (!known) tiles.push_back({tile, mean});
        }
        const std::string fault = gpulab::testing::contract_violation(
            v.backend, v.baseline, once, {"rows", "nnz", "items", "row length", "columns", "sums"});
        if (!fault.empty()) return fault;
        const std::string reset = reset_fault([&](Output<T>& o, Stopwatch& watch) { v.run(p, o, watch); }, y);
        if (!reset.empty()) return reset;
    }
    return "";
}

/// Matrices of m tile - 1, m tile and m tile + 1 for every tile, made one size at a time.
template <class T> std::string fault_next_to(Run<T>* run, const std::vector<TileAt>& tiles, std::size_t largest) {
    return first_in(tiles, [&](const TileAt& at) {
        const auto& [tile, mean] = at;
        return first_in(sizes_next_to({tile}, largest, tile.of), [&, of = tile.of, mean = mean](std::size_t size) {
            return first_fault(run, cases_of_size<T>(of, size, mean));
        });
    });
}

/// The tiles at whose edges rows can lie: of non-zeros or of rows and non-zeros, and not too large for many edges.
inline std::vector<gpulab::Tile> tiles_with_edges(const std::vector<TileAt>& tiles) {
    std::vector<gpulab::Tile> with_edges;
    for (const auto& [tile, mean] : tiles)
        if ((tile.of == "nnz" || tile.of == "items") && tile.size <= 4096) with_edges.push_back(tile);
    return with_edges;
}

/// Whether a variant's format multiplies padding, so that it must refuse an infinite x.
inline bool multiplies_padding(std::string_view variant) {
    return variant.ends_with("_dia") || variant.ends_with("_bcsr");
}

/// All that every variant must do, on the current device.
template <class T> void check_variant(const gpulab::Variant<Run<T>>& v, Faults& faults, const Extent<T>& extent) {
    std::vector<TileAt> tiles;
    faults.check("the lecture's matrix by hand", [&] { return fault_by_hand<T>(v.run); });
    faults.check("matrices of every shape", [&] { return first_fault<T>(v.run, extent.cases); });
    faults.check("contract", [&] { return contract_violation(v, extent.means, tiles); });
    faults.check("sizes next to its tiles", [&] { return fault_next_to<T>(v.run, tiles, extent.largest); });
    faults.check("rows at its tiles' edges", [&] {
        return first_in(tiles_with_edges(tiles), [&](const gpulab::Tile& tile) {
            return first_fault<T>(v.run, {rows_at_edges<T>(tile.size, tile.of == "items")});
        });
    });
    faults.check("columns far apart", [&] { return first_fault<T>(v.run, far_apart_cases<T>()); });
    if (v.baseline) return; // a library may do as it likes with NaN and infinity
    faults.check("NaN and infinities", [&] {
        std::vector<Special<T>> specials = specials_by_hand<T>();
        for (const std::size_t mean : extent.means) specials.push_back(special_rows<T>(mean));
        for (const gpulab::Tile& tile : tiles_with_edges(tiles))
            specials.push_back(special_at_edges<T>(tile.size, tile.of == "items"));
        std::set<std::size_t> lengths;
        for (const auto& [tile, mean] : tiles)
            if (tile.of == "row length") lengths.insert(tile.size);
        for (const std::size_t length : lengths) specials.push_back(special_long_rows<T>(length));
        if (multiplies_padding(v.name)) // a check of its own shows that it refuses the others
            for (Special<T>& special : specials) special = with_finite_x(special);
        return special_fault<T>(v.run, specials);
    });
}

} // namespace spmv::testing
