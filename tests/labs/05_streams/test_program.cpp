// The program as a user meets it: the contract of all programs, and what is this lab's own.
#include <catch2/catch_test_macros.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "checks.hpp"
#include "gpulab/device.hpp"
#include "gpulab/image/image.hpp"
#include "gpulab_testing/contract.hpp"
#include "runs.hpp"
#include "streams.hpp"
#include "studies.hpp"

using namespace gpulab::testing;
using namespace streams::testing;
using gpulab::Backend;
using Json = nlohmann::json;

namespace {
const Program program("streams", STREAMS_PROGRAM);

/// The rungs that their own tests find wrong, which are excused here.
KnownWrong wrong_rungs() {
    return known_wrong(streams::variants(), [](const auto& v) {
        std::string fault = by_hand_fault(v.run);
        if (fault.empty()) fault = first_fault(v.run, {{301, 103, 3, 4, 2}, {67, 41, 4, 12, 0}, {67, 41, 4, 12, 256}});
        return fault.empty() ? first_fault(v.run, small_cases()) : fault;
    });
}

std::optional<StudyCase> study_of(const std::string& name) {
    static const std::map<std::string, std::vector<int>> sweeps = {{"streams", {1, 2, 3, 4, 6, 8, 12, 14, 16, 24, 32}},
                                                                   {"work", {0, 4, 16, 32, 64, 128, 256}}};
    const auto sweep = sweeps.find(name);
    const auto fault = [=, at = std::size_t{0}](const Json& run) mutable -> std::string {
        if (sweep != sweeps.end() && (at >= sweep->second.size() || run["problem"][name] != sweep->second[at++]))
            return "another row";
        return reference_fault(run, "cpu_sequential");
    };
    return StudyCase{"--width 67 --height 41", sweep == sweeps.end() ? 1 : sweep->second.size(), wrong_rungs(), fault};
}

std::string png(const gpulab::Image& image) {
    const ScratchFile file;
    gpulab::OutputFile output(file.path());
    gpulab::write_png(output, image);
    return file.text();
}

const ProgramCases contract([] {
    return gpulab::testing::LabProgram{
        .program = program,
        .readme = STREAMS_README,
        .variants = names_of(streams::variants()),
        .studies = streams::study_list(),
        .options = "--input --output --width --height --channels --work --streams --trace --lanes",
        .smallest = "--width 16 --height 16",
        .refusals = R"(
            --streams 0 | --streams 65 | --streams x | --height 0 | --width -1 | --channels 5 | --work -1
            --width 16Mi --height 16Mi
            --input /nonexistent.png | --input broken | --input /dev/zero | --input ''
            --output /nonexistent/folder/x.png | --trace /nonexistent/folder/x.json
            --output x.png --trace ./x.png | --study streams --output x.png | --study work --work 3
            --study growth --height 20 | --study growth --width 15
            --input broken --height 7 : --height: --input brings an image that has its own size
            --input a.png --width 5 : --width: --input brings an image that has its own size
            --input a.png --height=7 : --height: --input brings an image that has its own size
            --input a.png --channels 3 : --channels: --input brings an image that has its own size)",
        .files = {{"broken", "this is not a picture"}, {"a.png", png(streams::random_image(5, 4, 3, 1))}},
        .operations = {}, // see below: one run with all its files
        .memory = {{"--width 8000 --height 6000 --channels 3", 3 * 1.44e8 + 0x1p27, 9 * 1.44e8 + 0x1p27}},
        .times_by_clock = true,
        .study = study_of,
        .per_element = "ns_per_byte",
        .elements =
            [](const Json& problem, const Json&) {
                return problem["width"].get<double>() * problem["height"].get<double>() *
                       problem["channels"].get<double>();
            },
        .growth = {{"--width 70 --channels 3", 3, wrong_rungs()}}};
});
} // namespace

TEST_CASE("the negative of a PNG is right, and its negative is the first PNG again", "[program]") {
    const ScratchFile first, second, third;
    const gpulab::Image image = streams::random_image(37, 23, 4, 5);
    gpulab::OutputFile file(first.path());
    gpulab::write_png(file, image);
    // 1: a variant is wrong, which its own test says; the file holds the result of one that is right.
    const std::string run = "--repeat 1 --warmup 0 --streams 5 --input ";
    REQUIRE(program(run + first.path() + " --output " + second.path()).exit_code <= 1);
    REQUIRE(program(run + second.path() + " --output " + third.path()).exit_code <= 1);
    const gpulab::Image negative = gpulab::read_png(second.path());
    bool right = negative.pixels.size() == image.pixels.size();
    for (std::size_t i = 0; right && i < image.pixels.size(); ++i)
        right = negative.pixels[i] == (i % 4 == 3 ? image.pixels[i] : 255 - image.pixels[i]);
    CHECK(right);
    CHECK(gpulab::read_png(third.path()).pixels == image.pixels);
}

