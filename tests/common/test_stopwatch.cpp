#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <limits>
#include <thread>
#include <vector>

#include "gpulab/error.hpp"
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

TEST_CASE("only the timed runs count, each from after its reset to its end") {
    using namespace std::chrono_literals;
    gpulab::Stopwatch watch(2, 3);
    int run = 0;
    watch.time(
        [&] {
            if (++run <= 2) std::this_thread::sleep_for(300ms); // the warm-up
        },
        [] { std::this_thread::sleep_for(100ms); }); // the reset
    CHECK(watch.kernel().repeats == 3);
    CHECK(watch.kernel().median < 100); // neither is in the times
    gpulab::Stopwatch whole(0, 3);
    whole.time([] { std::this_thread::sleep_for(5ms); });
    CHECK(whole.kernel().min >= 5); // milliseconds
}

TEST_CASE("a budget counts in seconds, and three runs are timed whatever it says") {
    using namespace std::chrono_literals;
    gpulab::Stopwatch rich(0, 6, 3600);
    rich.time([] { std::this_thread::sleep_for(1ms); });
    CHECK(rich.kernel().repeats == 6);
    gpulab::Stopwatch minute(0, 8, 60); // far more than eight runs of 20 ms, were it not taken for 60 ms
    minute.time([] { std::this_thread::sleep_for(20ms); });
    CHECK(minute.kernel().repeats == 8);
}

TEST_CASE("a time that is negative, NaN or infinite is an error") {
    gpulab::Stopwatch watch;
    CHECK_THROWS_AS(watch.record(-1), gpulab::Error);
    CHECK_THROWS_AS(watch.record(std::numeric_limits<double>::quiet_NaN()), gpulab::Error);
    CHECK_THROWS_AS(watch.record(std::numeric_limits<double>::infinity()), gpulab::Error);
    CHECK_NOTHROW(watch.record(0));
    CHECK(watch.times_ms() == std::vector<double>{0});
}

TEST_CASE("a stopwatch knows whether a reset ran before the runs, and the tiles that a variant named") {
    gpulab::Stopwatch watch(0, 1);
    watch.time([] {});
    CHECK_FALSE(watch.had_reset());
    watch.time([] {}, [] {});
    CHECK(watch.had_reset());
    watch.time([] {});
    CHECK_FALSE(watch.had_reset());
    CHECK(watch.tiles().empty());
    watch.tile(256);
    watch.tile(16, "rows");
    watch.tile(256);
    REQUIRE(watch.tiles().size() == 2);
    CHECK(watch.tiles()[0].size == 256);
    CHECK(watch.tiles()[0].of == "elements");
    CHECK(watch.tiles()[1].size == 16);
    CHECK(watch.tiles()[1].of == "rows");
}
