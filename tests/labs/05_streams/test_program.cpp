// The program as a user meets it: its options, its files, its exit codes; and the hand-out against the variant table.
#include <catch2/catch_test_macros.hpp>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>
#include <string>

#include "checks.hpp"
#include "gpulab/device.hpp"
#include "gpulab/image.hpp"
#include "gpulab_testing/hand_out.hpp"
#include "streams.hpp"
#include "studies.hpp"

namespace fs = std::filesystem;
using gpulab::Backend;
using gpulab::testing::Outcome;

namespace {

Outcome streams_program(const std::string& arguments) {
    return gpulab::testing::run_program(STREAMS_PROGRAM, arguments);
}

std::string fresh_path() {
    return (fs::temp_directory_path() / ("gpulab_streams_" + std::to_string(std::random_device{}()))).string();
}

nlohmann::json json_in(const std::string& path) {
    nlohmann::json json;
    std::ifstream(path) >> json;
    return json;
}

} // namespace

TEST_CASE("the README's ladder is the variant table") {
    CHECK(gpulab::testing::variants_in_ladder(STREAMS_README) == gpulab::testing::names_of(streams::variants()));
}

TEST_CASE("the program lists every variant, study and option and exits 0") {
    const Outcome list = streams_program("--list");
    CHECK(list.exit_code == 0);
    for (const auto& name : gpulab::testing::names_of(streams::variants()))
        CHECK(list.out.find(name) != std::string::npos);
    const Outcome studies = streams_program("--study list");
    CHECK(studies.exit_code == 0);
    for (const auto& study : streams::study_list()) CHECK(studies.out.find(study.name) != std::string::npos);
    const Outcome help = streams_program("--help");
    CHECK(help.exit_code == 0);
    for (const char* option : {"--input", "--output", "--width", "--height", "--channels", "--work", "--streams",
                               "--trace", "--lanes", "--variant", "--study", "--json", "--csv"})
        CHECK(help.out.find(option) != std::string::npos);
}

TEST_CASE("bad input is one line on stderr, exit code 2 and no file") {
    const std::string json = fresh_path(), broken = fresh_path();
    std::ofstream(broken) << "this is no picture";
    for (const std::string& arguments : {std::string("--streams 0"),
                                         std::string("--streams 65"),
                                         std::string("--streams x"),
                                         std::string("--height 0"),
                                         std::string("--width -1"),
                                         std::string("--channels 5"),
                                         std::string("--work -1"),
                                         std::string("--width 16Mi --height 16Mi"),
                                         std::string("--variant cuda_nothing"),
                                         std::string("--study nothing"),
                                         std::string("--input /nonexistent.png"),
                                         "--input " + broken,
                                         std::string("--output /nonexistent/folder/x.png"),
                                         std::string("--trace /nonexistent/folder/x.json"),
                                         std::string("--study streams --output x.png"),
                                         std::string("--study work --work 3"),
                                         "--input " + broken + " --height 7",
                                         std::string("--input /dev/zero"),
                                         std::string("--output x.png --trace ./x.png"),
                                         std::string("--input ''"),
                                         std::string("stray")}) {
        INFO(arguments);
        const Outcome outcome = streams_program(arguments + " --json " + json);
        CHECK(outcome.exit_code == 2);
        CHECK(outcome.error_lines() == 1);
        CHECK(outcome.err.starts_with("streams: "));
        CHECK_FALSE(fs::exists(json));
        CHECK_FALSE(fs::exists(json + ".part"));
    }
    fs::remove(broken);
}

TEST_CASE("sizes beside --input are refused, because the image has its own") {
    const std::string path = fresh_path();
    gpulab::OutputFile file(path);
    gpulab::write_png(file, streams::random_image(5, 4, 3, 1));
    const std::string input = "--variant cpu_sequential --repeat 1 --input " + path;
    REQUIRE(streams_program(input).exit_code == 0); // so that only the size can be at fault below
    for (const std::string option : {"--width 5", "--height 4", "--channels 3", "--height=7"}) {
        INFO(option);
        const Outcome outcome = streams_program(input + " " + option);
        CHECK(outcome.exit_code == 2);
        CHECK(outcome.error_lines() == 1);
        CHECK(outcome.err.find(option.substr(0, option.find_first_of(" =")) + ": --input brings an image") !=
              std::string::npos);
    }
    fs::remove(path);
}

