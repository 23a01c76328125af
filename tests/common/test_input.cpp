#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <vector>

#include "gpulab/input.hpp"

TEST_CASE("the same seed gives the same numbers, another seed others") {
    const auto a = gpulab::random_vector<float>(1000, 1);
    CHECK(a == gpulab::random_vector<float>(1000, 1));
    CHECK(a != gpulab::random_vector<float>(1000, 2));
    const auto longer = gpulab::random_vector<float>(2'000'000, 1); // filled by several threads
    CHECK(std::equal(a.begin(), a.end(), longer.begin()));
}

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
}

TEST_CASE("random doubles have more digits than a float keeps, random floats have only those") {
    const auto values = gpulab::random_vector<double>(1000, 4);
    const auto is_a_float = [](double v) { return static_cast<double>(static_cast<float>(v)) == v; };
    CHECK(std::count_if(values.begin(), values.end(), is_a_float) < 5);
    CHECK(gpulab::random_unit<float>(42, 7) > 0);
    CHECK(gpulab::random_unit<float>(42, 7) < 1);
    CHECK(std::abs(gpulab::random_unit<float>(42, 7) - gpulab::random_unit(42, 7)) < 1e-7);
}
