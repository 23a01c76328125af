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
    CHECK(gpulab::summarise({4, 1, 3, 2}).repeats == 4);
    CHECK(gpulab::summarise({7}).median == 7);
    CHECK(gpulab::summarise({9, 1}).median == 5);
    const gpulab::Timing none = gpulab::summarise({});
    CHECK((none.repeats == 0 && none.median == 0 && none.min == 0 && none.max == 0));
}

TEST_CASE("a stopwatch runs the warm-up, then the repeats, with a reset before each, and times these bodies only") {
    using Clock = std::chrono::steady_clock;
    struct Run {
        Clock::time_point reset_begins, reset_ends, body_begins, body_ends;
    };
    std::vector<Run> runs;
    const auto pause = [](int ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); };
    gpulab::Stopwatch watch(2, 3);
    watch.time(
        [&] {
            runs.back().body_begins = Clock::now();
            pause(runs.size() <= 2 ? 10 : static_cast<int>(runs.size())); // the warm-up takes longest
            runs.back().body_ends = Clock::now();
        },
        [&] {
            runs.emplace_back().reset_begins = Clock::now();
            pause(5);
            runs.back().reset_ends = Clock::now();
        });
    const Clock::time_point end = Clock::now();
    REQUIRE(runs.size() == 5);
    REQUIRE(watch.times_ms().size() == 3);
    for (const Run& run : runs) CHECK(run.body_begins >= run.reset_ends);
    const auto ms = [](Clock::duration d) { return std::chrono::duration<double, std::milli>(d).count(); };
    for (std::size_t i = 0; i < 3; ++i) {
        const Run& run = runs[2 + i];
        CHECK(watch.times_ms()[i] >= ms(run.body_ends - run.body_begins));
        CHECK(watch.times_ms()[i] <= ms((i < 2 ? runs[3 + i].reset_begins : end) - run.reset_ends));
    }
    const gpulab::Timing all = gpulab::summarise(watch.times_ms()), kernel = watch.kernel();
    CHECK((kernel.median == all.median && kernel.min == all.min && kernel.max == all.max && kernel.repeats == 3));
}

TEST_CASE("a time that is no number, negative or infinite is refused") {
    gpulab::Stopwatch watch(0, 3);
    watch.record(0);
    watch.record(1.5);
    for (const double bad : {std::numeric_limits<double>::quiet_NaN(), -1e-9, std::numeric_limits<double>::infinity(),
                             -std::numeric_limits<double>::infinity()})
        CHECK_THROWS_AS(watch.record(bad), gpulab::Error);
    CHECK(watch.times_ms() == std::vector<double>{0, 1.5});
}

TEST_CASE("a stopwatch wants as many runs as it was made for, and forgets them when it starts again") {
    gpulab::Stopwatch watch(4, 2, 0.5, true);
    CHECK((watch.warmup() == 4 && watch.repeats() == 2 && watch.budget_s() == 0.5 && watch.flush_l2()));
    gpulab::Stopwatch plain;
    CHECK((plain.warmup() == 0 && plain.repeats() == 1 && plain.budget_s() == 0 && !plain.flush_l2()));
    for (int again = 0; again < 2; ++again) {
        watch.start();
        CHECK(watch.times_ms().empty());
        CHECK(watch.wants_more());
        watch.record(1);
        CHECK(watch.wants_more());
        watch.record(2);
        CHECK_FALSE(watch.wants_more());
        CHECK(watch.times_ms() == std::vector<double>{1, 2});
    }
}

TEST_CASE("a budget is in seconds: runs of milliseconds do not use up an hour") {
    gpulab::Stopwatch watch(0, 6, 3600);
    watch.time([] { std::this_thread::sleep_for(std::chrono::milliseconds(1)); });
    CHECK(watch.kernel().repeats == 6);
    gpulab::Stopwatch minute(0, 6, 60); // 60 ms would be over after the third run
    minute.time([] { std::this_thread::sleep_for(std::chrono::milliseconds(25)); });
    CHECK(minute.kernel().repeats == 6);
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

TEST_CASE("a second measurement has a budget of its own") {
    gpulab::Stopwatch watch(0, 5, 0.2);
    watch.time([] { std::this_thread::sleep_for(std::chrono::milliseconds(70)); });
    CHECK(watch.kernel().repeats == 3);
    watch.time([] {});
    CHECK(watch.kernel().repeats == 5);
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
    watch.tile(256, "rows"); // as many, but of another kind
    REQUIRE(watch.tiles().size() == 3);
    CHECK(watch.tiles()[0].size == 256);
    CHECK(watch.tiles()[0].of == "elements");
    CHECK(watch.tiles()[1].size == 16);
    CHECK(watch.tiles()[1].of == "rows");
    CHECK(watch.tiles()[2].size == 256);
    CHECK(watch.tiles()[2].of == "rows");
}
