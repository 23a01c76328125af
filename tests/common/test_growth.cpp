// How cost grows: which sizes are measured, which variants at each, and the time per element.
#include <array>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <chrono>
#include <fmt/format.h>
#include <string>
#include <thread>
#include <vector>

#include "gpulab/growth.hpp"
#include "gpulab_testing/capture.hpp"
#include "gpulab_testing/parse.hpp"

using gpulab::Backend;
using gpulab::Growth;
using gpulab::Options;
using gpulab::Report;
using gpulab::Result;
using gpulab::Stopwatch;
using Sizes = std::vector<std::size_t>;

namespace {

using Run = void(double, std::vector<float>&, Stopwatch&);

/// Says that a run took `scale` times as many milliseconds as there are elements.
template <int scale> void takes(double elements, std::vector<float>& out, Stopwatch& watch) {
    out = {1};
    watch.start();
    while (watch.wants_more()) watch.record(scale * elements);
}

const std::array table = {gpulab::Variant<Run>{"cpu_fast", "1 ms per element", Backend::cpu, takes<1>},
                          gpulab::Variant<Run>{"cpu_slow", "10 ms per element", Backend::cpu, takes<10>},
                          gpulab::Variant<Run>{"cpu_other", "20 ms per element", Backend::cpu, takes<20>}};

struct Parsed : Options {
    std::size_t n = 7;
    explicit Parsed(std::vector<std::string> arguments = {}) : Options("lab", "a test") {
        size("--n", n, 1, "elements");
        variants(table);
        studies({{"growth", "how cost grows", {"--n"}}});
        arguments.insert(arguments.begin(), {"--backend", "cpu", "--study", "growth", "--repeat", "1"});
        REQUIRE(gpulab::testing::parse(*this, arguments));
    }
};

/// A row of the study: "cpu_fast 16: 1e+06", or "cpu_slow 64: skipped", with the reason.
using Rows = std::vector<std::string>;

/// Runs the study for these sizes. @param bytes of main memory for each element
Rows rows_of(const Options& options, const Sizes& sizes, const gpulab::Patience& patience, double bytes) {
    Rows rows;
    Report report(options);
    Growth growth(options, report, "cell_and_step", {"cpu_fast", "cpu_slow"}, patience);
    for (const std::size_t n : sizes) {
        const auto elements = static_cast<double>(n);
        if (!growth.fits(fmt::format("n = {}", n), elements, 0, bytes * elements)) break;
        report.begin({{"n", n}});
        std::vector<float> out(1);
        for (const auto& job : growth.jobs(table)) {
            const auto judge = [&] { return gpulab::compare(std::vector<float>{1}, out, 0); };
            Result result = gpulab::run(job, elements, out, options, judge);
            growth.add_to(result);
            std::string what = result.reason;
            for (const gpulab::Parameter& p : result.extra)
                what += fmt::format("{} = {:.6g}", p.name, std::get<double>(p.value));
            rows.push_back(fmt::format("{} {}: {}", result.variant, n, what));
            report.add(std::move(result), {});
        }
    }
    CHECK(report.finish() == gpulab::exit_success);
    return rows;
}

struct Study {
    Rows rows;
    std::string out; // what it prints
    bool prints(const std::string& text) const { return out.find(text) != std::string::npos; }
};
Study study(const Options& options, const Sizes& sizes, const gpulab::Patience& patience = {}, double bytes = 0) {
    Study s;
    s.out = gpulab::testing::printed_by([&] { s.rows = rows_of(options, sizes, patience, bytes); }).out;
    return s;
}

} // namespace

TEST_CASE("the sizes of growth go from the first by a factor up to the most, or to what the user gave") {
    const auto sizes = [](const std::vector<std::string>& arguments, std::size_t first, std::size_t factor,
                          std::size_t most) {
        const Parsed options(arguments);
        Sizes list;
        (void)gpulab::testing::printed_by([&] {
            Report report(options);
            list = Growth(options, report, "element", {}).sizes("--n", options.n, first, factor, most);
        });
        return list;
    };
    CHECK(sizes({}, 16, 4, 1024) == Sizes{16, 64, 256, 1024});
    CHECK(sizes({}, 16, 4, 1023) == Sizes{16, 64, 256});
    CHECK(sizes({"--n", "40"}, 16, 2, 1024) == Sizes{16, 32});
    CHECK(sizes({"--n", "16"}, 16, 2, 1024) == Sizes{16});
    CHECK(sizes({"--n", "2^62"}, std::size_t{1} << 60, 4, 0) == Sizes{std::size_t{1} << 60, std::size_t{1} << 62});
    CHECK_THROWS_WITH(sizes({"--n", "15"}, 16, 2, 1024), "--study growth: at least --n 16 is needed");
}

