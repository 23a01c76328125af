#include <catch2/catch_test_macros.hpp>
#include <numbers>
#include <vector>

#include "checks.hpp"
#if defined(GPULAB_WITH_OPENCL)
#include "groups.hpp"
#endif

using gpulab::Backend;
using gpulab::testing::Faults;
using gpulab::testing::largest_near_tile;
using gpulab::testing::only_on;
using gpulab::testing::sizes_next_to;
using gpulab::testing::straddling_sizes;
using gpulab::testing::VariantCases;
using reduction::Scalar;
using reduction::Series;
using reduction::SeriesProblem;
using reduction::testing::first_dot_fault;
using reduction::testing::first_series_fault;
using reduction::testing::Sizes;
using reduction::testing::whole_numbers;

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
        Scalar<T> dot(1, T{-1});
        gpulab::Stopwatch once;
        gpulab::testing::in_turn([&] { run({cases[i].a, cases[i].b}, dot, once); });
        if (dot[0] != cases[i].expected && !(std::isnan(dot[0]) && std::isnan(cases[i].expected)))
            return fmt::format("product {} by hand should be {}, got {}", i, cases[i].expected, dot[0]);
    }
    return "";
}

/// CPU variants multiply and add in double: a float does not hold 1e60 on the way to 0.
std::string float_products_fault(reduction::DotRun<float>* run) {
    Scalar<float> dot(1, -1.0f);
    gpulab::Stopwatch once;
    gpulab::testing::in_turn([&] { run({{1e30f, 1e30f}, {1e30f, -1e30f}}, dot, once); });
    return dot[0] == 0 ? "" : fmt::format("1e30 1e30 - 1e30 1e30 should be 0, got {}", dot[0]);
}

/// The tiles that a variant names; and what it should have done beside its answer, or "".
template <class T> std::string contract_violation(const Dot<T>& v, std::vector<gpulab::Tile>& tiles) {
    const auto p = reduction::make_dot_problem<T>(1000, gpulab::testing::seed);
    return reduction::testing::contract_violation(v, p, Scalar<T>(1), tiles);
}

