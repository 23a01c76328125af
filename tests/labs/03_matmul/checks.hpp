/// @file
/// The checks that right and wrong matrix products go through.
#pragma once

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "gpulab/error.hpp"
#include "gpulab/input.hpp"
#include "matmul.hpp"
#include "special.hpp"

namespace matmul::testing {

using gpulab::Backend;

/// Nothing, one element, less than a tile, exactly a tile, one more and one less, long and thin, and several tiles of
/// the largest kernel with ragged edges, with rows that are and that are not a multiple of 16 bytes.
inline const std::vector<Shape>& shapes() {
    static const std::vector<Shape> all = {
        {0, 5, 7},       {5, 0, 7},       {5, 7, 0},       {1, 1, 1},      {1, 7, 1},      {7, 1, 5},
        {2, 3, 4},       {17, 1, 33},     {15, 16, 17},    {16, 16, 16},   {32, 32, 32},   {33, 31, 32},
        {31, 33, 20},    {1, 5, 1024},    {1024, 5, 1},    {2, 5, 512},    {512, 5, 2},    {1, 5, 1023},
        {1023, 5, 1},    {1000, 3, 5},    {3, 5, 1000},    {5, 1000, 3},   {64, 8, 64},    {65, 9, 63},
        {127, 128, 129}, {128, 128, 128}, {129, 127, 128}, {128, 16, 256}, {130, 17, 260}, {257, 50, 515},
        {300, 301, 302}, {64, 4099, 96},  {33, 9001, 35},  {7, 600, 132},  {3, 1000, 37}};
    return all;
}

/// Long in one direction and thin in the others: more tiles along a side than a grid of CUDA has blocks along y.
inline const std::vector<Shape>& long_shapes() {
    static const std::vector<Shape> all = {{1'048'577, 1, 1}, {1, 1, 1'048'577}, {1, 1'048'577, 1}};
    return all;
}

/// For a GPU: long sums, and several tiles.
inline const std::vector<Shape>& shapes_for_a_gpu() {
    static const std::vector<Shape> all = {{200, 9001, 130}, {1153, 50, 129}};
    return all;
}

/// For the rungs on a GPU, with whole numbers: sums in which a product out of 10^5 would vanish in a tolerance, and
/// several bands of large tiles.
template <class T> std::vector<Shape> largest_shapes() {
    if constexpr (sizeof(T) == 4) return {{256, 131'072, 256}, {1700, 65, 2300}};
    else return {{1700, 65, 2300}}; // the other would take GBs
}

/// Whole numbers -2 ... 2 in A and B: every sum of less than 2^22 products is exact in float, in any order. Where
/// rounding leaves room for a lost product among many, here nothing does.
template <class T> Problem<T> whole_problem(std::size_t m, std::size_t k, std::size_t n) {
    Problem<T> p{m, k, n, std::vector<T>(m * k), std::vector<T>(k * n)};
    for (std::size_t i = 0; i < p.a.size(); ++i) p.a[i] = whole_number<T>(seed, i);
    for (std::size_t i = 0; i < p.b.size(); ++i) p.b[i] = whole_number<T>(seed + 1, i);
    return p;
}

/// A problem and its right answer.
template <class T> struct Example {
    Problem<T> problem;
    Output<T> reference;
};

/// The example of one shape, made once, for all variants: with whole numbers, or with random ones in (-1, 1).
template <class T, bool whole> const Example<T>& example(const Shape& s) {
    static std::map<std::tuple<std::size_t, std::size_t, std::size_t>, Example<T>> made;
    const auto [at, is_new] = made.try_emplace({s.m, s.k, s.n});
    Example<T>& e = at->second;
    if (is_new) {
        e.problem = whole ? whole_problem<T>(s.m, s.k, s.n) : make_problem<T>(s.m, s.k, s.n, seed + s.m + s.n);
        e.reference = reference_product(e.problem);
    }
    return e;
}
template <class T> const Example<T>& whole_example(const Shape& s) { return example<T, true>(s); }

/// What is wrong with a variant's answer to an example, or "", with its shape. @param judge compares the output
template <class T, class Judge>
std::string example_fault(const AnyRun<T>& run, const Problem<T>& p, const Judge& judge) {
    Output<T> c(p.size());
    const std::string fault = fault_of(run, p, c, [&] { return judge(c); });
    return fault.empty() ? "" : fmt::format("{} x {} x {}: {}", p.m, p.k, p.n, fault);
}

/// Runs a variant on every shape on the current device: with whole numbers, which leave no error to tolerate.
/// @return the first fault, with its shape; "" when all answers are right
template <class T> std::string whole_fault(const AnyRun<T>& run, const std::vector<Shape>& shapes) {
    return first_in(shapes, [&](const Shape& s) {
        const Example<T>& e = whole_example<T>(s);
        return example_fault(run, e.problem, [&](const auto& c) { return gpulab::compare(e.reference, c, 0); });
    });
}

/// The same with random numbers, which show lost digits.
template <class T>
std::string random_fault(const AnyRun<T>& run, const std::vector<Shape>& shapes, const InputError& input_error = {}) {
    return first_in(shapes, [&](const Shape& s) {
        const Example<T>& e = example<T, false>(s);
        return example_fault(run, e.problem,
                             [&](const auto& c) { return compare(e.problem, e.reference, c, input_error); });
    });
}

/// Both. Either may find what the other does not.
template <class T>
std::string first_fault(const AnyRun<T>& run, const std::vector<Shape>& shapes, const InputError& input_error = {}) {
    const std::string fault = whole_fault<T>(run, shapes);
    return fault.empty() ? random_fault<T>(run, shapes, input_error) : fault;
}

/// (1 2 3; 4 5 6) (7 8; 9 10; 11 12) = (58 64; 139 154), exact in every arithmetic.
template <class T> std::string fault_by_hand(const AnyRun<T>& run) {
    Output<T> c(4);
    Stopwatch once;
    const std::string stray = stray_write(run, Problem<T>{2, 3, 2, {1, 2, 3, 4, 5, 6}, {7, 8, 9, 10, 11, 12}}, c, once);
    if (!stray.empty()) return stray;
    if (c == Output<T>{58, 64, 139, 154}) return "";
    return fmt::format("(1 2 3; 4 5 6) (7 8; 9 10; 11 12) should be (58 64; 139 154), got ({} {}; {} {})", c[0], c[1],
                       c[2], c[3]);
}

/// The largest tile of a name up to some size; `otherwise` when there is none.
inline std::size_t tile_up_to(const std::vector<gpulab::Tile>& tiles, std::string_view of, std::size_t most,
                              std::size_t otherwise = 16) {
    std::size_t largest = 0;
    for (const gpulab::Tile& tile : tiles)
        if (tile.of == of && tile.size <= most) largest = std::max(largest, tile.size);
    return largest > 1 ? largest : otherwise;
}

/// What is known of a variant under test, and the tiles that it names, once it has run.
template <class T> struct Rung {
    AnyRun<T> run;
    Backend backend = Backend::cpu;
    bool baseline = false;
    std::size_t max_elements = std::numeric_limits<std::size_t>::max(); ///< of C; it refuses more
    bool of_study = false; ///< a rung's kernel with another tile, one that may take long for large matrices
    InputError input_error = {};
    Exact exact = {};
    std::vector<gpulab::Tile> tiles = {};

    /// Those of the shapes that it does not refuse; in the emulator without those that take it minutes, as one thread's
    /// sum of a million products does.
    std::vector<Shape> able(std::vector<Shape> shapes) const {
        const bool emulated = backend == Backend::cuda && gpulab::devices_in_use().front().emulated;
        std::erase_if(shapes, [&](const Shape& s) {
            return s.m * s.n > max_elements || (emulated && std::max<std::size_t>(s.m * s.n, 1024) * s.k > 1 << 22);
        });
        return shapes;
    }
};

/// A variant of the lab's table.
template <class T> Rung<T> rung_of(const gpulab::Variant<Run<T>>& v) {
    Rung<T> rung{v.run, v.backend, v.baseline};
    if (v.name == "cuda_one_block") rung.max_elements = 1024;
    rung.input_error = input_error(v.name);
    if (const auto [relative, least] = rung.input_error; relative > 0)
        rung.exact = {-std::ilogb(relative), v.name != "cuda_three_tf32", least > 0, std::ilogb(2 * relative * least)};
    return rung;
}

/// What a variant should do beside its answer, or "". Asks it for its tiles: with a short sum and a long one, which may
/// be cut into parts.
template <class T> std::string contract_violation(Rung<T>& rung) {
    rung.tiles.clear();
    for (const Shape& s : {Shape{33, 30, 31}, Shape{31, 2000, 33}}) {
        Output<T> c(s.m * s.n);
        Stopwatch once;
        if (std::string stray = stray_write(rung.run, whole_example<T>(s).problem, c, once); !stray.empty())
            return stray;
        const std::string fault =
            gpulab::testing::contract_violation(rung.backend, rung.baseline, once, {"m", "k", "n", "elements"});
        if (!fault.empty()) return fault;
        rung.tiles.insert(rung.tiles.end(), once.tiles().begin(), once.tiles().end());
    }
    const Problem<T> p = whole_example<T>({33, 30, 31}).problem;
    return reset_fault([&](Output<T>& c, Stopwatch& watch) { rung.run(p, c, watch); }, Output<T>(33 * 31));
}

/// Shapes with one side next to a tile and the others small: one row, one column, sums of one product, rows that are
/// and that are not a multiple of 16 bytes. Every side from 1 to 40 is among them.
inline std::vector<Shape> shapes_next_to(const std::vector<gpulab::Tile>& tiles) {
    constexpr std::size_t largest = 1 << 17;
    const auto sizes = [&](std::string_view of) {
        std::vector<std::size_t> all = sizes_next_to(tiles, largest, of);
        for (const std::size_t size : sizes_next_to(tiles, largest, "elements")) all.push_back(size);
        for (std::size_t size = 1; size <= 40; ++size) all.push_back(size);
        std::ranges::sort(all);
        all.erase(std::ranges::unique(all).begin(), all.end());
        return all;
    };
    std::vector<Shape> all;
    const auto add = [&](std::size_t size, Shape thin, const std::vector<Shape>& others) {
        all.push_back(thin);
        if (size <= largest) all.insert(all.end(), others.begin(), others.end());
    };
    for (const std::size_t m : sizes("m")) add(m, {m, 1, 1}, {{m, 5, 3}, {m, 4, 8}});
    for (const std::size_t k : sizes("k")) add(k, {1, k, 1}, {{3, k, 5}, {5, k, 4}});
    for (const std::size_t n : sizes("n")) add(n, {1, 1, n}, {{3, 5, n}, {2, 4, n}});
    return all;
}

/// One less, exactly, and one more than a tile on all three sides, in every combination.
inline std::vector<Shape> corners_of(const std::vector<gpulab::Tile>& tiles) {
    const std::size_t m = tile_up_to(tiles, "m", 256), k = tile_up_to(tiles, "k", 64), n = tile_up_to(tiles, "n", 512);
    std::vector<Shape> all;
    for (std::size_t i = 0; i < 27; ++i) all.push_back({m + i % 3 - 1, k + i / 3 % 3 - 1, n + i / 9 - 1});
    return all;
}

/// The sizes at which special values are tried: a tile and a little more on each side, with rows of A and of B that are
/// and that are not a multiple of 16 bytes long.
template <class T> std::vector<Shape> special_shapes(const Rung<T>& rung) {
    if (rung.max_elements <= 1024) return {{31, 35, 33}, {24, 24, 24}};
    const std::size_t m = tile_up_to(rung.tiles, "m", 256), k = tile_up_to(rung.tiles, "k", 64),
                      n = tile_up_to(rung.tiles, "n", 512);
    std::vector<Shape> all = {{24, 24, 24}};
    for (const std::size_t more_k : {3, 4})
        for (const std::size_t more_n : {3, 4}) all.push_back({m + 3, k + more_k, n + more_n});
    return all;
}

/// Makes a check of special values at each of these shapes.
template <class T, std::string fault_at(const AnyRun<T>&, const Exact&, const Shape&)>
std::string at_special_shapes(Rung<T>& rung) {
    return first_in(special_shapes(rung), [&](const Shape& s) { return fault_at(rung.run, rung.exact, s); });
}

/// A check and its name.
template <class T> struct Check {
    std::string_view name;
    std::string (*fault)(Rung<T>& rung);
};

/// All that a variant must do, in the order in which it is tried.
template <class T> const std::vector<Check<T>>& checks() {
    static const std::vector<Check<T>> all = {
        {"2 x 3 x 2 by hand", [](Rung<T>& rung) { return fault_by_hand<T>(rung.run); }},
        {"every shape", [](Rung<T>& rung) { return first_fault<T>(rung.run, rung.able(shapes()), rung.input_error); }},
        {"contract", [](Rung<T>& rung) { return contract_violation<T>(rung); }},
        {"sizes next to its tiles",
         [](Rung<T>& rung) {
             const std::string fault = whole_fault<T>(rung.run, rung.able(shapes_next_to(rung.tiles)));
             return fault.empty() ? first_fault<T>(rung.run, rung.able(corners_of(rung.tiles)), rung.input_error)
                                  : fault;
         }},
        {"long and thin", [](Rung<T>& rung) { return whole_fault<T>(rung.run, rung.able(long_shapes())); }},
        {"long sums and many tiles",
         [](Rung<T>& rung) {
             if (rung.backend != Backend::cuda) return std::string{};
             const std::string fault = first_fault<T>(rung.run, rung.able(shapes_for_a_gpu()), rung.input_error);
             if (!fault.empty() || rung.of_study) return fault;
             return whole_fault<T>(rung.run, rung.able(largest_shapes<T>()));
         }},
        {"the identity", at_special_shapes<T, identity_fault<T>>},
        {"NaN and infinities at every place of a tile's edge", at_special_shapes<T, edges_fault<T>>},
        {"zeros times NaN and infinities", at_special_shapes<T, zeros_fault<T>>},
        {"denormals", at_special_shapes<T, denormals_fault<T>>},
    };
    return all;
}

/// Makes every check of a variant on the current device.
template <class T> void check_rung(Rung<T> rung, Faults& faults) {
    for (const Check<T>& check : checks<T>()) faults.check(check.name, [&] { return check.fault(rung); });
}

/// Small shapes for tools that are a thousand times slower than the device: two tiles and a ragged one on each side,
/// with rows that are and that are not a multiple of 16 and of 32 bytes long, and sums of enough tiles that a pipeline
/// goes round. No matrix has more elements than its sides say, so that such a tool sees the first one outside.
inline std::vector<Shape> shapes_for_tools(const std::vector<gpulab::Tile>& tiles, std::size_t rounds) {
    const std::size_t m = tile_up_to(tiles, "m", 256), n = tile_up_to(tiles, "n", 256);
    std::size_t k = 64;
    for (const gpulab::Tile& tile : tiles)
        if (tile.of == "k" && tile.size > 4) k = std::min(k, tile.size);
    if (k == 64) k = 16; // it does not cut k
    return {{1, 1, 1}, {2 * m + 2, rounds * k + 3, 2 * n + 4}, {m - 1, rounds * k, n + 3}, {3, rounds * k + 8, n + 8}};
}

/// The answers to shapes with whole numbers, each computed once.
template <class T> std::string fault_once(const AnyRun<T>& run, const std::vector<Shape>& shapes) {
    return first_in(shapes, [&](const Shape& s) {
        const auto& [p, reference] = whole_example<T>(s);
        Output<T> c(p.size());
        Stopwatch once;
        std::string fault = stray_write(run, p, c, once);
        if (fault.empty()) fault = gpulab::compare(reference, c, 0).message;
        return fault.empty() ? "" : fmt::format("{} x {} x {}: {}", s.m, s.k, s.n, fault);
    });
}

/// What is wrong with a variant's answers to the shapes for tools, or "".
template <class T> std::string fault_under_tools(const Rung<T>& rung, std::size_t rounds) {
    if (rung.max_elements <= 1024) return fault_once<T>(rung.run, {{1, 1, 1}, {31, 7, 33}, {1, 5, 1024}});
    Output<T> c(1);
    Stopwatch once;
    const std::string stray = stray_write(rung.run, whole_example<T>({1, 1, 1}).problem, c, once);
    return stray.empty() ? fault_once<T>(rung.run, shapes_for_tools(once.tiles(), rounds)) : stray;
}

} // namespace matmul::testing
