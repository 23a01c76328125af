#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "gpulab/compare.hpp"
#include "gpulab/guard.hpp"
#include "gpulab/input.hpp"
#include "gpulab_testing/environment.hpp"
#include "gpulab_testing/testing.hpp"

using gpulab::compare;

namespace {
constexpr float nan_f = std::numeric_limits<float>::quiet_NaN();
constexpr float inf = std::numeric_limits<float>::infinity();
using Floats = std::vector<float>;
} // namespace

TEST_CASE("what is within the tolerance passes, equal and empty arrays with error 0, and what is above it fails") {
    CHECK(compare(Floats{1, -2, 3}, Floats{1, -2, 3}, 0).passed);
    CHECK(compare(Floats{1, -2, 3}, Floats{1, -2, 3}, 0).error == 0);
    CHECK(compare(Floats{}, Floats{}, 0).passed);
    CHECK(compare(Floats{1}, Floats{1.5f}, 0.5).passed);
    CHECK_FALSE(compare(Floats{1}, Floats{1.5001f}, 0.5).passed);
}

TEST_CASE("NaN fails wherever it stands, against a number and against NaN, at any tolerance, and is the worst error") {
    CHECK_FALSE(compare(Floats{1, 2, 3}, Floats{1, nan_f, 3}, 1e30).passed);
    CHECK_FALSE(compare(Floats{nan_f}, Floats{nan_f}, 1e30).passed);
    CHECK_FALSE(compare(Floats{nan_f}, Floats{1}, 1e30).passed);
    CHECK(compare(Floats{0, 0, 0}, Floats{0.1f, nan_f, 0.2f}, 1).worst == 1);
    const auto all_wrong = compare(Floats{0, 0, 0}, Floats{2, nan_f, 4}, 1);
    CHECK((all_wrong.wrong == 3 && all_wrong.first == 0 && all_wrong.worst == 1));
    CHECK(std::isnan(all_wrong.error));
}