TEST_CASE("a PNG goes in, its negative comes out, and the negative of that is the first again") {
    const std::string first = fresh_path(), second = fresh_path(), third = fresh_path();
    const gpulab::Image image = streams::random_image(37, 23, 4, 5);
    gpulab::OutputFile file(first);
    gpulab::write_png(file, image);
    REQUIRE(streams_program("--repeat 1 --warmup 0 --streams 5 --input " + first + " --output " + second).exit_code ==
            0);
    REQUIRE(streams_program("--repeat 1 --warmup 0 --variant cpu_threads --input " + second + " --output " + third)
                .exit_code == 0);
    const gpulab::Image negative = gpulab::read_png(second);
    bool right = negative.pixels.size() == image.pixels.size();
    for (std::size_t i = 0; right && i < image.pixels.size(); ++i)
        right = negative.pixels[i] == (i % 4 == 3 ? image.pixels[i] : 255 - image.pixels[i]);
    CHECK(right);
    CHECK(gpulab::read_png(third).pixels == image.pixels);
    for (const auto& path : {first, second, third}) fs::remove(path);
}

TEST_CASE("a run over everything passes what can run, shows sample pixels, and writes JSON, CSV and a trace") {
    const std::string json = fresh_path(), csv = fresh_path(), trace = fresh_path();
    const Outcome outcome =
        streams_program("--width 301 --height 103 --channels 3 --streams 4 --work 2 --repeat 2 --json " + json +
                        " --csv " + csv + " --trace " + trace);
    REQUIRE(outcome.exit_code == 0);
    CHECK(outcome.out.find("Pixels before and after") != std::string::npos);
    const nlohmann::json run = json_in(json);
    CHECK(run["lab"] == "streams");
    for (const auto& [name, value] :
         {std::pair{"width", 301}, {"height", 103}, {"channels", 3}, {"streams", 4}, {"work", 2}})
        CHECK(run["problem"][name] == value);
    std::size_t expected = 0, traced = 0;
    for (const auto& v : streams::variants()) expected += std::max<std::size_t>(1, gpulab::devices(v.backend).size());
    CHECK(run["variants"].size() == expected);
    for (const auto& v : run["variants"]) {
        const std::string name = v["name"], backend = v["backend"], status = v["status"];
        INFO(name);
        if (backend == "cpu") CHECK(status == "passed");
        if (backend == "opencl" && !gpulab::devices(Backend::opencl).empty()) CHECK(status == "passed");
        if (backend == "cuda") CHECK(status == (gpulab::devices(Backend::cuda).empty() ? "skipped" : "passed"));
        if (status != "passed") continue;
        CHECK(v["kernel_ms"]["median"] > 0);
        CHECK(v["total_ms"] > 0);
        CHECK(v["percent_of_ceiling"] > 0);
        CHECK(v["error"] == 0);
        CHECK(v["tolerance"] == 0);
        if (backend == "cpu") continue;
        ++traced;
        CHECK(v["bound_ms"] > 0);
        CHECK(v["sum_ms"] >= v["bound_ms"].get<double>() * 0.5);
        CHECK(v["pause_ms"] >= 0);
        CHECK(v["strips_ms"] > 0);
        if (name != "cuda_mapped") CHECK(v["overlap_percent"] >= 0);
        if (name != "cuda_mapped") CHECK(v["traced_ms"] > 0);
        if (name == "opencl_in_order" || name == "cuda_sync_pinned") CHECK(v["overlap_percent"] < 1);
    }
    std::size_t processes = 0;
    const nlohmann::json traced_run = json_in(trace); // named: a range-for does not keep the parts of a temporary alive
    for (const auto& e : traced_run["traceEvents"]) processes += e["name"] == "process_name";
    CHECK(processes == traced);
    CHECK(fs::file_size(csv) > 0);
    for (const auto& path : {json, csv, trace}) fs::remove(path);
}

TEST_CASE("every study runs and writes a list of runs") {
    for (const auto& study : streams::study_list()) {
        INFO(study.name);
        const std::string json = fresh_path();
        REQUIRE(
            streams_program("--study " + study.name + " --width 67 --height 41 --repeat 1 --warmup 0 --json " + json)
                .exit_code == 0);
        const nlohmann::json runs = json_in(json);
        CHECK(runs.is_array());
        CHECK(runs.size() >= 1);
        for (const auto& run : runs)
            for (const auto& v : run["variants"]) CHECK(v["status"] != "failed");
        fs::remove(json);
    }
}
