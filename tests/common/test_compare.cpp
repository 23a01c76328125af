#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "gpulab/compare.hpp"
#include "gpulab/guard.hpp"
#include "gpulab_testing/testing.hpp"

using gpulab::compare;

namespace {
constexpr float nan_f = std::numeric_limits<float>::quiet_NaN();
constexpr float inf = std::numeric_limits<float>::infinity();
using Floats = std::vector<float>;
} // namespace

TEST_CASE("equal arrays pass with error 0, empty ones too") {
    CHECK(compare(Floats{1, -2, 3}, Floats{1, -2, 3}, 0).passed);
    CHECK(compare(Floats{1, -2, 3}, Floats{1, -2, 3}, 0).error == 0);
    CHECK(compare(Floats{}, Floats{}, 0).passed);
}

TEST_CASE("an error at the tolerance passes and one above it fails") {
    CHECK(compare(Floats{1}, Floats{1.5f}, 0.5).passed);
    CHECK_FALSE(compare(Floats{1}, Floats{1.5001f}, 0.5).passed);
}

TEST_CASE("NaN fails wherever it stands, against a number and against NaN, at any tolerance") {
    CHECK_FALSE(compare(Floats{1, 2, 3}, Floats{1, nan_f, 3}, 1e30).passed);
    CHECK_FALSE(compare(Floats{nan_f}, Floats{nan_f}, 1e30).passed);
    CHECK_FALSE(compare(Floats{nan_f}, Floats{1}, 1e30).passed);
    CHECK_FALSE(compare(Floats{1}, Floats{2}, std::numeric_limits<double>::quiet_NaN()).passed);
}

TEST_CASE("a NaN is reported even when larger errors stand before and after it") {
    const auto c = compare(Floats{0, 0, 0}, Floats{0.1f, nan_f, 0.2f}, 1);
    CHECK_FALSE(c.passed);
    CHECK(c.worst == 1);
}

TEST_CASE("equal infinities agree, different ones and finite numbers do not") {
    CHECK(compare(Floats{inf, -inf}, Floats{inf, -inf}, 0).passed);
    CHECK_FALSE(compare(Floats{inf}, Floats{-inf}, 1e30).passed);
    CHECK_FALSE(compare(Floats{inf}, Floats{1}, 1e30).passed);
    CHECK_FALSE(compare(Floats{1}, Floats{inf}, 1e30).passed);
}

TEST_CASE("arrays of different lengths fail, whatever they hold") {
    const auto c = compare(Floats{1, 2}, Floats{1}, 1e30);
    CHECK_FALSE(c.passed);
    CHECK(c.message == "expected 2 elements, got 1");
    CHECK_FALSE(compare(Floats{}, Floats{1}, 1e30).passed);
}

TEST_CASE("the message names the worst element, both values, the error and the tolerance") {
    const auto c = compare(Floats{1, 2, 3}, Floats{1, 4, 3.25f}, 0.1);
    CHECK_FALSE(c.passed);
    CHECK(c.worst == 1);
    CHECK(c.message == "element 1 of 3: expected 2, got 4 (error 2, tolerance 0.1)");
}

TEST_CASE("the scale makes the error relative, and a scale of 0 demands the exact result") {
    const auto hundred = [](std::size_t) { return 100.0; };
    CHECK(compare(Floats{1}, Floats{2}, 0.01, hundred).passed);
    CHECK_FALSE(compare(Floats{1}, Floats{3}, 0.01, hundred).passed);
    const auto zero = [](std::size_t) { return 0.0; };
    CHECK(compare(Floats{5}, Floats{5}, 0.01, zero).passed);
    CHECK_FALSE(compare(Floats{0}, Floats{1e-30f}, 1e30, zero).passed);
}