template <class T> void check_dot(const Dot<T>& v, Faults& faults) {
    faults.check("by hand", [&] { return dot_fault_by_hand<T>(v.run); });
    faults.check("every size", [&] { return first_dot_fault(v.run, v.backend, straddling_sizes()); });
    std::vector<gpulab::Tile> tiles;
    faults.check("contract", [&] { return contract_violation<T>(v, tiles); });
    faults.check("sizes next to its tiles", [&] {
        return first_dot_fault(v.run, v.backend, sizes_next_to(tiles, largest_near_tile(v.backend)), whole_numbers);
    });
    faults.check("NaN and infinities", [&]() -> std::string {
        for (const std::size_t n : reduction::testing::special_sizes(tiles, 100'000))
            if (const std::string fault = reduction::testing::special_dot_fault(v.run, n, tiles); !fault.empty())
                return fault;
        return "";
    });
    if (!v.baseline && reduction::testing::keeps_denormals<T>(v.backend)) // a library may take them for 0
        faults.check("denormals", [&]() -> std::string {
            for (const std::size_t n : {1, 1000, 100'003})
                if (const std::string fault = reduction::testing::denormal_dot_fault(v.run, n); !fault.empty())
                    return fault;
            return "";
        });
    faults.check("2^24 + 8 elements",
                 [&] { return first_dot_fault(v.run, v.backend, {(1 << 24) + 8}, whole_numbers); });
    if (v.backend == Backend::cuda)
        faults.check("16777259 elements", [&] { return first_dot_fault(v.run, v.backend, {16'777'259}); });
    if constexpr (std::is_same_v<T, float>)
        if (v.backend == Backend::cpu) faults.check("in double", [&] { return float_products_fault(v.run); });
}

const VariantCases float_dots(reduction::dot_variants<float>(), "multiplies and adds floats", "", check_dot<float>);
const VariantCases double_dots(reduction::dot_variants<double>(), "multiplies and adds doubles", "", check_dot<double>);

// Series.

template <class T> std::string contract_violation(const Sequence<T>& v, std::vector<gpulab::Tile>& tiles) {
    const SeriesProblem<T> p{Series::pi, 1, 1000};
    return reduction::testing::contract_violation(v, p, Scalar<T>(1), tiles, "terms");
}

template <class T> void check_series(const Sequence<T>& v, Faults& faults) {
    faults.check("every size", [&] { return first_series_fault<T>(v.run, v.backend, {0, 1, 2, 33, 1025, 100'003}); });
    if (v.backend == Backend::cuda)
        faults.check("1000003 terms", [&] { return first_series_fault<T>(v.run, v.backend, {1'000'003}); });
    std::vector<gpulab::Tile> tiles;
    faults.check("contract", [&] { return contract_violation<T>(v, tiles); });
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
            faults.check("2^32 + 325 terms",
                         [&] { return reduction::testing::fault_beyond_32_bits(v.run, v.backend); });
    }
}

const VariantCases float_series(reduction::series_variants<float>(), "adds up a series of floats", "",
                                check_series<float>);
const VariantCases double_series(reduction::series_variants<double>(), "adds up a series of doubles", "",
                                 check_series<double>);

} // namespace

#if defined(GPULAB_WITH_OPENCL)
namespace {

template <class T> void check_dot_groups(const Dot<T>& v, Faults& faults) {
    for (const std::size_t groups : {1, 2, 255, 256, 257, 1000}) { // fewer and more than a group has items
        const reduction::testing::Groups requested(groups);
        faults.check(fmt::format("{} groups", groups), [&] {
            return first_dot_fault(v.run, v.backend, {1023, 300'007});
        });
    }
}

template <class T> void check_series_groups(const Sequence<T>& v, Faults& faults) {
    {
        const reduction::testing::Groups requested(1000); // more than a group has items
        faults.check("1000 groups", [&] { return first_series_fault<T>(v.run, v.backend, {100'003}); });
    }
    if constexpr (std::is_same_v<T, float>)
        faults.check("2^25 terms", [&] { // near x = -1 they hardly fall: a sign that is a little wrong adds up
            const SeriesProblem<float> p{Series::log, -0x1.fffffep-1f, 1u << 25};
            Scalar<float> sum(1, gpulab::poison_value<float>());
            gpulab::Stopwatch once;
            gpulab::testing::in_turn([&] { v.run(p, sum, once); });
            const double tolerance = reduction::series_tolerance<float>(v.backend, p.terms);
            return reduction::compare(reduction::expected_series(p), sum, tolerance).message;
        });
}

const VariantCases float_dot_groups(reduction::dot_variants<float>(),
                                    "joins the float products of any number of groups", "", check_dot_groups<float>,
                                    only_on<Backend::opencl>);
const VariantCases double_dot_groups(reduction::dot_variants<double>(),
                                     "joins the double products of any number of groups", "", check_dot_groups<double>,
                                     only_on<Backend::opencl>);
const VariantCases float_series_groups(reduction::series_variants<float>(),
                                       "joins the float terms of any number of groups", "", check_series_groups<float>,
                                       only_on<Backend::opencl>);
const VariantCases double_series_groups(reduction::series_variants<double>(),
                                        "joins the double terms of any number of groups", "",
                                        check_series_groups<double>, only_on<Backend::opencl>);

/// For oclgrind: a ragged group, then two grids of two groups with a ragged group behind.
template <class T> void check_small_dot(const Dot<T>& v, Faults& faults) {
    faults.check("one group", [&] { return first_dot_fault(v.run, v.backend, {33}, whole_numbers); });
    const reduction::testing::Groups requested(2);
    faults.check("three rounds", [&] { return first_dot_fault(v.run, v.backend, {2 * 512 + 5}, whole_numbers); });
}
template <class T> void check_small_series(const Sequence<T>& v, Faults& faults) {
    const reduction::testing::Groups requested(1);
    const std::vector<SeriesProblem<T>> both = {{Series::pi, 1, 0}, {Series::log, T(-0.5), 0}};
    faults.check("three rounds", [&] { return first_series_fault<T>(v.run, v.backend, {2 * 256 + 5}, both); });
}

const VariantCases oclgrind_float_dots(reduction::dot_variants<float>(), "multiplies and adds floats under oclgrind",
                                       "[.oclgrind]", check_small_dot<float>, only_on<Backend::opencl>);
const VariantCases oclgrind_double_dots(reduction::dot_variants<double>(), "multiplies and adds doubles under oclgrind",
                                        "[.oclgrind]", check_small_dot<double>, only_on<Backend::opencl>);
const VariantCases oclgrind_float_series(reduction::series_variants<float>(),
                                         "adds up a series of floats under oclgrind", "[.oclgrind]",
                                         check_small_series<float>, only_on<Backend::opencl>);
const VariantCases oclgrind_double_series(reduction::series_variants<double>(),
                                          "adds up a series of doubles under oclgrind", "[.oclgrind]",
                                          check_small_series<double>, only_on<Backend::opencl>);

} // namespace
#endif

#if defined(GPULAB_WITH_CUDA)
namespace {

/// For compute-sanitizer: less than a tile, two tiles and a ragged one, and a grid that goes round.
template <class T> void check_sanitized_dot(const Dot<T>& v, Faults& faults) {
    std::vector<gpulab::Tile> tiles;
    faults.check("contract", [&] { return contract_violation<T>(v, tiles); });
    Sizes sizes = {0, 1, 1000};
    for (const gpulab::Tile& tile : tiles) sizes.push_back(2 * tile.size + 5);
    faults.check("small sizes", [&] { return first_dot_fault(v.run, v.backend, sizes, whole_numbers); });
}
template <class T> void check_sanitized_series(const Sequence<T>& v, Faults& faults) {
    std::vector<gpulab::Tile> tiles;
    faults.check("contract", [&] { return contract_violation<T>(v, tiles); });
    Sizes terms = {0, 1};
    for (const gpulab::Tile& tile : tiles) terms.push_back(2 * tile.size + 5);
    const std::vector<SeriesProblem<T>> both = {{Series::pi, 1, 0}, {Series::log, T(-0.5), 0}};
    faults.check("few terms", [&] { return first_series_fault<T>(v.run, v.backend, terms, both); });
}

const VariantCases sanitizer_float_dots(reduction::dot_variants<float>(),
                                        "multiplies and adds floats under compute-sanitizer", "[.sanitizer]",
                                        check_sanitized_dot<float>, gpulab::testing::own_cuda);
const VariantCases sanitizer_double_dots(reduction::dot_variants<double>(),
                                         "multiplies and adds doubles under compute-sanitizer", "[.sanitizer]",
                                         check_sanitized_dot<double>, gpulab::testing::own_cuda);
const VariantCases sanitizer_float_series(reduction::series_variants<float>(),
                                          "adds up a series of floats under compute-sanitizer", "[.sanitizer]",
                                          check_sanitized_series<float>, gpulab::testing::own_cuda);
const VariantCases sanitizer_double_series(reduction::series_variants<double>(),
                                           "adds up a series of doubles under compute-sanitizer", "[.sanitizer]",
                                           check_sanitized_series<double>, gpulab::testing::own_cuda);

} // namespace
#endif

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