TEST_CASE("equal infinities agree, different ones and finite numbers do not") {
    CHECK(compare(Floats{inf, -inf}, Floats{inf, -inf}, 0).passed);
    CHECK(compare(Floats{0.0f}, Floats{-0.0f}, 0).passed); // as CONTRIBUTING says
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

TEST_CASE("a failure counts the wrong elements and tells the first from the worst") {
    const auto c = compare(Floats{1, 2, 3, 4}, Floats{1, 2.5f, 3, 9}, 0.1);
    CHECK_FALSE(c.passed);
    CHECK(c.wrong == 2);
    CHECK(c.first == 1);
    CHECK(c.worst == 3);
    CHECK(c.error == 5);
    CHECK(c.message == "2 of 4 elements wrong: elements 1 and 3. First: element 1, expected 2, got 2.5. "
                       "Worst: element 3, error 5, tolerance 0.1.");
    const auto right = compare(Floats{1, 2, 3, 4}, Floats{1, 2.05f, 3, 4}, 0.1);
    CHECK(right.passed);
    CHECK(right.wrong == 0);
    CHECK(right.worst == 1);
    CHECK(right.message == "");
}

TEST_CASE("several threads find the same as one, whatever stands where two of them meet") {
    constexpr std::size_t n = (std::size_t{1} << 20) + 5; // up to four threads
    std::vector<float> expected(n);
    for (std::size_t i = 0; i < n; ++i) expected[i] = static_cast<float>(i % 1000);
    const std::vector<std::vector<std::pair<std::size_t, float>>> planted = {
        {},
        {{7, 0.25f}, {n - 1, 0.25f}}, // within the tolerance, the same twice
        {{n - 1, 0.25f}, {n / 2, 0.375f}},
        {{n / 4, 2.0f}, {n - 2, 0.25f}}, // one failure, and an error within
        {{n / 4 + 2, 2.0f}, {n / 2 + 3, 8.0f}, {n - 1, 8.0f}},
        {{5, 2.0f}, {n / 2, nan_f}, {n - 1, nan_f}, {n - 3, 1e6f}},
        {{n / 3, inf}, {2 * n / 3, inf}},
    };
    for (const auto& list : planted) {
        std::vector<float> actual = expected;
        for (const auto& [at, off] : list) actual[at] += off;
        std::vector<gpulab::Comparison> found;
        for (const char* const threads : {"1", "2", "3", "4"}) {
            const gpulab::testing::Environment environment("GPULAB_CPU_THREADS", threads);
            found.push_back(compare(expected, actual, 0.5));
        }
        CAPTURE(list.size(), list.empty() ? 0 : list.front().first);
        for (const gpulab::Comparison& c : found) {
            CHECK(c.passed == found.front().passed);
            CHECK((c.error == found.front().error || (std::isnan(c.error) && std::isnan(found.front().error))));
            CHECK(c.worst == found.front().worst);
            CHECK(c.wrong == found.front().wrong);
            CHECK(c.first == found.front().first);
            CHECK(c.message == found.front().message);
        }
        const auto fails = std::ranges::count_if(list, [](const auto& one) { return !(one.second <= 0.5f); });
        CHECK(found.front().wrong == static_cast<std::size_t>(fails));
    }
}

TEST_CASE("a failure message gives values with all the digits that tell them apart, and no more") {
    CHECK(compare(Floats{0.1f}, Floats{0.10000001f}, 0).message ==
          "1 of 1 elements wrong: all. First and worst: element 0, expected 0.1, got 0.10000001, error 7.45e-09, "
          "tolerance 0.");
    CHECK(compare(std::vector<double>{0.1}, std::vector<double>{0.30000000000000004}, 0.1).message ==
          "1 of 1 elements wrong: all. First and worst: element 0, expected 0.1, got 0.30000000000000004, error 0.2, "
          "tolerance 0.1.");
    CHECK(
        compare(std::vector<std::int64_t>{9007199254740993}, std::vector<std::int64_t>{9007199254740992}, 0).message ==
        "1 of 1 elements wrong: all. First and worst: element 0, expected 9007199254740993, got 9007199254740992, "
        "error 1, tolerance 0.");
    CHECK(compare(std::vector<unsigned char>{200}, std::vector<unsigned char>{7}, 0).message ==
          "1 of 1 elements wrong: all. First and worst: element 0, expected 200, got 7, error 193, tolerance 0.");
    // Three digits would show the error as no larger than the tolerance.
    CHECK(compare(std::vector<double>{0}, std::vector<double>{1.0009765625}, 1).message ==
          "1 of 1 elements wrong: all. First and worst: element 0, expected 0, got 1.0009765625, error 1.0009765625, "
          "tolerance 1.");
}

TEST_CASE("a bound that is no number accepts nothing, and says so") {
    const double infinite = inf;
    CHECK(compare(Floats{1}, Floats{1}, infinite).message ==
          "the tolerance inf accepts nothing: it must be finite and not negative");
    CHECK(compare(Floats{}, Floats{}, -1).message ==
          "the tolerance -1 accepts nothing: it must be finite and not negative");
    CHECK_FALSE(compare(Floats{}, Floats{}, -1).passed);
    CHECK_FALSE(compare(Floats{1}, Floats{2}, infinite).passed);
    CHECK_FALSE(compare(Floats{1}, Floats{2}, std::numeric_limits<double>::quiet_NaN()).passed);
    CHECK_FALSE(compare(Floats{1, 1}, Floats{2, 1}, 1, [=](std::size_t) { return infinite; }).passed);
}

namespace {

/// No element is a simple function of its neighbours, and none is zero.
Floats thousand() {
    Floats values(1000);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i * i) + 1.25f;
    return values;
}

/// What a message says behind these words up to the first wrong element; "" when it does not have the words.
std::string after(const std::string& message, const std::string& words) {
    const std::size_t at = message.find(words), begin = at + words.size();
    return at == std::string::npos ? "" : message.substr(begin, message.find(". First") - begin);
}

/// Where the message says that the wrong elements are, when those of which `is_wrong(i)` are 0.5 too large.
template <class IsWrong> std::string where(const IsWrong& is_wrong) {
    const Floats expected = thousand();
    Floats actual = expected;
    std::size_t count = 0;
    for (std::size_t i = 0; i < actual.size(); ++i)
        if (is_wrong(i)) {
            actual[i] += 0.5f;
            ++count;
        }
    const std::string message = compare(expected, actual, 0.1).message;
    return after(message, std::to_string(count) + " of 1000 elements wrong: ");
}

/// What the message says the wrong ones look like, when element i is wrong(i) instead.
template <class Wrong> std::string look(const Wrong& wrong, std::size_t begin = 0, std::size_t end = 1000) {
    const Floats expected = thousand();
    Floats actual = expected;
    for (std::size_t i = begin; i < end; ++i) actual[i] = wrong(i);
    return after(compare(expected, actual, 0.1).message, "; looks like: ");
}

} // namespace

