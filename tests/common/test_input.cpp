#include <algorithm>
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <cstdint>
#include <limits>
#include <ranges>
#include <string>
#include <string_view>
#include <utility>
#include <vector>
#if defined(__linux__)
#include <sys/resource.h>
#endif

#include "gpulab/error.hpp"
#include "gpulab/input.hpp"
#include "gpulab/number.hpp"
#include "gpulab/parallel.hpp"
#include "gpulab/sparse/generate.hpp"
#include "gpulab_testing/environment.hpp"

namespace {

/// The seed whose number at position 0 has these bits: random_bits() undone.
std::uint64_t seed_of(std::uint64_t bits) {
    const auto undo_shift = [](std::uint64_t z, int by) { // of z ^ (z >> by)
        std::uint64_t all = z;
        for (int moved = by; moved < 64; moved += by) all = z ^ (all >> by);
        return all;
    };
    const auto inverse = [](std::uint64_t odd) { // modulo 2^64; each step doubles the right bits
        std::uint64_t x = odd;
        for (int step = 0; step < 6; ++step) x *= 2 - odd * x;
        return x;
    };
    std::uint64_t z = undo_shift(bits, 31) * inverse(0x94D049BB133111EBu);
    z = undo_shift(z, 27) * inverse(0xBF58476D1CE4E5B9u);
    z = undo_shift(z, 30);
    return (z - 0x9E3779B97F4A7C15u) * inverse(0xD1342543DE82EF95u) - 1;
}

constexpr std::uint64_t all_ones = ~std::uint64_t{0};

/// The one number that fill_random() gives an array of one element.
template <class T> T only(std::uint64_t seed, T low, T high) { return gpulab::random_vector<T>(1, seed, low, high)[0]; }

} // namespace

TEST_CASE("the bits of a seed can be chosen, so that the rarest numbers can be tested") {
    for (const std::uint64_t bits : {std::uint64_t{0}, std::uint64_t{1}, all_ones, all_ones - 12345})
        CHECK(gpulab::random_bits(seed_of(bits), 0) == bits);
}

TEMPLATE_TEST_CASE("an interval is open: neither end comes out of it, nor zero, whatever the bits", "", float, double) {
    using T = TestType;
    using Limits = std::numeric_limits<T>;
    CHECK(gpulab::random_unit<T>(seed_of(all_ones), 0) < 1);
    CHECK(gpulab::random_unit<T>(seed_of(0), 0) > 0);
    const T tiny = std::nextafter(T{1}, T{2}) - 1;
    const std::vector<std::pair<T, T>> intervals = {
        {T{-1}, T{1}},          {T{0}, T{1}},
        {T{1}, T{2}},           {T{-2}, T{-1}},
        {T{-1}, T{0}},          {T{1000}, T{1001}},
        {T(-0.1), T(0.3)},      {T{1}, 1 + 2 * tiny}, // one number lies between
        {T{1}, 1 + 5 * tiny},   {T{0}, 2 * Limits::denorm_min()},
        {T{0}, Limits::min()},  {Limits::lowest(), Limits::max()},
        {T{-1}, Limits::max()}, {-tiny / 2, 1 - tiny / 2}}; // gives zero where the bits are 0
    for (const auto& [low, high] : intervals)
        for (const std::uint64_t bits :
             {std::uint64_t{0}, std::uint64_t{1} << 11, std::uint64_t{1} << 40, (std::uint64_t{1} << 63) - 1,
              std::uint64_t{1} << 63, all_ones - (std::uint64_t{1} << 41), all_ones - 4096, all_ones}) {
            const T value = only(seed_of(bits), low, high);
            INFO(low << " ... " << high << ", bits " << bits << ": " << value);
            CHECK(value > low);
            CHECK(value < high);
            CHECK(value != 0);
            CHECK(value == gpulab::random_between(seed_of(bits), 0, low, high));
        }
    const T middle = only(seed_of(std::uint64_t{1} << 63), Limits::lowest(), Limits::max()); // its width is infinite
    CHECK(std::abs(middle) < Limits::max() / 1000);
    CHECK(only(seed_of(all_ones), T{1}, T{2}) == std::nextafter(T{2}, T{1}));
    CHECK(only(seed_of(0), T{1}, T{2}) == std::nextafter(T{1}, T{2}));
    for (const auto& [low, high] : {std::pair<T, T>{1, 1},
                                    {2, 1},
                                    {1, 1 + tiny},
                                    {0, Limits::infinity()},
                                    {Limits::quiet_NaN(), 1},
                                    {0, Limits::denorm_min()}})
        CHECK_THROWS_AS(only(1, low, high), gpulab::Error);
}

TEMPLATE_TEST_CASE("the values of a sparse matrix lie inside (-1, 1), whatever the bits, and are not zero", "", float,
                   double) {
    using T = TestType;
    const auto value = [](std::uint64_t bits) { return gpulab::banded<T>(1, 0, seed_of(bits)).value[0]; };
    CHECK((value(all_ones) < 1 && value(all_ones) > T(0.9999999)));
    CHECK((value(0) > -1 && value(0) < T(-0.9999999)));
    CHECK(std::abs(value(std::uint64_t{1} << 63)) > 0);
    CHECK(std::abs(value((std::uint64_t{1} << 63) - 1)) > 0);
    CHECK(value(std::uint64_t{3} << 62) > T(0.49));
}

