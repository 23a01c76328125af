// Timelines: overlap worked out by hand, lanes as drawn, and the Chrome trace as JSON.
#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>

#include "gpulab/trace.hpp"

using gpulab::Timeline;

TEST_CASE("commands one after the other overlap by nothing", "[cpu]") {
    Timeline t;
    t.add({"a", "copy up", '>', 0, 0, 10});
    t.add({"a", "kernel", '#', 0, 10, 20});
    t.add({"a", "copy down", '<', 0, 25, 35});
    CHECK(t.overlap_percent() == 0);
    CHECK(t.span_us() == 35);
}

TEST_CASE("overlap is the share of busy time with two kinds or more at once", "[cpu]") {
    Timeline t;
    CHECK(t.overlap_percent() == 0); // nothing in it
    t.add({"a", "copy up", '>', 0, 0, 10});
    t.add({"b", "copy up", '>', 1, 10, 20});
    t.add({"a", "copy down", '<', 0, 15, 25}); // 15 ... 20 at once; busy 0 ... 25
    CHECK(t.overlap_percent() == Catch::Approx(20));
    t.add({"b", "kernel", '#', 1, 16, 18}); // a third kind adds nothing there
    CHECK(t.overlap_percent() == Catch::Approx(20));
    t.add({"c", "kernel", '#', 2, 125, 125}); // nor does a command of no length
    CHECK(t.overlap_percent() == Catch::Approx(20));
}

TEST_CASE("two commands of one kind are no overlap", "[cpu]") {
    Timeline t;
    t.add({"a", "copy up", '>', 0, 0, 10});
    t.add({"b", "copy up", '>', 1, 0, 10});
    CHECK(t.overlap_percent() == 0);
}

TEST_CASE("a command that waited for its engine counts from when the engine was free", "[cpu]") {
    Timeline t;
    t.add({"b", "copy up", '>', 1, 0, 20}); // handed over at 0 but served second
    t.add({"a", "copy up", '>', 0, 0, 10});
    t.add({"a", "kernel", '#', 0, 10, 12});
    t.serialise_kinds();
    CHECK(t.events()[0].begin_us == 10);
    CHECK(t.events()[1].begin_us == 0);
    CHECK(t.events()[2].begin_us == 10);
}

TEST_CASE("lanes show each command where it ran", "[cpu]") {
    Timeline t;
    CHECK(t.lanes(10) == "");
    t.add({"a", "copy up", '>', 0, 100, 105});
    t.add({"a", "kernel", '#', 1, 105, 108});
    t.add({"a", "copy down", '<', 1, 108, 110});
    CHECK(t.lanes(10) ==
          "   0 |>>>>>     |\n   1 |     ###<<|\n      > copy up   # kernel   < copy down   0 ... 10.0 us\n");
}

TEST_CASE("a Chrome trace has every command with its time, length and lane, from zero", "[cpu]") {
    Timeline t;
    t.add({"strip 0", "copy up", '>', 0, 1000, 1010});
    t.add({"strip 0", "kernel", '#', 3, 1010, 1012.5});
    const auto json = nlohmann::json::parse(gpulab::chrome_trace({{"first \"quoted\"", t}, {"empty", {}}}));
    std::size_t commands = 0, names = 0;
    for (const auto& e : json["traceEvents"]) {
        if (e["ph"] == "X") {
            ++commands;
            const bool up = e["cat"] == "copy up";
            CHECK(e["ts"] == (up ? 0.0 : 10.0));
            CHECK(e["dur"] == (up ? 10.0 : 2.5));
            CHECK(e["tid"] == (up ? 0 : 3));
            CHECK(e["pid"] == 1);
        } else {
            CHECK(e["ph"] == "M");
            names += e["name"] == "process_name";
        }
    }
    CHECK(commands == 2);
    CHECK(names == 1);
}