TEST_CASE("a failure says in words which elements are wrong") {
    using Index = std::size_t;
    CHECK(where([](Index) { return true; }) == "all");
    CHECK(where([](Index i) { return i == 17; }) == "only element 17");
    CHECK(where([](Index i) { return i < 3; }) == "the first 3");
    CHECK(where([](Index i) { return i >= 997; }) == "the last 3");
    CHECK(where([](Index i) { return i >= 745; }) == "the last 255");
    CHECK(where([](Index i) { return i >= 744; }) == "all from element 744 on");
    CHECK(where([](Index i) { return i > 0; }) == "all from element 1 on");
    CHECK(where([](Index i) { return i >= 32 && i < 64; }) == "elements 32 to 63");
    CHECK(where([](Index i) { return i == 0 || i > 989; }) == "elements 0 and 990 to 999");
    CHECK(where([](Index i) { return i % 32 == 0; }) == "every 32nd");
    CHECK(where([](Index i) { return i % 32 == 31; }) == "every 32nd, from element 31 on");
    CHECK(where([](Index i) { return i % 2 == 1; }) == "every 2nd, from element 1 on");
    CHECK(where([](Index i) { return i % 101 == 0; }) == "every 101st");
    CHECK(where([](Index i) { return i % 33 == 0; }) == "every 33rd");
    CHECK(where([](Index i) { return i % 12 == 0; }) == "every 12th");
    CHECK(where([](Index i) { return i % 100 == 0 && i < 500; }) == "every 100th, up to element 400");
    CHECK(where([](Index i) { return i % 100 < 3 && i < 500; }) == "3 of every 100, up to element 402");
    CHECK(where([](Index i) { return i % 16 >= 12; }) == "4 of every 16, from element 12 on");
    CHECK(where([](Index i) { return i % 333 < 3; }) == "3 of every 333"); // cut short by the end
    CHECK(where([](Index i) { return i != 500; }) == "elements 0 to 499 and 501 to 999");
    CHECK(where([](Index i) { return i % 32 != 0; }) == "31 of every 32, from element 1 on");
    CHECK(where([](Index i) { return i % 100 != 0 && i > 9; }) == "nearly all between element 10 and element 999");
    CHECK(where([](Index i) { return i % 100 != 50; }) == "all but every 100th, from element 50 on");
    // From nine tenths on it is nearly all. The right ones do not lie at regular distances.
    CHECK(where([](Index i) { return i % 10 != 5 || i == 505; }) == "nearly all between element 0 and element 999");
    CHECK(where([](Index i) { return (i % 10 != 5 || i == 505) && i != 507; }) ==
          "nearly all between element 0 and element 999");
    CHECK(where([](Index i) { return i % 10 != 5 && i != 507; }) == "scattered between element 0 and element 999");
    CHECK(where([](Index i) { return i == 3 || i == 17 || i == 90; }) == "scattered between element 3 and element 90");
    // Regular in their distance but not in their length, and the other way round.
    CHECK(where([](Index i) { return i == 0 || i == 100 || i == 101 || i == 200; }) ==
          "scattered between element 0 and element 200");
    CHECK(where([](Index i) { return i == 0 || i == 100 || i == 200 || i == 201; }) ==
          "scattered between element 0 and element 201");
    CHECK(where([](Index i) { return i / 2 == 0 || i / 2 == 50 || i == 200; }) ==
          "scattered between element 0 and element 200");
}

