/// @file
/// The checks that right and wrong variants of Yee's scheme go through.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/format.h>
#include <functional>
#include <limits>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "fdtd.hpp"
#include "gpulab/error.hpp"
#include "gpulab/input.hpp"
#include "gpulab_testing/pairs.hpp"
#include "gpulab_testing/testing.hpp"
#include "gpulab_testing/variants.hpp"
#include "gpulab_testing/verdict.hpp"
#include "rungs.hpp"
#include "scene/scene.hpp"

namespace fdtd::testing {

using gpulab::Backend;
using gpulab::testing::fault_of;
using gpulab::testing::in_turn;
using gpulab::testing::sizes_next_to;
using gpulab::testing::verdict;

/// What a scene has beside its size.
enum class Kind {
    plain,     ///< vacuum within a conductor, nothing else
    book,      ///< and the book's hard source in the middle
    edge,      ///< one lossy medium, and a hard source in the last column and row of a tile of 32 x 8 or 64 x 4
    lossy,     ///< one lossy medium with losses of both kinds
    layers,    ///< absorbing layers of different thickness on all sides, a soft source in one of them
    media,     ///< several media, without anything else
    dirichlet, ///< given values on two sides, a layer on a third
    sources,   ///< several sources of all kinds that overlap, some at the border, and probes
    graded,    ///< media by cell, a layer on one side, a soft source
    driven,    ///< two sides with a given tangential E, a layer on a third, a soft source
    many,      ///< forty sources, a third with strengths that differ from cell to cell, and twenty probes
    all        ///< media, layers, sources and probes
};
inline const std::vector<Kind>& kinds() {
    static const std::vector<Kind> list = {Kind::plain,  Kind::book,   Kind::edge,      Kind::lossy,
                                           Kind::layers, Kind::media,  Kind::dirichlet, Kind::sources,
                                           Kind::graded, Kind::driven, Kind::many,      Kind::all};
    return list;
}

/// Whether it is one of the book's problems, which is all that the Core rungs compute.
inline bool is_books(Kind kind, Mode mode) { return kind <= Kind::lossy && mode == Mode::te; }

/// Those rungs.
inline const std::set<std::string_view>& core_rungs() {
    static const std::set<std::string_view> names = {"cpu_sequential",    "cpu_threads",     "opencl_plain",
                                                     "opencl_local_tile", "cuda_as_printed", "cuda_coalesced",
                                                     "cuda_block_shape",  "cuda_shared",     "cuda_fused"};
    return names;
}

/// A pulse that most of the tests' few steps see.
inline Waveform bell(double amplitude) {
    return {.kind = Waveform::Kind::gaussian, .amplitude = amplitude, .delay = 5e-11, .width = 1e-10};
}

/// A source in the cells [x0, x1) x [y0, y1).
inline Source source_in(std::size_t x0, std::size_t y0, std::size_t x1, std::size_t y1, bool hard = true) {
    return {.x0 = x0, .y0 = y0, .x1 = x1, .y1 = y1, .hard = hard};
}

/// Fills a scene with three media at random.
inline void fill_with_media(Scene& s) {
    s.materials = {Material{}, {"glass", 4, 1, 0.02, 0}, {"ferrite", 2, 3, 0, 400}};
    s.map.resize(s.nx * s.ny);
    for (std::size_t i = 0; i < s.map.size(); ++i) s.map[i] = static_cast<std::uint8_t>(gpulab::random_bits(7, i) % 3);
}

/// A scene for the tests, with dx != dy.
inline Scene scene_of(Kind kind, Mode mode, std::size_t nx, std::size_t ny, std::size_t steps) {
    Scene s{.mode = mode, .nx = nx, .ny = ny, .dx = 0.01, .dy = 0.013, .courant = 0.9, .steps = steps};
    const auto source = [&](Component c, std::size_t x0, std::size_t y0, std::size_t x1, std::size_t y1, bool hard,
                            double size) {
        const std::size_t x = std::min(x0, nx - 1), y = std::min(y0, ny - 1);
        Source one = source_in(x, y, std::clamp(x1, x + 1, nx), std::clamp(y1, y + 1, ny), hard);
        one.component = c;
        one.waveform = bell(size);
        if (hard) one.waveform.kind = Waveform::Kind::book;
        s.sources.push_back(one);
    };
    const auto layer = [](Side& side, std::size_t cells, std::size_t n) {
        if (4 * cells >= n) return; // too small for one
        side.kind = Side::Kind::pml;
        side.cells = cells;
        side.reflection = 1e-4;
    };
    const auto several = [&] {
        source(Component::z, nx / 2, ny / 2, nx / 2 + 1, ny / 2 + 1, true, 1);
        source(Component::z, 0, 0, 3, 2, false, 2e4);
        source(Component::x, nx / 3, 0, nx, ny / 2, false, 30);
        source(Component::y, 0, ny / 3, nx / 2, ny, false, 40);
        source(Component::x, nx / 2, ny / 3, nx / 2 + 2, ny / 3 + 1, true, 50);
        s.probes = {
            {"corner", 0, 0}, {"middle", nx / 2, ny / 2}, {"far corner", nx - 1, ny - 1}, {"beside", nx / 2, ny / 3}};
    };
    switch (kind) {
    case Kind::plain: break;
    case Kind::book: source(Component::z, nx / 2, ny / 2, nx / 2 + 1, ny / 2 + 1, true, 1); break;
    case Kind::edge: {
        s.materials = {{"lossy", 3, 2, 0.05, 900}};
        const std::size_t i = nx > 64 ? 63 : nx > 32 ? 31 : 0, j = ny > 8 ? 7 : 0;
        source(Component::z, i, j, i + 1, j + 1, true, 2);
        break;
    }
    case Kind::lossy: s.materials = {{"lossy", 3, 2, 0.05, 900}}; break;
    case Kind::layers:
        layer(s.left, 2, nx);
        layer(s.right, 3, nx);
        layer(s.bottom, 4, ny);
        layer(s.top, 1, ny);
        source(Component::z, 1, 1, 2, 2, false, 1e4);
        break;
    case Kind::media: fill_with_media(s); break;
    case Kind::dirichlet:
        s.left.kind = s.top.kind = Side::Kind::dirichlet;
        s.left.value = 0.5;
        s.top.value = -0.25;
        layer(s.right, 3, nx);
        break;
    case Kind::sources: several(); break;
    case Kind::graded: {
        const auto by_cell = [&](std::vector<double>& plane, double least, double most) {
            for (std::size_t i = 0; i < nx * ny; ++i)
                plane.push_back(least + (most - least) * gpulab::random_unit(plane.size() + 11, i));
        };
        by_cell(s.media.eps_r, 1, 4);
        by_cell(s.media.mu_r, 1, 3);
        by_cell(s.media.sigma, 0, 0.05);
        by_cell(s.media.sigma_m, 0, 900);
        layer(s.right, 3, nx);
        source(Component::x, nx / 3, 1, nx, ny / 2, false, 30);
        break;
    }
    case Kind::driven:
        for (Side* side : {&s.left, &s.top}) side->kind = Side::Kind::driven;
        s.left.waveform = bell(200);
        s.top.waveform = {Waveform::Kind::sine, 300, 2e9, 0.5};
        layer(s.right, 3, nx);
        source(Component::z, 0, 0, 3, 2, false, 2e4);
        break;
    case Kind::many:
        for (std::size_t k = 0; k < 40; ++k) {
            const std::size_t x = gpulab::random_bits(21, k) % nx, y = gpulab::random_bits(22, k) % ny;
            const auto c = static_cast<Component>(k % 3);
            source(c, x, y, x + 1 + k % 4, y + 1 + k % 3, k % 4 == 0, c == Component::z ? 1e3 : 20);
            Source& one = s.sources.back();
            if (k % 3 == 1 || k == 6)
                for (std::size_t i = 0; i < (one.x1 - one.x0) * (one.y1 - one.y0); ++i)
                    one.strength.push_back(2 * gpulab::random_unit(23 + k, i) - 1);
        }
        for (std::size_t k = 0; k < 20; ++k)
            s.probes.push_back({"", gpulab::random_bits(24, k) % nx, gpulab::random_bits(25, k) % ny});
        break;
    case Kind::all:
        fill_with_media(s);
        several();
        layer(s.left, 3, nx);
        layer(s.right, 1, nx);
        layer(s.bottom, 2, ny);
        layer(s.top, 4, ny);
        break;
    }
    return s;
}

/// A problem with a random start, and its right answer.
template <class T> struct Example {
    std::string name;
    bool books; ///< one of the book's problems
    Scene scene;
    Problem<T> problem;
    Reference<T> answer;
};

template <class T> Example<T> example_of(std::string name, bool books, Scene scene) {
    Example<T> e;
    e.name = std::move(name);
    e.books = books;
    e.scene = std::move(scene);
    e.problem = make_problem<T>(e.scene);
    randomise(e.problem, gpulab::testing::seed + e.scene.nx + e.scene.ny);
    e.problem.block_x = 20; // of cuda_block_shape
    e.problem.block_y = 3;
    e.answer = reference(e.scene, e.problem);
    return e;
}

template <class T> Example<T> example(Kind kind, Mode mode, std::size_t nx, std::size_t ny, std::size_t steps) {
    return example_of<T>(fmt::format("kind {}, {}, {} x {} cells, {} steps", static_cast<int>(kind),
                                     mode == Mode::te ? "TE" : "TM", nx, ny, steps),
                         is_books(kind, mode), scene_of(kind, mode, nx, ny, steps));
}

/// A variant under test, and the tiles that it names, once it has run.
template <class T> struct Rung {
    Run<T>* run;
    Backend backend = Backend::cpu;
    bool core = false; ///< it computes the book's problems, and refuses all others
    std::vector<gpulab::Tile> tiles = {};
};

/// A variant of the lab's table.
template <class T> Rung<T> rung_of(const gpulab::Variant<Run<T>>& v) {
    return {v.run, v.backend, core_rungs().contains(v.name)};
}

/// What is wrong with one answer, or "". A Core rung must refuse what is not the book's, and no other rung anything.
template <class T> std::string fault_in(const Rung<T>& rung, const Example<T>& e, int* computed = nullptr) {
    Output<T> out = make_output(e.problem);
    try {
        const std::string fault = fault_of(rung.run, e.problem, out, [&] { return compare(e.problem, e.answer, out); });
        if (!fault.empty()) return e.name + ": " + fault;
        if (rung.core && !e.books) return e.name + ": computed by a rung for the book's problem only";
        if (computed) ++*computed;
    } catch (const gpulab::Unsupported& refusal) {
        if (!rung.core || e.books) return e.name + ": refused: " + refusal.what();
        if (std::string_view(refusal.what()).find("_scene") == std::string_view::npos)
            return e.name + ": refused without a word about what computes it: " + refusal.what();
    }
    return "";
}

/// What cpu_scene computes.
template <class T> Output<T> computed(const Problem<T>& p) {
    Output<T> out = make_output(p);
    Stopwatch once;
    cpu_scene<T>(p, out, once);
    return out;
}

/// Calls body(i, j, at) for each cell; its element in the arrays of the field is `at`.
template <class T, class Body> void each_cell(const Problem<T>& p, const Body& body) {
    for (std::size_t j = 0; j < p.ny(); ++j)
        for (std::size_t i = 0; i < p.nx(); ++i) body(i, j, j * p.pitch() + i);
}

/// One step on 3 x 3 cells, by hand: U is 1 in the middle, and nothing else. The four edges around it get plus or minus
/// dt / (e dx), or dy.
template <class T> std::string fault_by_hand(const Rung<T>& rung) {
    Problem<T> p = make_problem<T>({.nx = 3,
                                    .ny = 3,
                                    .dx = 1,
                                    .dy = 2,
                                    .dt = 0.25,
                                    .steps = 1,
                                    .materials = {{"unit", 1 / eps_0, 1 / mu_0, 0, 0}}});
    p.start.u[p.pitch() + 1] = 1;
    Output<T> out = make_output(p);
    Stopwatch once;
    in_turn([&] { rung.run(p, out, once); });
    const auto near = [](T x, double expected) { return std::abs(static_cast<double>(x) - expected) < 1e-6; };
    for (std::size_t j = 0; j <= 3; ++j)
        for (std::size_t i = 0; i <= 3; ++i) {
            const std::size_t at = j * p.pitch() + i;
            const double u = i == 1 && j == 1 ? 1 : 0;
            const double edge_p = i != 1 ? 0 : j == 1 ? 0.125 : j == 2 ? -0.125 : 0;
            const double edge_q = j != 1 ? 0 : i == 1 ? -0.25 : i == 2 ? 0.25 : 0;
            const bool right = (i == 3 || j == 3 || near(out.field.u[at], u)) &&
                               (i == 3 || near(out.field.p[at], edge_p)) && (j == 3 || near(out.field.q[at], edge_q));
            if (!right)
                return fmt::format("cell ({}, {}): U = {}, P = {}, Q = {}; should be {}, {}, {}", i, j, out.field.u[at],
                                   out.field.p[at], out.field.q[at], u, edge_p, edge_q);
        }
    return "";
}

/// Every kind of scene in both modes, at several sizes: 3 x 3, odd ones, one long and thin, several tiles. With CUDA
/// one more, in which cuda_persistent has tiles of more than twice its ring in both directions, also on a GPU of 132
/// multiprocessors. On 33 x 31 cells its tiles would be flatter than its ring.
template <class T> std::string every_kind_fault(const Rung<T>& rung) {
    std::vector<std::tuple<std::size_t, std::size_t, std::size_t>> sizes = {
        {3, 3, 1}, {3, 7, 3}, {33, 31, 9}, {130, 70, 9}, {40, 150, 6}};
    if (rung.backend == Backend::cuda) sizes.push_back({120, 110, 9});
    int computed = 0;
    for (const Kind kind : kinds())
        for (const Mode mode : {Mode::te, Mode::tm})
            for (const auto& [nx, ny, steps] : sizes) {
                const std::string fault = fault_in(rung, example<T>(kind, mode, nx, ny, steps), &computed);
                if (!fault.empty()) return fault;
            }
    const int expected = (rung.core ? 4 : 24) * static_cast<int>(sizes.size());
    return computed == expected ? "" : fmt::format("only {} scenes were computed", computed);
}

/// Options crossed with each other: grid, steps, mode, media, what is at the sides, which component a source drives,
/// how and where, and probes. 140 columns and 32 or 35 rows: groups whose last row is the first one above the region
/// without borders.
/// @param core whether all are to be problems of the book
inline std::vector<std::pair<std::string, Scene>> scenes_in_pairs(bool core) {
    using At = Side::Kind;
    const std::vector<std::pair<std::size_t, std::size_t>> grids = {{33, 31}, {140, 32}, {61, 45}, {140, 35}};
    const std::vector<std::size_t> steps = {1, 4, 9};
    const std::vector<std::string_view> modes = {"TE", "TM"}, media = {"vacuum", "lossy", "a map", "graded"};
    const std::vector<At> at_sides = {At::conductor, At::pml, At::dirichlet, At::driven};
    const std::vector<std::string_view> sides = {"walls", "layers", "given U", "given E"};
    const std::vector<std::string_view> sources = {"z", "x", "y", "no source"};
    const std::vector<std::string_view> places = {"inside", "at the left and below", "at the right and above"};
    const std::vector<std::string_view> probes = {"no probe", "probes at the source", "probes far from it"};
    const auto of = [&](std::size_t all, std::size_t of_core) { return core ? of_core : all; };
    std::vector<std::pair<std::string, Scene>> list;
    for (const auto& row : gpulab::testing::all_pairs({grids.size(), steps.size(), of(2, 1), of(4, 2), of(4, 1),
                                                       of(4, 1), of(4, 1), of(2, 1), places.size(), of(3, 1)})) {
        const auto [nx, ny] = grids[row[0]];
        Scene s =
            scene_of(row[3] == 1 ? Kind::lossy : Kind::plain, row[2] == 0 ? Mode::te : Mode::tm, nx, ny, steps[row[1]]);
        if (row[3] == 2) fill_with_media(s);
        for (std::size_t i = 0; i < nx * ny && row[3] == 3; ++i) {
            s.media.eps_r.push_back(1 + 3 * gpulab::random_unit(11, i));
            s.media.sigma_m.push_back(900 * gpulab::random_unit(12, i));
        }
        const auto set = [&](Side& side, At kind, std::size_t cells) {
            side.kind = kind;
            side.cells = cells;
            side.reflection = 1e-4;
            side.value = 0.125 * double(cells);
            side.waveform = {Waveform::Kind::sine, 200, 2e9, 0.5};
        };
        set(s.left, at_sides[row[4]], 3);
        set(s.bottom, at_sides[row[4]], 5);
        set(s.right, at_sides[row[5]], 4);
        set(s.top, at_sides[row[5]], 2);
        const bool hard = row[7] == 0;
        const std::array<std::size_t, 3> left = {nx / 2, 0, nx - 3}, lower = {ny / 2, 0, ny - 2};
        const std::size_t x0 = left[row[8]], y0 = lower[row[8]];
        Source source = source_in(x0, y0, x0 + of(3, 1), y0 + of(2, 1), hard);
        source.component = static_cast<Component>(row[6] % 3);
        source.waveform = bell(hard ? 2 : row[6] == 0 ? 2e4 : 40);
        if (hard) source.waveform.kind = Waveform::Kind::book;
        if (row[6] != 3) s.sources.push_back(source);
        if (row[9] == 1) s.probes = {{"", source.x0, source.y0}, {"", source.x1 - 1, source.y0}};
        if (row[9] == 2)
            for (const std::size_t y : {6, 10}) // below a source inside, so that neither box holds the other
                for (const std::size_t x : {std::size_t{4}, std::min(nx / 2 + 20, nx - 2), nx - 5})
                    s.probes.push_back({"", x, y});
        list.push_back(
            {fmt::format("{} x {} cells, {} steps, {}, {}, {} at the left and below, {} at the right and "
                         "above, {}{}, {}, {}",
                         nx, ny, s.steps, modes[row[2]], media[row[3]], sides[row[4]], sides[row[5]], sources[row[6]],
                         row[6] == 3 ? ""
                         : hard      ? " set"
                                     : " added",
                         places[row[8]], probes[row[9]]),
             s});
    }
    if (!core) { // probes in a group of items that has neither a border nor the source
        Scene s = scene_of(Kind::plain, Mode::te, 140, 35, 4);
        s.sources = {source_in(70, 17, 73, 19)};
        s.sources[0].waveform = bell(2e4);
        s.probes = {{"", 90, 6}, {"", 90, 10}, {"", 72, 14}};
        list.push_back({"140 x 35 cells, a source, and probes in another group", s});
    }
    return list;
}

template <class T> std::string pairs_fault(const Rung<T>& rung) {
    for (const auto& [name, scene] : scenes_in_pairs(rung.core))
        if (const std::string fault = fault_in(rung, example_of<T>(name, rung.core, scene)); !fault.empty())
            return fault;
    return "";
}

/// What a variant should do beside its answer, or "". Asks it for its tiles.
template <class T> std::string contract_violation(Rung<T>& rung) {
    const Example<T> e = example<T>(Kind::plain, Mode::te, 50, 40, 5);
    Output<T> out = make_output(e.problem);
    Stopwatch once;
    in_turn([&] { rung.run(e.problem, out, once); });
    rung.tiles = once.tiles();
    return gpulab::testing::contract_violation(rung.backend, false, once, {"nx", "ny", "steps"});
}

/// Sizes next to every tile, thin in the other direction, and numbers of steps next to those of a pass.
template <class T> std::string tiles_fault(const Rung<T>& rung) {
    const auto sizes = [&](std::string_view of) {
        std::set<std::size_t> all;
        for (const std::size_t size : sizes_next_to(rung.tiles, 600, of))
            for (const std::size_t n : {size, size + 1}) // a tile of nx + 1 columns, too
                if (n >= 3 && n <= 600) all.insert(n);
        return all;
    };
    std::vector<std::pair<std::size_t, std::size_t>> grids;
    for (const std::size_t nx : sizes("nx")) grids.push_back({nx, 5});
    for (const std::size_t ny : sizes("ny")) grids.push_back({7, ny});
    for (const auto& [nx, ny] : grids)
        for (const Kind kind : {Kind::plain, Kind::edge, Kind::driven, Kind::all}) {
            const std::string fault = fault_in(rung, example<T>(kind, Mode::te, nx, ny, 5));
            if (!fault.empty()) return fault;
        }
    std::set<std::size_t> numbers = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
    for (const std::size_t steps : sizes_next_to(rung.tiles, 40, "steps")) numbers.insert(steps);
    const std::vector<Kind> book = {Kind::plain, Kind::book, Kind::edge};
    const std::vector<Kind> any = {Kind::plain, Kind::layers, Kind::media, Kind::sources, Kind::graded, Kind::driven};
    for (const std::size_t steps : numbers)
        for (const Kind kind : rung.core ? book : any) {
            const std::string fault = fault_in(rung, example<T>(kind, rung.core ? Mode::te : Mode::tm, 61, 45, steps));
            if (!fault.empty()) return fault;
        }
    return "";
}

/// Whole numbers and coefficients of 1 and 1/2, which need no rounding: tolerance 0. For a few steps in one medium.
template <class T> std::string whole_fault(const Rung<T>& rung) {
    using Size = std::array<std::size_t, 3>;
    for (const auto& [nx, ny, steps] : {Size{130, 90, 5}, Size{31, 64, 4}, Size{75, 33, 3}}) {
        Scene scene = scene_of(Kind::plain, Mode::te, nx, ny, steps);
        scene.dx = scene.dy = 1;
        Problem<T> p = make_problem<T>(scene);
        p.dx = p.dy = 1;
        p.rules.u = p.rules.e = {1, T(0.5), T(0.5), T(0.5)};
        const auto cell = [pitch = p.pitch()](std::size_t i, std::size_t j) { return j * pitch + i; };
        for (std::size_t j = 0; j <= ny; ++j)
            for (std::size_t i = 0; i <= nx; ++i) {
                const std::size_t at = cell(i, j);
                const auto number = [&](std::uint64_t more) {
                    return static_cast<T>(static_cast<int>(gpulab::random_bits(more, at) % 9) - 4);
                };
                if (i < nx && j < ny) p.start.u[at] = number(1);
                if (i < nx && j > 0 && j < ny) p.start.p[at] = number(2);
                if (j < ny && i > 0 && i < nx) p.start.q[at] = number(3);
            }
        Output<T> expected{p.start, {}};
        Fields<T>& f = expected.field;
        for (std::size_t k = 0; k < steps; ++k) {
            for (std::size_t j = 0; j < ny; ++j)
                for (std::size_t i = 0; i < nx; ++i)
                    f.u[cell(i, j)] +=
                        (f.p[cell(i, j + 1)] - f.p[cell(i, j)] - f.q[cell(i + 1, j)] + f.q[cell(i, j)]) / 2;
            for (std::size_t j = 0; j < ny; ++j)
                for (std::size_t i = 0; i < nx; ++i) {
                    if (j > 0) f.p[cell(i, j)] += (f.u[cell(i, j)] - f.u[cell(i, j - 1)]) / 2;
                    if (i > 0) f.q[cell(i, j)] -= (f.u[cell(i, j)] - f.u[cell(i - 1, j)]) / 2;
                }
        }
        Output<T> out = make_output(p);
        const std::string fault =
            fault_of(rung.run, p, out, [&] { return gpulab::compare(flat(p, expected), flat(p, out), 0); });
        if (!fault.empty()) return fmt::format("{} x {} cells, {} steps: {}", nx, ny, steps, fault);
    }
    return "";
}

/// A NaN spreads by one cell per step and to nothing else, also across the edges of tiles.
template <class T> std::string nan_fault(const Rung<T>& rung) {
    for (const Kind kind : rung.core ? std::vector{Kind::plain, Kind::edge} : std::vector{Kind::plain, Kind::all})
        for (const auto& [x, y] :
             std::vector<std::pair<std::size_t, std::size_t>>{{0, 0}, {31, 7}, {32, 8}, {24, 16}, {69, 47}}) {
            Scene scene = scene_of(kind, Mode::te, 70, 48, 3);
            Problem<T> p = make_problem<T>(scene);
            randomise(p, gpulab::testing::seed);
            p.start.u[y * p.pitch() + x] = std::numeric_limits<T>::quiet_NaN();
            Output<T> out = make_output(p);
            const std::vector<T> expected = flat(p, reference(scene, p).out);
            const auto judge = [&] {
                const std::vector<T> got = flat(p, out);
                for (std::size_t i = 0; i < got.size(); ++i)
                    if (std::isnan(expected[i]) != std::isnan(got[i]) || gpulab::is_poison(got[i]))
                        return verdict(
                            fmt::format("element {} of {} is {}, should be {}", i, got.size(), got[i], expected[i]));
                return verdict("");
            };
            const std::string fault = fault_of(rung.run, p, out, judge);
            if (!fault.empty()) return fmt::format("NaN in cell ({}, {}): {}", x, y, fault);
        }
    return "";
}

/// All that a variant must do, in the order in which it is tried.
template <class T> void check_variant(const gpulab::Variant<Run<T>>& v, gpulab::testing::Faults& faults) {
    Rung<T> rung = rung_of<T>(v);
    faults.check("one step by hand", [&] { return fault_by_hand<T>(rung); });
    faults.check("every kind", [&] { return every_kind_fault<T>(rung); });
    faults.check("contract", [&] { return contract_violation<T>(rung); });
    faults.check("sizes next to its tiles", [&] { return tiles_fault<T>(rung); });
    faults.check("options in pairs", [&] { return pairs_fault<T>(rung); });
    faults.check("whole numbers", [&] { return whole_fault<T>(rung); });
    faults.check("NaN", [&] { return nan_fault<T>(rung); });
}

/// Small problems for tools that are a thousand times slower than the device: two tiles and a partial one.
template <class T> std::string fault_under_tools(const Rung<T>& rung, std::size_t nx, std::size_t ny) {
    const std::vector<Kind> any = {Kind::plain, Kind::all, Kind::graded, Kind::driven};
    for (const Kind kind : rung.core ? std::vector{Kind::plain, Kind::edge} : any)
        for (const std::size_t steps : {1, 5}) {
            const Example<T> e = example<T>(kind, Mode::te, nx, ny, steps);
            Output<T> out = make_output(e.problem);
            Stopwatch once;
            in_turn([&] { rung.run(e.problem, out, once); });
            if (const gpulab::Comparison c = compare(e.problem, e.answer, out); !c.passed)
                return e.name + ": " + c.message;
        }
    return "";
}

} // namespace fdtd::testing