TEST_CASE("a run of all variants shows sample pixels and writes JSON, CSV and a trace", "[program]") {
    const ScratchFile json, csv, trace;
    const Outcome outcome = program("--width 301 --height 103 --channels 3 --streams 4 --work 2 --repeat 2 --json " +
                                    json.path() + " --csv " + csv.path() + " --trace " + trace.path());
    REQUIRE(outcome.exit_code <= 1); // 1: a variant is wrong, which its own test says
    const auto image = streams::random_image(301, 103, 3, 42);
    const auto at = outcome.out.find("\nPixels before and after (");
    REQUIRE(at != std::string::npos);
    streams::Problem problem;
    problem.image = image;
    problem.work = 2;
    const streams::Output after = streams::reference_output(problem);
    std::string pixels = "):\n";
    for (std::size_t i = 0; i < 10; ++i)
        pixels += fmt::format("  {} ({}) -> ({})\n", i,
                              fmt::join(image.pixels.begin() + 3 * i, image.pixels.begin() + 3 * i + 3, ", "),
                              fmt::join(after.pixels.begin() + 3 * i, after.pixels.begin() + 3 * i + 3, ", "));
    CHECK(outcome.out.substr(outcome.out.find("):", at)).starts_with(pixels));
    const auto run = json.json();
    CHECK(run["lab"] == "streams");
    for (const auto& [name, value] :
         {std::pair{"width", 301}, {"height", 103}, {"channels", 3}, {"streams", 4}, {"work", 2}})
        CHECK(run["problem"][name] == value);
    CHECK(run["variants"].size() == rows_of(backends_of(streams::variants())));
    CHECK(run_fault(run, "cpu_sequential", wrong_rungs()) == "");
    std::size_t traced = 0;
    for (const auto& v : run["variants"]) {
        const std::string name = v["name"], backend = v["backend"], status = v["status"];
        INFO(name);
        if (backend == "cuda") CHECK((status == "skipped") == gpulab::devices(Backend::cuda).empty());
        if (status != "passed") continue;
        CHECK(v["tolerance"] == 0);
        CHECK(v["bytes"] == 2 * 301 * 103 * 3); // each is read and written once
        if (backend == "cpu") continue;
        ++traced;
        CHECK(v["bound_ms"] > 0);
        CHECK(v["sum_ms"] > 0);
        CHECK(v["pause_ms"] >= 0);
        CHECK(v["pin_ms"] >= 0);
        CHECK(v["strips_ms"] > 0);
        // A kernel that loads from the host, or that waits for the copy it overlaps with: nothing to overlap is
        // recorded.
        const bool has_stages = name != "cuda_mapped" && name != "cuda_polling";
        CHECK(v.contains("overlap_percent") == has_stages);
        if (has_stages) CHECK(v["overlap_percent"] >= 0);
        if (has_stages) CHECK(v["traced_ms"] > 0);
    }
    std::size_t processes = 0;
    const auto traced_run = trace.json(); // named: a range-for does not keep the parts of a temporary alive
    std::string title;
    for (const auto& e : traced_run["traceEvents"]) {
        if (e["name"] == "process_name") {
            ++processes;
            title = e["args"]["name"];
        }
        if (e["name"] == "thread_name")
            CHECK(
                e["args"]["name"].get<std::string>().starts_with(title.starts_with("opencl_") ? "queue " : "stream "));
    }
    CHECK(processes == traced);
    CHECK(csv.text().find("overlap_percent") != std::string::npos);
}

namespace {
/// How often a study prints the link and the bound, once for all rows that share them.
std::size_t stated_bounds(const std::string& arguments) {
    const Outcome outcome = program("--width 67 --height 41 --repeat 1 --warmup 0 " + arguments);
    INFO(outcome.out << outcome.err);
    REQUIRE(outcome.exit_code <= 1); // 1: a variant is wrong, which its own test says
    std::size_t count = 0;
    for (std::size_t at = 0; (at = outcome.out.find("\n  bound: ", at)) != std::string::npos; ++at) ++count;
    return count;
}
} // namespace

TEST_CASE("the speed-up of asynchronous over synchronous is the quotient of two times of one device", "[program]") {
    const auto result = [](const char* variant, int device, double ms) {
        gpulab::Result r;
        r.variant = variant;
        r.device.backend = Backend::cuda;
        r.device.index = device;
        r.has_device = true;
        r.status = gpulab::Result::Status::passed;
        r.kernel.median = ms;
        return r;
    };
    std::vector<gpulab::Result> results = {result("cuda_sync_pageable", 0, 6), result("cuda_async_pageable", 0, 4),
                                           result("cuda_sync_pageable", 1, 9), result("cuda_depth_first", 0, 2)};
    CHECK(streams::asynchronous_speed_up(results) ==
          "cuda:0: cuda_async_pageable 1.50 times as fast as cuda_sync_pageable\n");
    results.push_back(result("cuda_sync_pinned", 0, 5));
    CHECK(streams::asynchronous_speed_up(results).ends_with(
        "cuda:0: cuda_depth_first 2.50 times as fast as cuda_sync_pinned\n"));
    for (gpulab::Result& r : results) r.status = gpulab::Result::Status::failed;
    CHECK(streams::asynchronous_speed_up(results).empty());
}