TEST_CASE("a failure says in words what the wrong elements hold") {
    const Floats e = thousand();
    using Index = std::size_t;
    const std::string unwritten = "never written, or computed from unwritten data";
    CHECK(look([](Index) { return gpulab::poison_value<float>(); }) == unwritten);
    CHECK(look([](Index) { return gpulab::poison_value<float>(); }, 990) == unwritten);
    CHECK(look([&](Index i) { return i < 12 ? gpulab::poison_value<float>() : e[i] + 0.5f; }) ==
          "12 of them " + unwritten);
    CHECK(look([](Index) { return nan_f; }) == "NaN"); // a kernel's own NaN is none of ours
    CHECK(look([&](Index i) { return i < 12 ? nan_f : 7.0f; }) == "12 of them NaN");
    CHECK(look([](Index) { return 0.0f; }) == "zero");
    CHECK(look([&](Index i) { return i == 0 ? 77 : e[i - 1]; }) == "off by one: what is expected one element before");
    CHECK(look([&](Index i) { return i == 999 ? 77 : e[i + 1]; }) == "off by one: what is expected one element after");
    CHECK(look([&](Index i) { return i % 2 == 0 ? e[i] : e[i + 1]; }, 0, 999) ==
          "off by one: what is expected one element after");
    CHECK(look([&](Index i) { return 2 * e[i]; }) == "twice the expected value");
    CHECK(look([&](Index i) { return e[i] / 2; }) == "half the expected value");
    CHECK(look([&](Index i) { return -e[i]; }) == "the expected value with the other sign");
    CHECK(look([&](Index i) { return e[i] + 0.5f; }) == "");
    CHECK(look([&](Index i) { return i == 500 ? e[i] + 0.5f : 2 * e[i]; }) == "");
    CHECK(look([&](Index) { return 5e6f; }, 0, 1) == ""); // no neighbour speaks for a shift
}

