#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <vector>

#include "gpulab/ceilings.hpp"
#include "gpulab/math.hpp"
#include "gpulab/metrics.hpp"
#include "gpulab/raise.hpp"
#include "gpulab/test_hooks.hpp"

namespace {
bool near(double a, double b) { return std::abs(a - b) <= 1e-12 * std::abs(b); }
} // namespace

TEST_CASE("the largest of some numbers is NaN as soon as one of them is") {
    const double nan = std::nan("");
    const auto largest = [](const std::vector<double>& values) {
        double most = 0;
        for (const double v : values) gpulab::raise(most, v);
        return most;
    };
    CHECK(largest({}) == 0);
    CHECK(largest({1, 3, 2}) == 3);
    CHECK(largest({1, INFINITY, 2}) == INFINITY);
    for (const auto& values : {std::vector<double>{nan}, {nan, 1}, {1, nan}, {1, nan, INFINITY}, {nan, nan, 0}})
        CHECK(std::isnan(largest(values)));
}

TEST_CASE("speed-up, efficiency and throughput are what the book defines") {
    CHECK(near(gpulab::speedup(8, 2), 4));
    CHECK(gpulab::speedup(8, 0) == 0);
    CHECK(near(gpulab::percent_of_library(3, 4), 75));
    CHECK(near(gpulab::percent_of_library(6, 4), 150));
    CHECK(near(gpulab::efficiency(8, 2, 4), 1));
    CHECK(near(gpulab::efficiency(8, 4, 4), 0.5));
    CHECK(near(gpulab::gb_per_s(12e9, 1000), 12));
    CHECK(near(gpulab::gflop_per_s(2e9, 500), 4));
}

TEST_CASE("Amdahl's and Gustafson's laws agree with values worked out by hand") {
    CHECK(near(gpulab::amdahl_speedup(0, 16), 16));
    CHECK(near(gpulab::amdahl_speedup(1, 16), 1));
    CHECK(near(gpulab::amdahl_speedup(0.1, 9), 5));                               // 1 / (0.1 + 0.9 / 9)
    CHECK(near(gpulab::serial_fraction(gpulab::amdahl_speedup(0.1, 9), 9), 0.1)); // each undoes the other
    CHECK(std::abs(gpulab::serial_fraction(4, 4)) < 1e-15);
    CHECK(near(gpulab::serial_fraction(1, 4), 1));
    CHECK(near(gpulab::gustafson_speedup(0, 16), 16));
    CHECK(near(gpulab::gustafson_speedup(1, 16), 1));
    CHECK(near(gpulab::gustafson_speedup(0.1, 11), 10)); // 11 - 0.1 * 10
}

TEST_CASE("the book's exercises 1.4 to 1.6 have the answers that the hand-out of lab 01 prints") {
    const auto two_digits = [](double value) { return std::round(100 * value) / 100; };
    const double seconds[][3] = {{0.88, 0.89, 0.99}, {0.88, 0.50, 1.76},   {8.11, 8.34, 0.97},
                                 {8.11, 4.44, 1.83}, {16.21, 16.41, 0.99}, {16.21, 8.84, 1.83}};
    for (const auto& [sequential, parallel, expected] : seconds)
        CHECK(two_digits(gpulab::speedup(sequential, parallel)) == expected);
    CHECK(two_digits(gpulab::efficiency(0.88, 0.50, 2)) == 0.88);
    CHECK(two_digits(gpulab::efficiency(8.11, 4.44, 2)) == 0.91);
    CHECK(two_digits(gpulab::efficiency(16.21, 8.84, 2)) == 0.92);
    CHECK(near(gpulab::amdahl_speedup(0.2, 4), 2.5));
    CHECK(near(gpulab::amdahl_speedup(0.2, 16), 4));
    CHECK(near(gpulab::amdahl_speedup(0.5, 4), 1.6));
    CHECK(near(gpulab::gustafson_speedup(0.2, 4), 3.4));
    CHECK(near(gpulab::gustafson_speedup(0.2, 4.75), 4));
    CHECK(near(gpulab::gustafson_speedup(0.5, 4), 2.5));
}

TEST_CASE("launches are rounded up and never empty") {
    CHECK(gpulab::ceil_div(0, 256) == 0);
    CHECK(gpulab::ceil_div(256, 256) == 1);
    CHECK(gpulab::ceil_div(257, 256) == 2);
    CHECK(gpulab::ceil_div(SIZE_MAX, 2) == SIZE_MAX / 2 + 1); // no overflow on the way
    CHECK(gpulab::round_up(257, 256) == 512);
    CHECK(gpulab::grid_size(0, 256) == 1);
    CHECK(gpulab::grid_size(257, 256) == 2);
    CHECK(gpulab::global_size(0, 256) == 256);
    CHECK(gpulab::global_size(257, 256) == 512);
}

TEST_CASE("what cuts work into parts notes their size while a test listens, and nothing else does") {
    std::vector<std::size_t> cuts;
    gpulab::noted_cuts = &cuts;
    constexpr unsigned constant = gpulab::grid_size(1000, 64);
    volatile std::size_t n = 1000; // nothing is noted of what the compiler computes
    const unsigned blocks = gpulab::grid_size(n, 128);
    const std::size_t items = gpulab::global_size(n, 256), bytes = gpulab::round_up(n, 512);
    gpulab::noted_cuts = nullptr;
    CHECK((constant == 16 && blocks == 8 && items == 1024 && bytes == 1024));
    CHECK(cuts == std::vector<std::size_t>{128, 256});
    CHECK(gpulab::grid_size(n, 32) == 32);
    CHECK(cuts.size() == 2);
}

TEST_CASE("the roofline is the slower of memory and arithmetic") {
    const gpulab::Ceilings c{.copy_gb_s = 100, .fp32_gflop_s = 1000, .fp64_gflop_s = 500};
    CHECK(near(gpulab::roofline_ms(c, 1e9, 1e9, gpulab::Arithmetic::none), 10));
    CHECK(near(gpulab::roofline_ms(c, 1e9, 1e9, gpulab::Arithmetic::fp32), 10));
    CHECK(near(gpulab::roofline_ms(c, 1e9, 1e11, gpulab::Arithmetic::fp32), 100));
    CHECK(near(gpulab::roofline_ms(c, 1e9, 1e11, gpulab::Arithmetic::fp64), 200));
    CHECK(gpulab::roofline_ms({}, 1e9, 1e9, gpulab::Arithmetic::fp32) == 0);
}