TEST_CASE("a result of growth has its time per element, in nanoseconds") {
    const Parsed options;
    const Study two = study(options, {2, 8});
    CHECK(two.rows == Rows{"cpu_fast 2: ns_per_cell_and_step = 1e+06", "cpu_slow 2: ns_per_cell_and_step = 1e+07",
                           "cpu_fast 8: ns_per_cell_and_step = 1e+06", "cpu_slow 8: ns_per_cell_and_step = 1e+07"});
    CHECK(two.prints("ns each: nanoseconds of kernel time per cell and step"));

    Report report(options);
    Growth growth(options, report, "element", {"cpu_fast"});
    REQUIRE(growth.fits("n = 3", 3, 0, 0));
    Result timed, untimed;
    timed.kernel = {.median = 6, .min = 1, .max = 9, .repeats = 3};
    growth.add_to(timed, 2); // fewer than was thought
    growth.add_to(untimed);
    REQUIRE(timed.extra.size() == 1);
    CHECK(std::get<double>(timed.extra[0].value) == 3e6);
    CHECK(untimed.extra.empty());
}

TEST_CASE("growth measures its own variants, or those that the user names") {
    CHECK(study(Parsed({"--variant", "cpu_other"}), {2}).rows == Rows{"cpu_other 2: ns_per_cell_and_step = 2e+07"});
    (void)gpulab::testing::printed_by([&] {
        const Parsed options;
        Report report(options);
        Growth growth(options, report, "element", {"cuda_none_of_these"});
        CHECK_THROWS_WITH(growth.jobs(table), "--study growth: it has none of the chosen variants");
    });
}

TEST_CASE("growth leaves out a variant from the size on at which a run would take too long, and then all sizes") {
    const gpulab::Patience patience{.run_ms = 160};
    const Study own = study(Parsed(), {8, 16, 32, 128, 256, 512}, patience);
    const Rows& rows = own.rows;
    REQUIRE(rows.size() == 8);
    CHECK(rows[3] == "cpu_slow 16: ns_per_cell_and_step = 1e+07"); // 160 ms
    CHECK(rows[4] == "cpu_fast 32: ns_per_cell_and_step = 1e+06");
    CHECK(rows[5] == "cpu_slow 32: one run would take about 0.32 s; --variant cpu_slow runs it anyway");
    CHECK(rows[6] == "cpu_fast 128: ns_per_cell_and_step = 1e+06");
    CHECK(rows[7] == "cpu_slow 128: one run would take about 1.3 s; --variant cpu_slow runs it anyway");
    CHECK(own.prints("n = 256 and larger are left out: every variant would take more than 0.16 s for a run"));
    const Study slow = study(Parsed({"--variant", "cpu_slow"}), {8, 256}, patience);
    CHECK(slow.rows == Rows{"cpu_slow 8: ns_per_cell_and_step = 1e+07", "cpu_slow 256: ns_per_cell_and_step = 1e+07"});
    CHECK_FALSE(slow.prints("left out"));
}

TEST_CASE("growth takes the time of all runs and checks of a size, not only that of its kernels") {
    const Parsed options;
    bool goes_on = true;
    (void)gpulab::testing::printed_by([&] {
        Report report(options);
        Growth growth(options, report, "element", {"cpu_fast"}, {.size_ms = 150});
        for (const int n : {1, 10}) {
            REQUIRE(growth.fits(fmt::format("n = {}", n), n, 0, 0)); // after n = 1 too: its time may be that of a start
            (void)growth.jobs(table);
            std::this_thread::sleep_for(std::chrono::milliseconds(20)); // the checks
            Result quick;
            quick.variant = "cpu_fast";
            quick.kernel = {.median = 0.001, .min = 0.001, .max = 0.001, .repeats = 1};
            growth.add_to(quick);
        }
        goes_on = growth.fits("n = 100", 100, 0, 0); // ten times 20 ms, or more on a busy machine
    });
    CHECK_FALSE(goes_on);
}

TEST_CASE("growth ends before a size that would take too long in all, or that does not fit") {
    const Study late = study(Parsed(), {1, 2, 4}, {.size_ms = 0}), large = study(Parsed(), {1, 2, 1'000'000}, {}, 1e12);
    CHECK(late.rows.size() == 4); // two sizes, with two variants
    CHECK(late.prints("n = 4 and larger are left out: with its checks it would take about "));
    CHECK(large.rows.empty());
    CHECK(large.prints("n = 1 and larger are left out: this problem needs 931.3 GiB of main memory"));
}