TEST_CASE("of many wrong bytes some look like poison by chance, and are not called unwritten") {
    using Bytes = std::vector<unsigned char>;
    const auto look = [](const Bytes& expected, const Bytes& actual) {
        return after(compare(expected, actual, 0).message, "looks like: ");
    };
    const auto random_bytes = [](std::size_t n, std::uint64_t seed) {
        Bytes bytes(n);
        for (std::size_t i = 0; i < n; ++i) bytes[i] = static_cast<unsigned char>(gpulab::random_bits(seed, i));
        return bytes;
    };
    const Bytes all = random_bytes(10'001, 1), other = random_bytes(10'000, 2);
    const Bytes e(all.begin(), all.end() - 1), after(all.begin() + 1, all.end());
    REQUIRE(std::count(after.begin(), after.end(), gpulab::poison_value<unsigned char>()) > 0);
    REQUIRE(std::count(other.begin(), other.end(), gpulab::poison_value<unsigned char>()) > 0);
    CHECK(look(e, after) == "off by one: what is expected one element after");
    CHECK(look(e, other) == "");
    CHECK(look(e, Bytes(10'000, gpulab::poison_value<unsigned char>())) == "never written");
    Bytes part = other;
    std::fill_n(part.begin(), 2'000, gpulab::poison_value<unsigned char>());
    CHECK(look(e, part).ends_with(" of them never written"));
    CHECK(look({1, 2}, {1, gpulab::poison_value<unsigned char>()}) == "never written");
}

TEST_CASE("what was never written is told by its bits") {
    CHECK(gpulab::is_poison(gpulab::poison_value<float>()));
    CHECK(gpulab::is_poison(gpulab::poison_value<double>()));
    CHECK(gpulab::is_poison(gpulab::poison_value<int>()));
    CHECK_FALSE(gpulab::is_poison(nan_f));
    CHECK_FALSE(gpulab::is_poison(-nan_f));
    CHECK_FALSE(gpulab::is_poison(std::numeric_limits<double>::quiet_NaN()));
    CHECK_FALSE(gpulab::is_poison(-1));
    // Memory is filled byte by byte, a vector value by value: both must be the same.
    const auto same = []<class T>(T value) {
        unsigned char bytes[sizeof(T)], filled[sizeof(T)];
        std::memcpy(bytes, &value, sizeof(T));
        std::memset(filled, gpulab::poison_byte_for<T>(), sizeof(T));
        return std::memcmp(bytes, filled, sizeof(T)) == 0;
    };
    CHECK(same(gpulab::poison_value<float>()));
    CHECK(same(gpulab::poison_value<double>()));
    CHECK(same(gpulab::poison_value<int>()));
    CHECK(same(gpulab::poison_value<std::uint64_t>()));
    CHECK(same(gpulab::poison_value<unsigned char>()));
    CHECK(compare(std::vector<int>{4, 5, 6}, std::vector<int>{4, 5, gpulab::poison_value<int>()}, 0).message ==
          "1 of 3 elements wrong: only element 2; looks like: never written. First and worst: element 2, expected 6, "
          "got -1482184793, error 1.48e+09, tolerance 0.");
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
    const auto accepts = []<class T>(std::vector<T> expected, double tolerance) {
        std::vector<T> unwritten(expected.size());
        gpulab::poison(unwritten);
        return compare(expected, unwritten, tolerance).passed;
    };
    CHECK_FALSE(accepts(Floats{1, 2, 3}, 1e30));
    CHECK_FALSE(accepts(Floats{0, 0, 0}, 1e30));
    CHECK_FALSE(accepts(std::vector<double>{0}, 1e300));
    CHECK_FALSE(accepts(std::vector<int>{0}, 0));
    CHECK_FALSE(accepts(std::vector<int>{-1}, 0));
}

TEST_CASE("integers that a double cannot tell apart still differ") {
    using Wide = std::vector<std::int64_t>;
    CHECK_FALSE(compare(Wide{1LL << 53}, Wide{(1LL << 53) + 1}, 0).passed);
    CHECK(compare(Wide{(1LL << 53) + 1}, Wide{(1LL << 53) + 1}, 0).passed);
}

TEST_CASE("the tests' own check sees a variant that writes nothing, adds up or does not time itself") {
    struct Nothing {};
    using gpulab::Stopwatch;
    const auto fault = [](const auto& run) {
        Floats out(2);
        return gpulab::testing::fault_of([&](Nothing, Floats& o, Stopwatch& w) { run(o, w); }, Nothing{}, out,
                                         [&] {
                                             return compare(Floats{1, 1}, out, 0);
                                         });
    };
    CHECK(fault([](Floats& o, Stopwatch& w) { w.time([&] { o = {1, 1}; }); }) == "");
    CHECK(fault([](Floats&, Stopwatch& w) { w.time([] {}); }) != ""); // idle
    CHECK(fault([](Floats& o, Stopwatch& w) {
              o = {0, 0};
              w.time([&] { o = {o[0] + 1, o[1] + 1}; });
          }) != "");
    CHECK(fault([](Floats& o, Stopwatch&) { o = {1, 1}; }) != ""); // not timed
    CHECK(fault([](Floats&, Stopwatch&) { throw gpulab::WrongResult("wrote outside"); }) == "wrote outside");
    CHECK(fault([](Floats& o, Stopwatch& w) {
              w.time([&] { o = {1, 1}; });
              gpulab::note_stray_write("behind an input");
          }) == "behind an input");
    CHECK(fault([](Floats& o, Stopwatch& w) { // right the second time
              w.time([&] { o = std::isnan(o[0]) ? Floats{0, 0} : Floats{1, 1}; });
          }) != "");
}