TEST_CASE("the lecture's run prints the speed-up and ten pixels of one channel", "[program][thorough]") {
    (void)devices_or_skip(Backend::opencl);
    const Outcome outcome = program("--channels 1 --streams 6 --repeat 1 --backend opencl");
    INFO(outcome.out << outcome.err);
    CHECK(outcome.exit_code == 0);
    const std::size_t at = outcome.out.find("Asynchronous over synchronous:\n");
    REQUIRE(at != std::string::npos);
    CHECK(outcome.out.find(": opencl_queues ", at) != std::string::npos);
    CHECK(outcome.out.find("\n  9 (", at) != std::string::npos);
}

TEST_CASE("studies print the bound of which they give percentages, again only where it changes",
          "[program][thorough]") {
    (void)devices_or_skip(Backend::opencl);
    const std::string rows = " --device opencl:0 --variant opencl_pinned";
    CHECK(stated_bounds("--study memory" + rows) == 1);
    CHECK(stated_bounds("--study streams" + rows) == 1);
    CHECK(stated_bounds("--study work" + rows) == 7); // the kernel takes longer each time
}
TEST_CASE("the study of mapped memory prints the bound of which it gives percentages once",
          "[program][thorough][cuda]") {
    (void)devices_or_skip(Backend::cuda);
    CHECK(stated_bounds("--study blocks --device cuda:0") == 1);
}

#if defined(STREAMS_PERTURBED)
namespace {
bool ticking = false;
double ticks = 1e12; // more milliseconds than an int counts
} // namespace
extern "C" {
double __real__ZN6gpulab8clock_msEv();
/// gpulab::clock_ms(), by the linker's --wrap: 0.25 ms from one call to the next while a test wants that.
double __wrap__ZN6gpulab8clock_msEv() { return ticking ? ticks += 0.25 : __real__ZN6gpulab8clock_msEv(); }
}

TEST_CASE("what poisons a pass, records it or compares it does not count in its total time", "[program]") {
    streams::Problem p;
    p.image = streams::random_image(64, 16, 3, 1);
    p.streams = 2;
    streams::Output out = streams::reference_output(p);
    for (const auto& v : streams::variants()) {
        if (v.backend == Backend::cpu || !v.run || gpulab::devices(v.backend).empty()) continue;
        gpulab::use(gpulab::devices(v.backend).front());
        INFO(v.name);
        gpulab::Stopwatch watch(1, 2);
        ticking = true;
        v.run(p, out, watch);
        ticking = false;
        // Three resets, and what follows the passes; in CUDA the blank image and two calls in between besides, and
        // behind cuda_polling a look at the marks.
        const double cuda = v.name == "cuda_polling" ? 4 : 3;
        CHECK(4 * watch.left_out_ms() == 3 + 1 + (v.backend == Backend::cuda ? cuda : 0));
        CHECK(4 * watch.kernel().median == 1);
    }
    const gpulab::Options options("streams", "a test");
    const auto nothing = [] {};
    const auto body = [&](streams::Output&, gpulab::Stopwatch& watch) {
        watch.prepare(nothing);
        watch.time(nothing);
        watch.leave_out(nothing);
    };
    ticking = true;
    const gpulab::Result r = gpulab::measure("a test", gpulab::devices(Backend::cpu).front(), out, options, body,
                                             [] { return gpulab::compare(std::vector{1.0}, std::vector{1.0}, 0.0); });
    ticking = false;
    CHECK(4 * r.total_ms == 7 - 1);
    CHECK(4 * r.prepared_ms == 1);
}
#endif

TEST_CASE("what is said of a link, and what each result has, are its rates, the bound and the model of the strips",
          "[program]") {
    const streams::Link link{.up_alone = 2,
                             .down_alone = 4,
                             .up = 1,
                             .down = 1.5,
                             .together = 1.25,
                             .pause_ms = 0.125,
                             .kernel_ms = 0.5,
                             .pin_ms = 7};
    const std::size_t bytes = 1'000'000;
    CHECK(
        streams::about_link(link, bytes) ==
        std::vector<std::string>{
            "link: up 2.0 GB/s, down 4.0 GB/s, each alone; 1.0 and 1.5 GB/s while the other direction is busy",
            "bound: 1.0000 ms, the slowest stage; kernel alone 0.5000 ms; both copies at once, without strips, 0.8000 "
            "ms; one stage after the other 1.2500 ms",
            "pause: each strip costs 125.0 us beside its bytes; the model's best is 1 strips, 1.2500 ms",
            "page-locked memory for image and result: 7.00 ms to allocate and free"});
    streams::Problem problem;
    problem.image.pixels.resize(bytes);
    problem.streams = 4;
    std::map<std::string, double> values;
    for (const gpulab::Parameter& p : streams::link_values(link, problem)) values[p.name] = std::get<double>(p.value);
    CHECK(values == std::map<std::string, double>{{"bound_ms", 1},
                                                  {"together_ms", 0.8},
                                                  {"sum_ms", 1.25},
                                                  {"pause_ms", 0.125},
                                                  {"pin_ms", 7},
                                                  {"strips_ms", 1.4375}});
}