TEST_CASE("an output nobody wrote fails, as float, double and integer") {
    Floats f(3);
    gpulab::poison(f);
    CHECK_FALSE(compare(Floats{1, 2, 3}, f, 1e30).passed);
    CHECK_FALSE(compare(Floats{0, 0, 0}, f, 1e30).passed);
    std::vector<double> d(1);
    gpulab::poison(d);
    CHECK_FALSE(compare(std::vector<double>{0}, d, 1e300).passed);
    std::vector<int> i(1);
    gpulab::poison(i);
    CHECK_FALSE(compare(std::vector<int>{0}, i, 0).passed);
}

TEST_CASE("integers that a double cannot tell apart still differ, and a bound that is no number accepts nothing") {
    using Wide = std::vector<std::int64_t>;
    CHECK_FALSE(compare(Wide{1LL << 53}, Wide{(1LL << 53) + 1}, 0).passed);
    CHECK(compare(Wide{(1LL << 53) + 1}, Wide{(1LL << 53) + 1}, 0).passed);
    CHECK_FALSE(compare(Floats{1}, Floats{2}, std::numeric_limits<double>::infinity()).passed);
    CHECK_FALSE(compare(Floats{1}, Floats{2}, 1, [](std::size_t) { return double{inf}; }).passed);
    std::vector<int> unwritten(1);
    gpulab::poison(unwritten);
    CHECK_FALSE(compare(std::vector<int>{-1}, unwritten, 0).passed);
}

TEST_CASE("guard bands that a kernel touched are a wrong result, and the message says where") {
    std::vector<unsigned char> before(512, gpulab::guard_byte), after(512, gpulab::guard_byte);
    CHECK_NOTHROW(gpulab::check_guards(before.data(), after.data(), 512, 4));
    after[9] = 0;
    CHECK_THROWS_AS(gpulab::check_guards(before.data(), after.data(), 512, 4), gpulab::WrongResult);
    after[9] = gpulab::guard_byte;
    before[511] = 0;
    CHECK_THROWS_AS(gpulab::check_guards(before.data(), after.data(), 512, 4), gpulab::WrongResult);
}

TEST_CASE("the tests' own check sees a variant that writes nothing, adds up or does not time itself") {
    struct Nothing {};
    Floats out(2);
    const auto judge = [&] { return compare(Floats{1, 1}, out, 0); };
    using gpulab::Stopwatch;
    const auto right = [](Nothing, Floats& o, Stopwatch& w) { w.time([&] { o = {1, 1}; }); };
    const auto idle = [](Nothing, Floats&, Stopwatch& w) { w.time([] {}); };
    const auto adds = [](Nothing, Floats& o, Stopwatch& w) {
        o = {0, 0};
        w.time([&] { o[0] += 1, o[1] += 1; });
    };
    const auto untimed = [](Nothing, Floats& o, Stopwatch&) { o = {1, 1}; };
    const auto stray = [](Nothing, Floats&, Stopwatch&) { throw gpulab::WrongResult("wrote outside"); };
    CHECK(gpulab::testing::fault_of(right, Nothing{}, out, judge) == "");
    CHECK(gpulab::testing::fault_of(idle, Nothing{}, out, judge) != "");
    CHECK(gpulab::testing::fault_of(adds, Nothing{}, out, judge) != "");
    CHECK(gpulab::testing::fault_of(untimed, Nothing{}, out, judge) != "");
    CHECK(gpulab::testing::fault_of(stray, Nothing{}, out, judge) == "wrote outside");
    const auto freed_damaged = [](Nothing, Floats& o, Stopwatch& w) {
        w.time([&] { o = {1, 1}; });
        gpulab::note_stray_write("behind an input");
    };
    CHECK(gpulab::testing::fault_of(freed_damaged, Nothing{}, out, judge) == "behind an input");
    const auto second_time = [](Nothing, Floats& o, Stopwatch& w) {
        w.time([&] { o = std::isnan(o[0]) ? Floats{0, 0} : Floats{1, 1}; });
    };
    CHECK(gpulab::testing::fault_of(second_time, Nothing{}, out, judge) != "");
}
