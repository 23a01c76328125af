#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <thread>

#include "gpulab/stopwatch.hpp"

TEST_CASE("the median of an odd count is the middle, of an even count the mean of the middle two") {
    CHECK(gpulab::summarise({5, 1, 3}).median == 3);
    CHECK(gpulab::summarise({4, 1, 3, 2}).median == 2.5);
    CHECK(gpulab::summarise({4, 1, 3, 2}).min == 1);
    CHECK(gpulab::summarise({4, 1, 3, 2}).max == 4);
    CHECK(gpulab::summarise({}).repeats == 0);
}

TEST_CASE("a stopwatch runs the warm-up untimed, then the repeats, with a reset before each") {
    gpulab::Stopwatch watch(2, 5);
    int bodies = 0, resets = 0;
    watch.time([&] { ++bodies; }, [&] { ++resets; });
    CHECK(bodies == 7);
    CHECK(resets == 7);
    CHECK(watch.kernel().repeats == 5);
}

TEST_CASE("a stopwatch with a budget stops after three runs, one without does not") {
    gpulab::Stopwatch hasty(0, 100, 1e-6);
    hasty.time([] { std::this_thread::sleep_for(std::chrono::milliseconds(1)); });
    CHECK(hasty.kernel().repeats == 3);
    CHECK(hasty.kernel().min >= 1);
    gpulab::Stopwatch patient(0, 10);
    patient.time([] { std::this_thread::sleep_for(std::chrono::milliseconds(1)); });
    CHECK(patient.kernel().repeats == 10);
}

TEST_CASE("a second measurement replaces the first") {
    gpulab::Stopwatch watch(0, 4);
    watch.time([] {});
    watch.time([] {});
    CHECK(watch.kernel().repeats == 4);
}