TEMPLATE_TEST_CASE("every element has its own number, however many threads fill the array", "", float, double) {
    // Sizes next to those at which 1, 2, 3 and 4 threads share an array unequally.
    const std::size_t part = std::size_t{1} << 18;
    for (const char* threads : {"1", "2", "3", "7"}) {
        const gpulab::testing::Environment set("GPULAB_CPU_THREADS", threads);
        for (const std::size_t n : {std::size_t{0}, std::size_t{1}, part - 1, part, part + 1, 2 * part - 1, 2 * part,
                                    2 * part + 1, 3 * part + 1, 3 * part + 2, 7 * part + 5}) {
            const auto values = gpulab::random_vector<TestType>(n, 5, TestType{-1}, TestType{3});
            std::size_t different = 0;
            for (std::size_t i = 0; i < n; ++i)
                different += values[i] != gpulab::random_between(5, i, TestType{-1}, TestType{3});
            INFO(n << " elements, " << threads << " threads");
            CHECK(different == 0);
        }
    }
}

TEMPLATE_TEST_CASE("zeros are zeros, also in memory that was used before", "", float, std::int32_t) {
    const gpulab::testing::Environment set("GPULAB_CPU_THREADS", "3");
    const std::size_t part = std::size_t{1} << 20;
    for (const std::size_t n : {std::size_t{0}, std::size_t{1}, std::size_t{1000}, 2 * part - 1, 3 * part + 2}) {
        (void)std::vector<TestType>(n, TestType{7}); // freed at once
        INFO(n << " elements");
        CHECK(gpulab::zeros<TestType>(n) == std::vector<TestType>(n));
    }
}

#if defined(__linux__)
TEST_CASE("several threads touch the pages of a large array first") {
    const gpulab::testing::Environment set("GPULAB_CPU_THREADS", "4");
    const auto page_faults = [](const auto& make) {
        const auto so_far = [] {
            rusage used{};
            REQUIRE(getrusage(RUSAGE_THREAD, &used) == 0);
            return used.ru_minflt;
        };
        const auto before = so_far();
        (void)make();
        return so_far() - before;
    };
    const std::size_t n = std::size_t{1} << 27; // larger than any block that malloc keeps
    const auto of_one = page_faults([] { return std::vector<unsigned char>(n); });
    const auto of_four = page_faults([] { return gpulab::zeros<unsigned char>(n); });
    INFO("page faults of this thread: " << of_one << " for a vector, " << of_four << " for zeros");
    CHECK(2 * of_four < of_one);
}
#endif

TEST_CASE("random numbers stay inside the open interval, are not zero and fill it evenly") {
    const auto values = gpulab::random_vector<float>(100'000, 3, -1, 1);
    double sum = 0, squares = 0;
    for (const float v : values) {
        REQUIRE((v > -1 && v < 1 && v != 0));
        sum += v;
        squares += double{v} * v;
    }
    CHECK(std::abs(sum / 100'000) < 0.01);                // five standard deviations of the mean
    CHECK(std::abs(squares / 100'000 - 1.0 / 3) < 0.005); // the variance of a uniform distribution on (-1, 1)
    std::vector<float> sorted = values;
    std::sort(sorted.begin(), sorted.end());
    CHECK(std::unique(sorted.begin(), sorted.end()) - sorted.begin() > 99'000); // hardly any two are equal
}

TEST_CASE("the first number of a seed is fixed for all machines") {
    CHECK(gpulab::random_bits(42, 7) == 0xE30A41BC353E4C23u);
    CHECK(gpulab::random_unit(42, 7) > 0);
    CHECK(gpulab::random_unit(42, 7) < 1);
    CHECK(gpulab::random_bits(0, 0) == 0xF4A90164C4749E1Au);
    CHECK(gpulab::random_bits(43, 7) != gpulab::random_bits(42, 8));
    CHECK(gpulab::random_vector<float>(3, 42) == std::vector<float>{0.343933463F, 0.234281659F, -0.679064155F});
    CHECK(gpulab::random_vector<double>(3, 42, 0.0, 1.0) ==
          std::vector<double>{0.67196669445702739, 0.61714086805987056, 0.16046787893936709});
}

TEST_CASE("random doubles have more digits than a float keeps, random floats have only those") {
    const auto values = gpulab::random_vector<double>(1000, 4);
    const auto is_a_float = [](double v) { return static_cast<double>(static_cast<float>(v)) == v; };
    CHECK(std::count_if(values.begin(), values.end(), is_a_float) < 5);
    CHECK(gpulab::random_unit<float>(42, 7) > 0);
    CHECK(gpulab::random_unit<float>(42, 7) < 1);
    CHECK(std::abs(gpulab::random_unit<float>(42, 7) - gpulab::random_unit(42, 7)) < 1e-7);
}

TEST_CASE("a word is read as the same number with and without from_chars(), which libc++ lacks for real numbers") {
    const std::string_view words =
        "0 -0 1.5 -1e-3 .5 5. 1e999 -1e999 1e-999 4e-324 inf -INF 0x10 -0x1p3 1e e5 1,5 --1 1.5.2 "
        "infinite 0.1000000000000000055511151231257827";
    std::vector<std::string_view> all = {"", " 1", "1 ", "- 1", "\t1"};
    for (const auto word : words | std::views::split(' ')) all.emplace_back(word.begin(), word.end());
    for (const std::string_view word : all) {
        INFO('\'' << word << '\'');
        CHECK(gpulab::real_in(word) == gpulab::detail::real_by_strtod(std::string(word)));
    }
    CHECK(gpulab::real_in("1e999") == std::numeric_limits<double>::infinity());
    CHECK_FALSE(gpulab::real_in("0x10"));
    CHECK_FALSE(gpulab::detail::real_by_strtod("+1")); // real_in() takes its sign away
}
