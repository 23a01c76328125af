#include <catch2/catch_test_macros.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <random>
#include <string>

#include "gpulab/error.hpp"
#include "gpulab/report.hpp"

namespace fs = std::filesystem;
using gpulab::Options;
using gpulab::Report;
using gpulab::Result;

namespace {

std::string fresh_path(const char* suffix) {
    return (fs::temp_directory_path() / ("gpulab_test_report_" + std::to_string(std::random_device{}()) + suffix))
        .string();
}

std::string take(const std::string& path) {
    std::string text;
    {
        std::ifstream file(path);
        text.assign(std::istreambuf_iterator<char>(file), {});
    }
    fs::remove(path);
    return text;
}

Result result(const char* name, bool right) {
    Result r;
    r.variant = name;
    r.device = gpulab::devices(gpulab::Backend::cpu).front();
    r.has_device = true;
    r.kernel = {2, 1, 3, 5};
    r.total_ms = 4;
    const std::vector<float> expected{1}, got{right ? 1.0f : 2.0f};
    r.status = Result::Status::unjudged;
    r.judge(gpulab::compare(expected, got, 1e-6));
    return r;
}

Result skipped(const char* name) {
    Result r;
    r.variant = name;
    r.backend = gpulab::Backend::cuda;
    r.reason = "no, \"quoted\" reason";
    return r;
}

} // namespace

TEST_CASE("JSON and CSV hold what was measured, what failed and what was skipped") {
    const std::string json_path = fresh_path(".json"), csv_path = fresh_path(".csv");
    Options options("lab", "a test");
    const char* arguments[] = {"lab", "--json", json_path.c_str(), "--csv", csv_path.c_str()};
    REQUIRE(options.parse(5, arguments));
    {
        Report report(options, {{"n", std::int64_t{10}}, {"shape", "wide, and \"tall\""}});
        report.sequential_ms(8);
        report.add(result("right", true), {.bytes = 4e6, .flops = 2e6});
        report.add(result("wrong", false), {.bytes = 4e6, .flops = 2e6});
        report.add(skipped("absent"), {.bytes = 4e6});
        CHECK(report.finish() == gpulab::exit_wrong_result);
    }
    const nlohmann::json j = nlohmann::json::parse(take(json_path));
    CHECK(j["lab"] == "lab");
    CHECK(j["problem"]["n"] == 10);
    CHECK(j["problem"]["seed"] == 42);
    REQUIRE(j["devices"].size() == 1);
    CHECK(j["devices"][0]["backend"] == "cpu");
    CHECK(j["devices"][0]["ceilings"]["copy_gb_per_s"] > 0);
    REQUIRE(j["variants"].size() == 3);

    const auto& right = j["variants"][0];
    CHECK(right["name"] == "right");
    CHECK(right["status"] == "passed");
    CHECK(right["reason"].is_null());
    CHECK(right["device"] == "cpu:0");
    CHECK(right["kernel_ms"]["median"] == 2);
    CHECK(right["kernel_ms"]["min"] == 1);
    CHECK(right["kernel_ms"]["max"] == 3);
    CHECK(right["total_ms"] == 4);
    CHECK(right["gb_per_s"] == 2); // 4e6 bytes in 2 ms
    CHECK(right["gflop_per_s"] == 1);
    CHECK(right["speedup"] == 4);
    CHECK(right["error"] == 0);
    CHECK(right["tolerance"] == 1e-6);
    const double percent = right["percent_of_ceiling"];
    const double copy = j["devices"][0]["ceilings"]["copy_gb_per_s"];
    CHECK(std::abs(percent - 100 * 2 / copy) < 1e-9 * percent);

    CHECK(j["variants"][1]["status"] == "failed");
    CHECK(j["variants"][1]["reason"].get<std::string>().find("expected 1, got 2") != std::string::npos);
    const auto& absent = j["variants"][2];
    CHECK(absent["status"] == "skipped");
    CHECK(absent["reason"] == "no, \"quoted\" reason");
    CHECK(absent["device"].is_null());
    CHECK(absent["kernel_ms"].is_null());
    CHECK(absent["error"].is_null());

    const std::string csv = take(csv_path);
    CHECK(std::count(csv.begin(), csv.end(), '\n') == 4);
    CHECK(csv.starts_with("n,shape,variant,backend,device,status,reason,"));
    CHECK(csv.find("10,\"wide, and \"\"tall\"\"\",right,cpu,cpu:0,passed,,2,1,3,4,2,1,") != std::string::npos);
    CHECK(csv.find("absent,cuda,,skipped,\"no, \"\"quoted\"\" reason\",,,,") != std::string::npos);
}

TEST_CASE("a study writes a list of runs, each with its own problem") {
    const std::string json_path = fresh_path(".json");
    Options options("lab", "a test");
    options.studies({{"sizes", "a sweep", {}}});
    const char* arguments[] = {"lab", "--study", "sizes", "--json", json_path.c_str()};
    REQUIRE(options.parse(5, arguments));
    Report report(options);
    for (const std::int64_t n : {10, 20}) {
        report.begin({{"n", n}});
        Result r = result("right", true);
        r.extra = {{"threads", std::int64_t{n / 10}}};
        report.add(std::move(r), {.bytes = 1});
    }
    CHECK(report.finish() == gpulab::exit_success);
    const nlohmann::json j = nlohmann::json::parse(take(json_path));
    REQUIRE(j.is_array());
    REQUIRE(j.size() == 2);
    CHECK(j[0]["problem"]["n"] == 10);
    CHECK(j[1]["problem"]["n"] == 20);
    CHECK(j[1]["study"] == "sizes");
    CHECK(j[1]["variants"][0]["threads"] == 2);
}

TEST_CASE("a report that is not finished leaves no file") {
    const std::string json_path = fresh_path(".json");
    Options options("lab", "a test");
    const char* arguments[] = {"lab", "--json", json_path.c_str()};
    REQUIRE(options.parse(3, arguments));
    {
        Report report(options, {});
        report.add(result("right", true), {});
    }
    CHECK_FALSE(fs::exists(json_path));
}

TEST_CASE("a result that nobody compared is refused") {
    Options options("lab", "a test");
    const char* arguments[] = {"lab"};
    REQUIRE(options.parse(1, arguments));
    Report report(options, {});
    Result r = result("right", true);
    r.status = Result::Status::unjudged;
    CHECK_THROWS_AS(report.add(r, {}), gpulab::Error);
}

TEST_CASE("JSON and CSV in one file are refused, however the file is written") {
    const std::string path = fresh_path("");
    const std::string again = (fs::path(path).parent_path() / "." / fs::path(path).filename()).string();
    Options options("lab", "a test");
    const char* arguments[] = {"lab", "--json", path.c_str(), "--csv", again.c_str()};
    CHECK_THROWS_AS(options.parse(5, arguments), gpulab::UsageError);
    CHECK_FALSE(fs::exists(path));
}

TEST_CASE("a name that is not UTF-8 does not cost the results") {
    const std::string path = fresh_path(".json");
    Options options("lab", "a test");
    const char* arguments[] = {"lab", "--json", path.c_str()};
    REQUIRE(options.parse(3, arguments));
    Report report(options, {{"matrix", std::string("caf\xe9.mtx")}});
    report.add(result("right", true), {});
    CHECK(report.finish() == gpulab::exit_success);
    CHECK(nlohmann::json::parse(take(path))["variants"].size() == 1);
}
