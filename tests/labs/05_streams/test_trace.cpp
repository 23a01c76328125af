// Timelines: overlap worked out by hand, lanes as drawn, and the Chrome trace as JSON.
#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>

#include "gpulab/trace/trace.hpp"

using gpulab::Timeline;

TEST_CASE("overlap is the share of the busy time with two or more kinds at once", "[cpu]") {
    struct Case {
        const char* what;
        std::vector<gpulab::TraceEvent> commands;
        double percent;
    };
    std::vector<gpulab::TraceEvent> growing = {{"a", "copy up", '>', 0, 0, 10},
                                               {"b", "copy up", '>', 1, 10, 20},
                                               {"a", "copy down", '<', 0, 15, 25}}; // 15 ... 20 at once; busy 0 ... 25
    std::vector<Case> cases = {
        {"nothing", {}, 0},
        {"one after the other",
         {{"a", "copy up", '>', 0, 0, 10}, {"a", "kernel", '#', 0, 10, 20}, {"a", "copy down", '<', 0, 25, 35}},
         0},
        {"two of one kind", {{"a", "copy up", '>', 0, 0, 10}, {"b", "copy up", '>', 1, 0, 10}}, 0},
        {"two kinds, always", {{"a", "copy up", '>', 0, 5, 9}, {"b", "kernel", '#', 1, 5, 9}}, 100},
        {"twice the same kind from 120 to 140, with a kernel from 130 to 150, and a kernel of its own after a pause",
         {{"a", "copy up", '>', 0, 100, 140},
          {"b", "copy up", '>', 1, 120, 150},
          {"c", "kernel", '#', 0, 130, 160},
          {"d", "kernel", '#', 0, 200, 240}},
         100 * 20.0 / 100},
        {"two kinds for a while", growing, 20}};
    growing.push_back({"b", "kernel", '#', 1, 16, 18});
    cases.push_back({"a third kind adds nothing there", growing, 20});
    growing.push_back({"c", "kernel", '#', 2, 125, 125});
    cases.push_back({"nor does a command of no length", growing, 20});
    for (const Case& c : cases) {
        INFO(c.what);
        Timeline t;
        for (const gpulab::TraceEvent& command : c.commands) t.add(command);
        CHECK(t.overlap_percent() == Catch::Approx(c.percent).epsilon(1e-12));
    }
}

TEST_CASE("a span goes from the first start to the last end, whatever the order of the commands", "[cpu]") {
    Timeline t;
    CHECK(t.span_us() == 0);
    CHECK(t.empty());
    t.add({"a", "kernel", '#', 0, 30, 40});
    t.add({"b", "copy up", '>', 1, 10, 60}); // the longest begins first and ends last
    t.add({"c", "copy down", '<', 0, 45, 50});
    CHECK(t.span_us() == 50);
    t.add({"d", "copy down", '<', 0, 5, 7});
    CHECK(t.span_us() == 55);
    CHECK_FALSE(t.empty());
    CHECK(t.events().size() == 4);
    CHECK(t.events()[1].name == "b");
    t.clear();
    CHECK((t.empty() && t.span_us() == 0 && t.overlap_percent() == 0));
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
    CHECK(t.events()[0].end_us == 20);
    Timeline row; // three in a row, the last after a pause of its own
    row.add({"c", "kernel", '#', 0, 40, 50});
    row.add({"a", "kernel", '#', 0, 0, 10});
    row.add({"b", "kernel", '#', 0, 0, 30});
    row.add({"b", "copy up", '>', 0, 0, 35}); // another kind waits for none of them
    row.serialise_kinds();
    CHECK(row.events()[0].begin_us == 40);
    CHECK(row.events()[1].begin_us == 0);
    CHECK(row.events()[2].begin_us == 10);
    CHECK(row.events()[3].begin_us == 0);
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

TEST_CASE("lanes are in order, short commands are visible, and a later command covers an earlier one", "[cpu]") {
    Timeline t;
    t.add({"a", "kernel", '#', 12, 0, 100});
    t.add({"b", "copy up", '>', 3, 50, 50.5}); // less than a character
    t.add({"c", "kernel", '#', 3, 99.9, 100});
    t.add({"d", "copy down", '<', 12, 40, 60});
    CHECK(t.lanes(10) ==
          "   3 |     >   #|\n  12 |####<<####|\n      # kernel   > copy up   < copy down   0 ... 100.0 us\n");
    CHECK(t.lanes(0) == "");
    Timeline moment;
    moment.add({"a", "kernel", '#', 0, 7, 7});
    CHECK(moment.lanes(4) == "   0 |####|\n      # kernel   0 ... 0.0 us\n");
    CHECK(t.lanes() == t.lanes(96));
}

TEST_CASE("a Chrome trace has every command with its time, length and lane, beginning at zero", "[cpu]") {
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

TEST_CASE("a Chrome trace of two timelines, whole", "[cpu]") {
    Timeline first, second("queue");
    first.add({"strip 0", "copy up", '>', 2, 50, 60});
    first.add({"strip 1", "kernel", '#', 2, 55, 57});
    second.add({"strip 0", "kernel", '#', 0, 7, 8});
    const auto expected = nlohmann::json::parse(R"({"displayTimeUnit": "ms", "traceEvents": [
        {"name": "process_name", "ph": "M", "pid": 1, "args": {"name": "one"}},
        {"name": "thread_name", "ph": "M", "pid": 1, "tid": 2, "args": {"name": "stream 2"}},
        {"name": "strip 0: copy up", "cat": "copy up", "ph": "X", "ts": 0.0, "dur": 10.0, "pid": 1, "tid": 2},
        {"name": "strip 1: kernel", "cat": "kernel", "ph": "X", "ts": 5.0, "dur": 2.0, "pid": 1, "tid": 2},
        {"name": "process_name", "ph": "M", "pid": 3, "args": {"name": "three"}},
        {"name": "thread_name", "ph": "M", "pid": 3, "tid": 0, "args": {"name": "queue 0"}},
        {"name": "strip 0: kernel", "cat": "kernel", "ph": "X", "ts": 0.0, "dur": 1.0, "pid": 3, "tid": 0}]})");
    CHECK(nlohmann::json::parse(gpulab::chrome_trace({{"one", first}, {"empty", {}}, {"three", second}})) == expected);
    CHECK(gpulab::chrome_trace({}).ends_with("}\n"));
}
