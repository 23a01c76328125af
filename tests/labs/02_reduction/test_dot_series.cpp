#include <catch2/catch_test_macros.hpp>
#include <numbers>
#include <vector>

#include "checks.hpp"
#include "groups.hpp"
#include "transfers.hpp"

using namespace gpulab::testing;
using namespace reduction::testing;
using gpulab::Backend;
using reduction::Scalar;
using reduction::Series;
using reduction::SeriesProblem;

namespace {

template <class T> using Dot = gpulab::Variant<reduction::DotRun<T>>;
template <class T> using Sequence = gpulab::Variant<reduction::SeriesRun<T>>;

// Dot products.

/// Whole numbers, and NaN and infinities that meet ones and zeros, in three elements.
template <class T> std::string dot_fault_by_hand(reduction::DotRun<T>* run) {
    struct Case {
        std::vector<T> a, b;
        T expected;
    };
    constexpr T nan = std::numeric_limits<T>::quiet_NaN(), infinity = std::numeric_limits<T>::infinity();
    const std::vector<Case> cases = {
        {{}, {}, 0},
        {{1, 2, 3}, {4, 5, 6}, 32},
        {{1, 2, 3, 4, 5}, {5, -4, 3, -2, 1}, 3}, // 5 - 8 + 9 - 8 + 5
        {{1, nan, 1}, {1, 1, 1}, nan},
        {{1, infinity, 1}, {1, 0, 1}, nan},
        {{1, 0, 1}, {1, infinity, 1}, nan},
        {{1, 0, 1}, {1, nan, 1}, nan},
        {{infinity, 1, 1}, {1, 2, 3}, infinity},
        {{1, infinity, 1}, {1, 2, 3}, infinity},
        {{1, 1, infinity}, {1, 2, 3}, infinity},
        {{1, 2, 3}, {infinity, 1, 1}, infinity},
        {{1, 2, 3}, {1, infinity, 1}, infinity},
        {{1, 2, 3}, {1, 1, infinity}, infinity},
    };
    for (std::size_t i = 0; i < cases.size(); ++i) {
        const T expected = cases[i].expected, dot = value_of(run, {cases[i].a, cases[i].b});
        if (dot != expected && !(std::isnan(dot) && std::isnan(expected)))
            return fmt::format("product {} by hand should be {}, got {}", i, expected, dot);
    }
    return "";
}

/// CPU variants multiply and add in double: a float does not hold 1e60 on the way to 0.
std::string float_products_fault(reduction::DotRun<float>* run) {
    const float dot = value_of(run, {{1e30f, 1e30f}, {1e30f, -1e30f}});
    return dot == 0 ? "" : fmt::format("1e30 1e30 - 1e30 1e30 should be 0, got {}", dot);
}

/// The tiles that a variant names; and what it should have done beside its answer, or "".
template <class T> std::string contract(const Dot<T>& v, std::vector<gpulab::Tile>& tiles) {
    return contract_violation(v, reduction::make_dot_problem<T>(1000, seed), Scalar<T>(1), tiles);
}
template <class T> std::string contract(const Sequence<T>& v, std::vector<gpulab::Tile>& tiles) {
    return contract_violation(v, SeriesProblem<T>{Series::pi, 1, 1000}, Scalar<T>(1), tiles, "terms");
}

template <class T> void check_dot(const Dot<T>& v, Faults& faults) {
    faults.check("by hand", [&] { return dot_fault_by_hand<T>(v.run); });
    faults.check("every size", [&] { return first_dot_fault(v.run, v.backend, straddling_sizes()); });
    std::vector<gpulab::Tile> tiles;
    faults.check("contract", [&] { return contract<T>(v, tiles); });
    faults.check("sizes next to its tiles", [&] {
        return first_dot_fault(v.run, v.backend, sizes_next_to(tiles, largest_near_tile(v.backend)), whole_numbers);
    });
    faults.check("NaN and infinities", [&] {
        return first_in(special_sizes(tiles, 100'000),
                        [&](std::size_t n) { return special_dot_fault(v.run, n, tiles); });
    });
    if (!v.baseline && keeps_denormals<T>(v.backend)) // a library may take them for 0
        faults.check("denormals", [&] {
            return first_in(Sizes{1, 1000, 100'003}, [&](std::size_t n) { return denormal_dot_fault(v.run, n); });
        });
    faults.check("2^24 + 8 elements",
                 [&] { return first_dot_fault(v.run, v.backend, {(1 << 24) + 8}, whole_numbers); });
    if (v.backend == Backend::cuda)
        faults.check("16777259 elements", [&] { return first_dot_fault(v.run, v.backend, {16'777'259}); });
    if constexpr (std::is_same_v<T, float>)
        if (v.backend == Backend::cpu) faults.check("in double", [&] { return float_products_fault(v.run); });
}

// Series.

template <class T> void check_series(const Sequence<T>& v, Faults& faults) {
    faults.check("every size", [&] { return first_series_fault<T>(v.run, v.backend, {0, 1, 2, 33, 1025, 100'003}); });
    if (v.backend == Backend::cuda)
        faults.check("1000003 terms", [&] { return first_series_fault<T>(v.run, v.backend, {1'000'003}); });
    std::vector<gpulab::Tile> tiles;
    faults.check("contract", [&] { return contract<T>(v, tiles); });
    faults.check("numbers of terms next to its tiles", [&] { // of the series whose terms fall slowly
        const std::vector<SeriesProblem<T>> slow = {{Series::pi, 1, 0}};
        return first_series_fault<T>(v.run, v.backend, sizes_next_to(tiles, 1 << 20, "terms"), slow);
    });
    if constexpr (std::is_same_v<T, double>) { // a float's tolerance would hide that many small terms
        bool gpu = v.backend == Backend::cuda;
#if defined(GPULAB_WITH_OPENCL)
        gpu = gpu || (v.backend == Backend::opencl && !gpulab::opencl().description().is_cpu);
#endif
        if (gpu) // a CPU would take minutes
            faults.check("2^32 + 325 terms", [&] { return fault_beyond_32_bits(v.run, v.backend); });
    }
}

template <class T> void check_dot_groups(const Dot<T>& v, Faults& faults) {
    for (const std::size_t groups : {1, 2, 255, 256, 257, 1000}) { // fewer and more than a group has items
        const Groups requested(groups);
        faults.check(fmt::format("{} groups", groups), [&] {
            return first_dot_fault(v.run, v.backend, {1023, 300'007});
        });
    }
}

template <class T> void check_series_groups(const Sequence<T>& v, Faults& faults) {
    {
        const Groups requested(1000); // more than a group has items
        faults.check("1000 groups", [&] { return first_series_fault<T>(v.run, v.backend, {100'003}); });
    }
    if constexpr (std::is_same_v<T, float>)
        faults.check("2^25 terms", [&] { // near x = -1 they hardly fall: a sign that is a little wrong adds up
            const SeriesProblem<float> p{Series::log, -0x1.fffffep-1f, 1u << 25};
            const double tolerance = reduction::series_tolerance<float>(v.backend, p.terms);
            return reduction::compare(reduction::expected_series(p), Scalar<float>{value_of(v.run, p)}, tolerance)
                .message;
        });
}

/// For oclgrind: a ragged group, then two grids of two groups with a ragged group behind.
template <class T> void check_small_dot(const Dot<T>& v, Faults& faults) {
    faults.check("one group", [&] { return first_dot_fault(v.run, v.backend, {33}, whole_numbers); });
    const Groups requested(2);
    faults.check("three rounds", [&] { return first_dot_fault(v.run, v.backend, {2 * 512 + 5}, whole_numbers); });
}
template <class T> void check_small_series(const Sequence<T>& v, Faults& faults) {
    const Groups requested(1);
    const std::vector<SeriesProblem<T>> both = {{Series::pi, 1, 0}, {Series::log, T(-0.5), 0}};
    faults.check("three rounds", [&] { return first_series_fault<T>(v.run, v.backend, {2 * 256 + 5}, both); });
}

/// For compute-sanitizer: less than a tile, two tiles and a ragged one, and a grid that goes round.
template <class T> void check_sanitized_dot(const Dot<T>& v, Faults& faults) {
    std::vector<gpulab::Tile> tiles;
    faults.check("contract", [&] { return contract<T>(v, tiles); });
    Sizes sizes = {0, 1, 1000};
    for (const gpulab::Tile& tile : tiles) sizes.push_back(2 * tile.size + 5);
    faults.check("small sizes", [&] { return first_dot_fault(v.run, v.backend, sizes, whole_numbers); });
}
template <class T> void check_sanitized_series(const Sequence<T>& v, Faults& faults) {
    std::vector<gpulab::Tile> tiles;
    faults.check("contract", [&] { return contract<T>(v, tiles); });
    Sizes terms = {0, 1};
    for (const gpulab::Tile& tile : tiles) terms.push_back(2 * tile.size + 5);
    const std::vector<SeriesProblem<T>> both = {{Series::pi, 1, 0}, {Series::log, T(-0.5), 0}};
    faults.check("few terms", [&] { return first_series_fault<T>(v.run, v.backend, terms, both); });
}

/// The dot products that the study transfers times with their copies.
template <class T> std::vector<Dot<T>> with_copies() {
    constexpr bool in_double = std::is_same_v<T, double>;
    return {{"opencl_copies_and_dot", "", Backend::opencl, GPULAB_IF_OPENCL(reduction::opencl_copies_and_dot<T>),
             gpulab::Needs{.fp64 = in_double}},
            {"cuda_copies_and_dot", "", Backend::cuda, GPULAB_IF_CUDA(reduction::cuda_copies_and_dot<T>)}};
}

/// At sizes next to those of a group and a grid.
template <class T> void check_copies(const Dot<T>& v, Faults& faults) {
    faults.check("every size", [&] { return first_dot_fault(v.run, v.backend, {1, 255, 256, 257, 100'003}); });
    faults.check("its reset", [&] {
        const auto p = reduction::make_dot_problem<T>(1000, seed);
        return reset_fault([&](Scalar<T>& out, gpulab::Stopwatch& watch) { v.run(p, out, watch); }, Scalar<T>(1));
    });
}

template <class T> bool add_cases(const std::string& floats) {
    const auto dots = reduction::dot_variants<T>();
    VariantCases(dots, "multiplies and adds " + floats + "s", "", check_dot<T>);
    VariantCases(dots, "joins the " + floats + " products of any number of groups", "", check_dot_groups<T>,
                 only_on<Backend::opencl>);
    VariantCases(dots, "multiplies and adds " + floats + "s under oclgrind", "[.oclgrind]", check_small_dot<T>,
                 only_on<Backend::opencl>);
    VariantCases(dots, "multiplies and adds " + floats + "s under compute-sanitizer", "[.sanitizer]",
                 check_sanitized_dot<T>, own_cuda);
    VariantCases(with_copies<T>(), "multiplies and adds " + floats + "s", "", check_copies<T>);
    VariantCases(with_copies<T>(), "multiplies and adds " + floats + "s under compute-sanitizer", "[.sanitizer]",
                 check_copies<T>, own_cuda);
    const auto series = reduction::series_variants<T>();
    VariantCases(series, "adds up a series of " + floats + "s", "", check_series<T>);
    VariantCases(series, "joins the " + floats + " terms of any number of groups", "", check_series_groups<T>,
                 only_on<Backend::opencl>);
    VariantCases(series, "adds up a series of " + floats + "s under oclgrind", "[.oclgrind]", check_small_series<T>,
                 only_on<Backend::opencl>);
    VariantCases(series, "adds up a series of " + floats + "s under compute-sanitizer", "[.sanitizer]",
                 check_sanitized_series<T>, own_cuda);
    return true;
}
const bool added[] = {add_cases<float>("float"), add_cases<double>("double")};

} // namespace

TEST_CASE("the terms of the series are those of the book") {
    CHECK(reduction::series_term(Series::pi, 0, 0) == 4);
    CHECK(reduction::series_term(Series::pi, 0, 1) == -4.0 / 3);
    CHECK(reduction::series_term(Series::pi, 0, 2) == 4.0 / 5);
    CHECK(reduction::series_term(Series::log, 0.5, 0) == 0.5);
    CHECK(reduction::series_term(Series::log, 0.5, 1) == -0.125);
    CHECK(reduction::series_term(Series::log, -0.5, 1) == -0.125);
    CHECK(reduction::series_term(Series::log, -0.5, 2) == -0.125 / 3);
}

TEST_CASE("the series come as close to their limits as theory says") {
    // Alternating with falling terms: the rest is smaller than the first term left out.
    const auto pi = reduction::expected_series(SeriesProblem<double>{Series::pi, 1, 100000});
    CHECK(std::abs(pi.value[0] - std::numbers::pi) < 4.0 / 200001);
    const auto log2 = reduction::expected_series(SeriesProblem<double>{Series::log, 1, 100000});
    CHECK(std::abs(log2.value[0] - std::numbers::ln2) < 1.0 / 100001);
    const auto log_half = reduction::expected_series(SeriesProblem<double>{Series::log, -0.5, 60});
    CHECK(std::abs(log_half.value[0] - std::log(0.5)) < 1e-15);
}
