// What a student sees, and what the files hold: whole, and word by word.
#include <algorithm>
#include <array>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>
#include <ranges>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "gpulab/error.hpp"
#include "gpulab/file.hpp"
#include "gpulab/report.hpp"
#include "gpulab_testing/capture.hpp"
#include "gpulab_testing/environment.hpp"
#include "gpulab_testing/parse.hpp"
#include "gpulab_testing/program.hpp"
#include "table.hpp"

#include <dlfcn.h>

namespace fs = std::filesystem;
using gpulab::Arithmetic;
using gpulab::Backend;
using gpulab::Device;
using gpulab::Options;
using gpulab::Report;
using gpulab::Result;
using gpulab::Surroundings;
using gpulab::testing::Printed;
using gpulab::testing::printed_by;
using gpulab::testing::ScratchFile;

namespace {

/// The options of a program `lab` with a study `sizes`.
class TestOptions : public Options {
public:
    explicit TestOptions(const std::vector<std::string>& arguments) : Options("lab", "a test") {
        studies({{"sizes", "a sweep", {}}});
        REQUIRE(gpulab::testing::parse(*this, arguments));
    }
};

const Device cpu{
    .backend = Backend::cpu, .name = "Test CPU", .platform = "", .memory_bytes = 16000000000, .compute_units = 4};
const Device pocl{.backend = Backend::opencl,
                  .name = "Test OpenCL",
                  .platform = "Portable",
                  .memory_bytes = 8000000000,
                  .compute_units = 5};
const Device gpu{
    .backend = Backend::cuda, .name = "Test GPU", .platform = "", .memory_bytes = 4000000000, .compute_units = 6};

/// Devices of known speed: 10 GB/s and, where arithmetic is asked for, 20 GFLOP/s in float and 16 in double. The GPU
/// does half as much again.
Surroundings known(std::size_t columns = 110) {
    Surroundings s;
    s.terminal.columns = columns;
    s.ceilings = [](const Device& device, Arithmetic arithmetic) {
        const double times = device.backend == Backend::cuda ? 1.5 : 1;
        gpulab::Ceilings c{.copy_gb_s = 10 * times};
        if (arithmetic != Arithmetic::none) {
            c.fp32_gflop_s = 20 * times;
            c.fp64_gflop_s = 16 * times;
        }
        return c;
    };
    return s;
}

/// 12 MB take 1.2 ms at 10 GB/s, 30 million operations 1.5 ms at 20 GFLOP/s.
constexpr gpulab::Work work{.bytes = 12e6, .flops = 30e6, .arithmetic = Arithmetic::fp32};

/// 2 ms of kernel, never twice the same figure.
Result ran(const char* variant, const Device& device, bool right = true) {
    Result r;
    r.variant = variant;
    r.backend = device.backend;
    r.device = device;
    r.has_device = true;
    r.kernel = {.median = 2, .min = 1.23456789, .max = 3.25, .repeats = 7};
    r.total_ms = 4.125;
    r.status = right ? Result::Status::passed : Result::Status::failed;
    r.error = right ? 3.5e-7 : 0.5;
    r.tolerance = 1e-6;
    if (!right) r.reason = "at index 3: expected 1, got 1.5";
    return r;
}

Result skipped(const char* variant, const char* reason) {
    Result r;
    r.variant = variant;
    r.backend = Backend::cuda;
    r.reason = reason;
    return r;
}

Result skipped_on(const Device& device, const char* variant, const char* reason) {
    Result r = skipped(variant, reason);
    r.backend = device.backend;
    r.device = device;
    r.has_device = true;
    return r;
}

/// What a program prints with these arguments about a problem whose results the body adds. Its exit code must tell
/// whether one was wrong.
Printed reported(const std::vector<std::string>& arguments, const gpulab::Parameters& problem,
                 const std::function<void(Report&)>& body, const Surroundings& surroundings = known()) {
    const TestOptions options(arguments);
    int exit_code = -1;
    Printed printed = printed_by([&] {
        Report report(options, problem, surroundings);
        body(report);
        exit_code = report.finish();
    });
    const bool wrong = printed.out.find(" 0 wrong, ") == std::string::npos;
    CHECK(exit_code == (wrong ? gpulab::exit_wrong_result : gpulab::exit_success));
    return printed;
}

} // namespace

TEST_CASE("an error keeps the results that there are by then, right or wrong") {
    const bool study = GENERATE(false, true), result = GENERATE(false, true), right = GENERATE(false, true);
    const ScratchFile json;
    std::vector<std::string> words = {"--json", json.path()};
    if (study) words.insert(words.end(), {"--study", "sizes"});
    CHECK_THROWS_AS(reported(words, {},
                             [&](Report& report) {
                                 if (study) report.begin({{"n", 10}});
                                 report.add(skipped("cuda_one", "no driver"), work);
                                 if (result) report.add(ran("cpu_one", cpu, right), work);
                                 throw gpulab::Error("the device is gone");
                             }),
                    gpulab::Error);
    if (!result && !study) {
        CHECK_THROWS(json.text()); // nothing to keep
        return;
    }
    const std::string text = json.text();
    CHECK((text.find("cpu_one") != std::string::npos) == result);
    if (result) CHECK(text.find(right ? "\"passed\"" : "\"failed\"") != std::string::npos);
}

TEST_CASE("a result says why it is slow where another one on its device took a quarter of the time, in a single run") {
    const auto row = [](const Device& first, double ms) {
        return reported({}, {},
                        [&](Report& report) {
                            Result slow = ran("opencl_slow", pocl);
                            slow.kernel.median = ms;
                            slow.note = "strides";
                            report.add(ran("opencl_fast", first), work); // 2 ms
                            report.add(slow, work);
                        })
            .out;
    };
    CHECK(row(pocl, 8).find("right\n      strides\n") != std::string::npos);
    CHECK(row(pocl, 7.9).find("strides") == std::string::npos);
    CHECK(row(cpu, 8).find("strides") == std::string::npos);
}

TEST_CASE("a device that cannot be used has no ceilings, and costs no other results") {
    Surroundings broken = known();
    broken.ceilings = [](const Device& device, Arithmetic) -> gpulab::Ceilings {
        if (device.backend == Backend::opencl) throw gpulab::Error("no context");
        return {.copy_gb_s = 10};
    };
    const auto out = reported(
                         {}, {},
                         [&](Report& report) {
                             report.add(skipped_on(pocl, "opencl_one", "no context"), work);
                             report.add(ran("cuda_one", gpu), work);
                             CHECK_THROWS_AS(report.add(ran("opencl_two", pocl), work), gpulab::Error);
                         },
                         broken)
                         .out;
    CHECK(out.find("1 right, 0 wrong, 1 skipped") != std::string::npos);
}

TEST_CASE("a result of the sequential variant becomes the one that speed-ups refer to") {
    const ScratchFile json;
    reported({"--json", json.path()}, {{"n", 10}}, [](Report& report) {
        report.sequential({"one_loop", 5});
        Result r = report.add(ran("one_loop", cpu), work);
        CHECK(r.kernel.median == 2);
        CHECK(r.speedup == 1);
        r.kernel.median = 4;
        r.variant = "other";
        CHECK(report.add(r, work).speedup == 0.5);
    });
    CHECK(json.json()["sequential_ms"] == 2);
}

TEST_CASE("one run shows what was right, wrong and skipped, on the terminal and in both files") {
    const ScratchFile json, csv;
    const auto body = [](Report& report) {
        report.column("blocks", "blocks");
        report.column("overlap_percent", "overlap %");
        report.column("blocks", "blocks"); // as a lab does that names its columns for each problem
        report.sequential({"one_loop", 5});
        Result r = ran("cpu_right", cpu);
        r.extra = {{"blocks", std::int64_t{132}}, {"overlap_percent", 12.3456789}, {"note", "a, b"}, {"hidden", 77.0}};
        report.add(r, work);
        r = ran("cpu_wrong", cpu, false);
        r.extra = {{"late", std::int64_t{1}}};
        report.add(r, work);
        report.add(skipped("cuda_one", "no driver, \"none\" at all"), work);
        report.add(skipped("cuda_two", "no driver, \"none\" at all"), work);
        report.add(skipped("cuda_three", "for another reason"), work);
    };
    const Printed printed = reported({"--seed", "7", "--json", json.path(), "--csv", csv.path()},
                                     {{"n", 10}, {"shape", "wide, and \"tall\""}, {"x", 0.5}, {"y", 4e6}}, body);
    CHECK(printed.err == "");
    CHECK(printed.out == R"(lab: n = 10, shape = wide, and "tall", x = 0.5, y = 4000000

cpu:0  Test CPU: copies 10.0 GB/s, 20.0 GFLOP/s float, 16.0 GFLOP/s double
  variant                  kernel ms  total ms     GB/s  GFLOP/s % bound speed-up   blocks overlap % result
  cpu_right                   2.0000    4.1250     6.00    15.00    75.0     2.50      132     12.35 right
  cpu_wrong                   2.0000    4.1250     6.00    15.00    75.0     2.50        -         - WRONG
      at index 3: expected 1, got 1.5

cuda  no driver, "none" at all
  cuda_one                  skipped
  cuda_two                  skipped
  cuda_three                skipped: for another reason

1 right, 1 wrong, 3 skipped
Not in the table: error. The files of --json and --csv have all columns.
)");
    CHECK(
        csv.text() ==
        R"(lab,n,shape,x,y,seed,sequential_variant,sequential_ms,variant,backend,device,device_name,device_platform,device_memory_bytes,device_compute_units,copy_gb_per_s,fp32_gflop_per_s,fp64_gflop_per_s,status,reason,kernel_ms_median,kernel_ms_min,kernel_ms_max,repeats,total_ms,bytes,flops,gb_per_s,gflop_per_s,percent_of_ceiling,speedup,error,tolerance,blocks,overlap_percent,note,hidden,late
lab,10,"wide, and ""tall""",0.5,4e+06,7,one_loop,5,cpu_right,cpu,cpu:0,Test CPU,,16000000000,4,10,20,16,passed,,2,1.23456789,3.25,7,4.125,1.2e+07,3e+07,6,15,75,2.5,3.5e-07,1e-06,132,12.3456789,"a, b",77,
lab,10,"wide, and ""tall""",0.5,4e+06,7,one_loop,5,cpu_wrong,cpu,cpu:0,Test CPU,,16000000000,4,10,20,16,failed,"at index 3: expected 1, got 1.5",2,1.23456789,3.25,7,4.125,1.2e+07,3e+07,6,15,75,2.5,0.5,1e-06,,,,,1
lab,10,"wide, and ""tall""",0.5,4e+06,7,one_loop,5,cuda_one,cuda,,,,,,,,,skipped,"no driver, ""none"" at all",,,,0,,,,,,,,,,,,,,
lab,10,"wide, and ""tall""",0.5,4e+06,7,one_loop,5,cuda_two,cuda,,,,,,,,,skipped,"no driver, ""none"" at all",,,,0,,,,,,,,,,,,,,
lab,10,"wide, and ""tall""",0.5,4e+06,7,one_loop,5,cuda_three,cuda,,,,,,,,,skipped,for another reason,,,,0,,,,,,,,,,,,,,
)");
    CHECK(
        json.text() ==
        R"({"lab":"lab","problem":{"n":10,"shape":"wide, and \"tall\"","x":0.5,"y":4000000.0,"seed":7},"sequential_variant":"one_loop","sequential_ms":5.0,"devices":[{"id":"cpu:0","name":"Test CPU","backend":"cpu","platform":"","memory_bytes":16000000000,"compute_units":4,"ceilings":{"copy_gb_per_s":10.0,"fp32_gflop_per_s":20.0,"fp64_gflop_per_s":16.0}}],"variants":[
  {"name":"cpu_right","backend":"cpu","device":"cpu:0","status":"passed","reason":null,"kernel_ms":{"median":2.0,"min":1.23456789,"max":3.25},"repeats":7,"total_ms":4.125,"bytes":12000000.0,"flops":30000000.0,"gb_per_s":6.0,"gflop_per_s":15.0,"percent_of_ceiling":75.0,"speedup":2.5,"error":3.5e-07,"tolerance":1e-06,"blocks":132,"overlap_percent":12.3456789,"note":"a, b","hidden":77.0},
  {"name":"cpu_wrong","backend":"cpu","device":"cpu:0","status":"failed","reason":"at index 3: expected 1, got 1.5","kernel_ms":{"median":2.0,"min":1.23456789,"max":3.25},"repeats":7,"total_ms":4.125,"bytes":12000000.0,"flops":30000000.0,"gb_per_s":6.0,"gflop_per_s":15.0,"percent_of_ceiling":75.0,"speedup":2.5,"error":0.5,"tolerance":1e-06,"late":1},
  {"name":"cuda_one","backend":"cuda","device":null,"status":"skipped","reason":"no driver, \"none\" at all","kernel_ms":null,"repeats":0,"total_ms":null,"bytes":null,"flops":null,"gb_per_s":null,"gflop_per_s":null,"percent_of_ceiling":null,"speedup":null,"error":null,"tolerance":null},
  {"name":"cuda_two","backend":"cuda","device":null,"status":"skipped","reason":"no driver, \"none\" at all","kernel_ms":null,"repeats":0,"total_ms":null,"bytes":null,"flops":null,"gb_per_s":null,"gflop_per_s":null,"percent_of_ceiling":null,"speedup":null,"error":null,"tolerance":null},
  {"name":"cuda_three","backend":"cuda","device":null,"status":"skipped","reason":"for another reason","kernel_ms":null,"repeats":0,"total_ms":null,"bytes":null,"flops":null,"gb_per_s":null,"gflop_per_s":null,"percent_of_ceiling":null,"speedup":null,"error":null,"tolerance":null}
]}
)");
}

TEST_CASE("a study shows each problem once above its rows, and both files hold every problem") {
    const ScratchFile json, csv;
    const auto body = [](Report& report) {
        for (const std::int64_t n : {10, 20}) {
            report.begin({{"n", n}, {"type", "float"}});
            report.sequential({"one_loop", n == 10 ? 5.0 : 0.0});
            report.say(n == 10 ? "what holds for ten" : "what holds for twenty");
            report.add(ran("cpu_right", cpu), work);
            Result r = ran("opencl_right", pocl);
            if (n == 20) r.extra = {{"threads", std::int64_t{256}}};
            report.add(r, work);
            report.add(skipped("cuda_one", "no driver"), work);
        }
    };
    const std::vector<std::string> arguments = {"--study", "sizes", "--json", json.path(), "--csv", csv.path()};
    CHECK(reported(arguments, {}, body).out == R"(lab, study sizes

n = 10, type = float
cpu:0  Test CPU: copies 10.0 GB/s, 20.0 GFLOP/s float, 16.0 GFLOP/s double
  what holds for ten
  variant                   kernel ms   total ms      GB/s   GFLOP/s  % bound  speed-up    error  result
  cpu_right                    2.0000     4.1250      6.00     15.00     75.0      2.50  3.5e-07  right

opencl:0  Test OpenCL (Portable): copies 10.0 GB/s, 20.0 GFLOP/s float, 16.0 GFLOP/s double
  variant                   kernel ms   total ms      GB/s   GFLOP/s  % bound  speed-up    error  result
  opencl_right                 2.0000     4.1250      6.00     15.00     75.0      2.50  3.5e-07  right

cuda  no driver
  cuda_one                  skipped

n = 20, type = float
  what holds for twenty
  variant                   kernel ms   total ms      GB/s   GFLOP/s  % bound  speed-up    error  result
  cpu_right                    2.0000     4.1250      6.00     15.00     75.0         -  3.5e-07  right
  opencl_right                 2.0000     4.1250      6.00     15.00     75.0         -  3.5e-07  right
  cuda_one                  skipped

4 right, 0 wrong, 2 skipped
)");
    CHECK(
        csv.text() ==
        R"(lab,study,n,type,seed,sequential_variant,sequential_ms,variant,backend,device,device_name,device_platform,device_memory_bytes,device_compute_units,copy_gb_per_s,fp32_gflop_per_s,fp64_gflop_per_s,status,reason,kernel_ms_median,kernel_ms_min,kernel_ms_max,repeats,total_ms,bytes,flops,gb_per_s,gflop_per_s,percent_of_ceiling,speedup,error,tolerance,threads
lab,sizes,10,float,42,one_loop,5,cpu_right,cpu,cpu:0,Test CPU,,16000000000,4,10,20,16,passed,,2,1.23456789,3.25,7,4.125,1.2e+07,3e+07,6,15,75,2.5,3.5e-07,1e-06,
lab,sizes,10,float,42,one_loop,5,opencl_right,opencl,opencl:0,Test OpenCL,Portable,8000000000,5,10,20,16,passed,,2,1.23456789,3.25,7,4.125,1.2e+07,3e+07,6,15,75,2.5,3.5e-07,1e-06,
lab,sizes,10,float,42,one_loop,5,cuda_one,cuda,,,,,,,,,skipped,no driver,,,,0,,,,,,,,,,
lab,sizes,20,float,42,,,cpu_right,cpu,cpu:0,Test CPU,,16000000000,4,10,20,16,passed,,2,1.23456789,3.25,7,4.125,1.2e+07,3e+07,6,15,75,,3.5e-07,1e-06,
lab,sizes,20,float,42,,,opencl_right,opencl,opencl:0,Test OpenCL,Portable,8000000000,5,10,20,16,passed,,2,1.23456789,3.25,7,4.125,1.2e+07,3e+07,6,15,75,,3.5e-07,1e-06,256
lab,sizes,20,float,42,,,cuda_one,cuda,,,,,,,,,skipped,no driver,,,,0,,,,,,,,,,
)");
    CHECK(json.text().starts_with("[\n{\"lab\":\"lab\",\"study\":\"sizes\",\"problem\":{\"n\":10,"));
    const nlohmann::json runs = json.json(); // each as that of a single run
    REQUIRE(runs.size() == 2);
    CHECK(runs[0]["sequential_ms"] == 5);
    CHECK(runs[1]["sequential_ms"].is_null());
    for (const auto& run : runs) {
        CHECK(run["problem"] == nlohmann::json{{"n", &run == &runs[0] ? 10 : 20}, {"type", "float"}, {"seed", 42}});
        CHECK(run["devices"].size() == 2);
        CHECK(run["variants"].size() == 3);
    }
    CHECK(runs[0]["variants"][1]["speedup"] == 2.5);
    CHECK(runs[1]["variants"][1]["threads"] == 256);
}

TEST_CASE("a study whose sweep has a column is one table") {
    const Printed printed = reported({"--study", "sizes"}, {}, [&](Report& report) {
        for (const std::int64_t stride : {1, 32}) {
            report.column("stride", "stride");
            report.column("share", "share of it");
            report.column("kind", "kind");
            report.begin({{"n", std::int64_t{1000}},
                          {"stride", stride},
                          {"share", 0.125 * static_cast<double>(stride)},
                          {"kind", stride == 1 ? "even/odd" : "warp"}});
            report.add(ran("cpu_right", cpu), {.bytes = 12e6});
            report.add(skipped_on(gpu, "cuda_one", "too old"), {.bytes = 12e6});
        }
    });
    CHECK(printed.out == R"(lab, study sizes

n = 1000
cpu:0  Test CPU: copies 10.0 GB/s
  stride share of it     kind  variant                  kernel ms  total ms     GB/s % bound speed-up result
       1        0.12 even/odd  cpu_right                   2.0000    4.1250     6.00    60.0        - right

cuda:0  Test GPU: copies 15.0 GB/s
  stride share of it     kind  variant                  kernel ms  total ms     GB/s % bound speed-up result
       1        0.12 even/odd  cuda_one                  skipped: too old
      32        4.00     warp  cpu_right                   2.0000    4.1250     6.00    60.0        - right
      32        4.00     warp  cuda_one                  skipped: too old

2 right, 0 wrong, 2 skipped
Not in the table: error. The files of --json and --csv have all columns.
)");
}

TEST_CASE("a quiet study shows its own table, its progress on a terminal, and whatever was not right") {
    const auto body = [](Report& report) {
        report.quiet(true);
        report.begin({{"n", 10}});
        report.say("nobody hears this");
        report.add(ran("cpu_right", cpu), work);
        report.add(ran("cuda_wrong", gpu, false), work);
        report.add(skipped_on(gpu, "cuda_one", "needs compute capability 9.0, and this device has only 7.5"), work);
        report.add(skipped("cuda_two", "no driver"), work);
        Result fast = ran("cpu_last", cpu);
        fast.percent = 106; // which a report that is not quiet explains
        report.add(fast, work);
    };
    Surroundings surroundings = known(80);
    const Printed to_file = reported({"--study", "sizes"}, {}, body, surroundings);
    surroundings.terminal.progress = true;
    const Printed to_terminal = reported({"--study", "sizes"}, {}, body, surroundings);
    CHECK(to_file.out == R"(lab, study sizes
cuda_wrong on cuda:0: WRONG: at index 3: expected 1, got 1.5
cuda_one on cuda:0: skipped: needs compute capability 9.0, and this device has
    only 7.5
cuda_two on cuda: skipped: no driver

2 right, 1 wrong, 2 skipped
)");
    CHECK(to_file.err == "");
    CHECK(to_terminal.out == to_file.out);
    const auto line = [](const std::string& text) { return "\r" + text + std::string(78 - text.size(), ' '); };
    CHECK(to_terminal.err == line("cpu_right ...") + line("") + "\r" + line("cpu_last ...") + line("") + "\r");
}

TEST_CASE("a run says on a terminal what it is doing, and takes it back before the next row and before an error") {
    const TestOptions options({});
    const auto run = [&](bool progress, bool fails) {
        return printed_by([&] {
            Surroundings surroundings = known(80);
            surroundings.terminal.progress = progress;
            Report report(options, {{"n", 10}}, surroundings);
            report.doing("cpu_right");
            if (fails) return; // as when an exception is thrown
            report.add(ran("cpu_right", cpu), work);
            report.finish();
        });
    };
    const auto line = [](const std::string& text) { return "\r" + text + std::string(78 - text.size(), ' '); };
    const std::string shown = line("the right answer, on the CPU ...") + line("cpu_right ...") + line("") + "\r";
    CHECK(run(true, false).err == shown);
    CHECK(run(true, true).err == shown);
    CHECK(run(false, false).err == "");
    CHECK(run(false, false).out == run(true, false).out);
}

TEST_CASE("a name longer than its column takes the space behind it, and the columns stay below their headings") {
    const Printed printed = reported({}, {{"n", 10}}, [&](Report& report) {
        report.add(ran("cuda_of_24_letters_at_all", gpu), {.bytes = 12e6});
        report.add(ran("cuda_with_a_name_of_30_letters", gpu), {.bytes = 12e6});
        report.add(ran("cuda_with_a_name_that_pushes_the_first_figure", gpu), {.bytes = 12e6});
    });
    CHECK(printed.out == R"(lab: n = 10

cuda:0  Test GPU: copies 15.0 GB/s
  variant                   kernel ms   total ms      GB/s  % bound  speed-up    error  result
  cuda_of_24_letters_at_all    2.0000     4.1250      6.00     40.0         -  3.5e-07  right
  cuda_with_a_name_of_30_letters 2.0000   4.1250      6.00     40.0         -  3.5e-07  right
  cuda_with_a_name_that_pushes_the_first_figure 2.0000 4.1250 6.00 40.0     -  3.5e-07  right

3 right, 0 wrong, 0 skipped
)");
}

TEST_CASE("a study without a result is an error, and writes no file; one that says something is not") {
    const ScratchFile json;
    const TestOptions options({"--study", "sizes", "--json", json.path()});
    (void)printed_by([&] {
        Report empty(options, {}, known());
        CHECK_THROWS_MATCHES(empty.finish(), gpulab::UsageError,
                             Catch::Matchers::Message("--study sizes: it has none of the chosen variants"));
    });
    CHECK_FALSE(fs::exists(json.path()));
    (void)printed_by([&] {
        Report words(options, {}, known());
        words.say("eight pictures");
        CHECK(words.finish() == gpulab::exit_success);
    });
}

TEST_CASE("a run that is interrupted has left complete files with all results so far") {
    const ScratchFile json, csv, single;
    json.write("of an earlier run");
    const TestOptions options({"--study", "sizes", "--json", json.path(), "--csv", csv.path()});
    const auto rows_of_csv = [&] { return std::ranges::count(csv.text(), '\n') - 1; };
    (void)printed_by([&] {
        Report report(options, {}, known());
        CHECK_THROWS_AS(report.add(ran("cpu_right", cpu), {}), gpulab::Error); // it belongs to no problem
        report.begin({{"n", 10}});
        CHECK(json.text() == "of an earlier run"); // nothing was measured yet
        report.add(ran("cpu_right", cpu), work);
        CHECK(json.json().size() == 1);
        CHECK(rows_of_csv() == 1);
        report.begin({{"n", 20}});
        report.add(ran("cpu_right", cpu), work);
        report.add(ran("cuda_right", gpu), work);
    }); // the report is never finished
    const nlohmann::json runs = json.json();
    REQUIRE(runs.size() == 2);
    CHECK(runs[0]["problem"]["n"] == 10);
    CHECK(runs[1]["problem"]["n"] == 20);
    CHECK(runs[1]["variants"][1]["name"] == "cuda_right");
    CHECK(runs[1]["variants"][1]["kernel_ms"]["median"] == 2);
    CHECK(rows_of_csv() == 3);

    const TestOptions one_run({"--json", single.path()});
    (void)printed_by([&] {
        Report report(one_run, {}, known());
        report.add(skipped("cuda_one", "no driver"), {});
        CHECK_FALSE(fs::exists(single.path())); // nothing was measured yet
        report.add(ran("cpu_right", cpu), {});
        CHECK(single.json()["variants"][0]["name"] == "cpu_right"); // by back end, whatever ran first
        CHECK(single.json()["variants"][1]["name"] == "cuda_one");
    });
}

TEST_CASE("the files say what a judge of a GPU's times asks for, and the end says what has lengthened them") {
    const ScratchFile json, csv;
    Surroundings surroundings = known();
    int looks = 0;
    surroundings.gpu_state = [&](const Device& device) {
        CHECK(device.backend == Backend::cuda);
        ++looks;
        return gpulab::GpuState{.pci = "0000:3b:00.0",
                                .cuda_driver = "13.0",
                                .cuda_runtime = "12.9",
                                .cuda_toolkit = "12.8",
                                .driver = "580.95.05",
                                .sm_mhz = looks == 1 ? 345u : 1410u,
                                .most_sm_mhz = 1980,
                                .memory_mhz = 2619,
                                .most_memory_mhz = 3201,
                                .slowed_by_power_ms = 1000.0 * looks,
                                .slowed_by_heat_ms = 7,
                                .processes = looks == 2 ? 3 : 1};
    };
    const Printed printed = reported(
        {"--json", json.path(), "--csv", csv.path(), "--backend", "cpu"}, {{"n", 10}},
        [](Report& report) {
            report.add(ran("cpu_right", cpu), {});
            for (const char* const name : {"cuda_one", "cuda_two", "cuda_three"}) report.add(ran(name, gpu), {});
        },
        surroundings);
    CHECK(looks == 3);
    CHECK(printed.out.find("\ncuda:0  Test GPU at 0000:3b:00.0: copies 15.0 GB/s\n") != std::string::npos);
    const nlohmann::json devices = json.json()["devices"];
    CHECK_FALSE(devices[0].contains("pci"));
    CHECK((devices[1]["pci"] == "0000:3b:00.0" && devices[1]["driver"] == "580.95.05"));
    CHECK((devices[1]["cuda_driver"] == "13.0" && devices[1]["cuda_runtime"] == "12.9" &&
           devices[1]["cuda_toolkit"] == "12.8"));
    CHECK(devices[1]["sm_mhz"] == nlohmann::json{{"before", 345}, {"after", 1410}, {"most", 1980}});
    CHECK(devices[1]["memory_mhz"] == nlohmann::json{{"before", 2619}, {"after", 2619}, {"most", 3201}});
    CHECK((devices[1]["slowed_by_power_ms"] == 2000 && devices[1]["slowed_by_heat_ms"] == 0));
    CHECK(devices[1]["other_processes"] == 2);
    CHECK(csv.text().find(",sm_mhz_before,") != std::string::npos);
    CHECK(printed.out.ends_with("cuda:0: its power limit has kept its clocks low for 2000 ms.\n"
                                "cuda:0: 2 other processes computed on it, so times may be too long.\n"));
}

TEST_CASE("a rate without bytes or operations gets no column, and what was not measured is a dash") {
    const Printed printed = reported({}, {{"n", 10}}, [&](Report& report) {
        report.column("value", "value", "{:.6f}");
        Result r = ran("cpu_right", cpu);
        r.extra = {{"value", 3.14159265}};
        report.add(r, {.bytes = 12e6});
        r = ran("cpu_stray", cpu, false);
        r.kernel = {};
        r.total_ms = 0;
        report.add(r, {.bytes = 12e6});
        r = ran("cuda_right", gpu);
        r.extra = {{"value", -123456789.0}};
        report.add(r, {.flops = 30e6, .arithmetic = Arithmetic::fp64});
    });
    CHECK(printed.out == R"(lab: n = 10

cpu:0  Test CPU: copies 10.0 GB/s
  variant                   kernel ms   total ms      GB/s  % bound  speed-up     value    error  result
  cpu_right                    2.0000     4.1250      6.00     60.0         -  3.141593  3.5e-07  right
  cpu_stray                         -          -         -        -         -         -        -  WRONG
      at index 3: expected 1, got 1.5

cuda:0  Test GPU: copies 15.0 GB/s, 30.0 GFLOP/s float, 24.0 GFLOP/s double
  variant                   kernel ms   total ms   GFLOP/s  % bound  speed-up     value    error  result
  cuda_right                   2.0000     4.1250     15.00     62.5         -  -1.2e+08  3.5e-07  right

2 right, 1 wrong, 0 skipped
)");
    const Printed wide = reported({}, {{"n", 10}}, [&](Report& report) {
        report.column("value", "value", "{:20.17g}"); // as wide as the digits that it asks for
        Result r = ran("cpu_right", cpu);
        r.extra = {{"value", -1.0 / 3}};
        report.add(r, {.bytes = 12e6});
    });
    CHECK(wide.out.find(" -0.33333333333333331 ") != std::string::npos);
}

TEST_CASE("a row with everything fits into 110 columns and into 80, and the report says what is missing") {
    const auto run = [](std::size_t columns) {
        const auto body = [](Report& report) {
            report.say("link: up 55.3 GB/s, down 55.1 GB/s alone; 46.7 and 48.2 GB/s with the other direction busy, "
                       "which is less");
            report.column("overlap_percent", "overlap %");
            report.column("traced_ms", "traced ms");
            report.column("strips_ms", "strips ms");
            report.sequential({"one_loop", 123456});
            Result r = ran("cuda_right", gpu);
            r.extra = {{"overlap_percent", 98.765}, {"traced_ms", 2.5}, {"strips_ms", 2.25}};
            report.add(r, {.bytes = 12e6});
            r.kernel.median = 654321.125;
            r.total_ms = 123456789.125;
            report.add(r, {.bytes = 12e9});
            r = ran("cuda_wrong", gpu, false);
            r.reason =
                "at index 123456: expected 0.12345678, got 0.87654321, error 0.75308643 > tolerance 1e-06; 77 of "
                "1000000 are wrong, every 32nd element";
            report.add(r, {.bytes = 12e6});
            report.add(skipped_on(gpu, "cuda_old", "needs compute capability 9.0, Test GPU has 7.5"), {.bytes = 12e6});
            report.add(skipped_on(gpu, "cuda_slow",
                                  "2.2e+12 operations for 1.7e+07 elements are long to wait for on a CPU; --variant "
                                  "cuda_slow runs it all the same"),
                       {.bytes = 12e6});
        };
        return reported({}, {{"n", 10}, {"file", "a_name_without_an_end/of_a_matrix.mtx"}}, body, known(columns));
    };
    CHECK(run(110).out == R"(lab: n = 10, file = a_name_without_an_end/of_a_matrix.mtx

cuda:0  Test GPU: copies 15.0 GB/s
  link: up 55.3 GB/s, down 55.1 GB/s alone; 46.7 and 48.2 GB/s with the other direction busy, which is less
  variant                  kernel ms  total ms     GB/s % bound speed-up overlap % traced ms strips ms result
  cuda_right                  2.0000    4.1250     6.00    40.0 61728.00     98.77      2.50      2.25 right
  cuda_right               654321.12 123456789     0.02     0.1     0.19     98.77      2.50      2.25 right
  cuda_wrong                  2.0000    4.1250     6.00    40.0 61728.00         -         -         - WRONG
      at index 123456: expected 0.12345678, got 0.87654321, error 0.75308643 > tolerance 1e-06; 77 of 1000000
      are wrong, every 32nd element
  cuda_old                  skipped: needs compute capability 9.0, Test GPU has 7.5
  cuda_slow                 skipped:
      2.2e+12 operations for 1.7e+07 elements are long to wait for on a CPU; --variant cuda_slow runs it all
      the same

2 right, 1 wrong, 2 skipped
Not in the table: error. The files of --json and --csv have all columns.
)");
    CHECK(run(80).out == R"(lab: n = 10, file = a_name_without_an_end/of_a_matrix.mtx

cuda:0  Test GPU: copies 15.0 GB/s
  link: up 55.3 GB/s, down 55.1 GB/s alone; 46.7 and 48.2 GB/s with the other
    direction busy, which is less
  variant                  kernel ms  total ms % bound speed-up overlap % result
  cuda_right                  2.0000    4.1250    40.0 61728.00     98.77 right
  cuda_right               654321.12 123456789     0.1     0.19     98.77 right
  cuda_wrong                  2.0000    4.1250    40.0 61728.00         - WRONG
      at index 123456: expected 0.12345678, got 0.87654321, error 0.75308643 >
      tolerance 1e-06; 77 of 1000000 are wrong, every 32nd element
  cuda_old                  skipped:
      needs compute capability 9.0, Test GPU has 7.5
  cuda_slow                 skipped:
      2.2e+12 operations for 1.7e+07 elements are long to wait for on a CPU;
      --variant cuda_slow runs it all the same

2 right, 1 wrong, 2 skipped
Not in the table: error, strips ms, traced ms, GB/s. The files of --json and
--csv have all columns.
)");
}

TEST_CASE("no line is longer than the terminal is wide, and a column is left out only where it does not fit") {
    const auto lines_in = [](std::size_t columns) {
        const auto body = [](Report& report) {
            report.column("blocks", "blocks");
            report.add(ran("cuda_right", gpu), work);
            report.add(ran("cuda_wrong", gpu, false), work);
            report.add(skipped_on(gpu, "cuda_old", "forty characters, and not a single more."), work);
        };
        std::istringstream out(reported({}, {{"n", 10}}, body, known(columns)).out);
        std::vector<std::string> lines;
        for (std::string line; std::getline(out, line);) lines.push_back(line);
        return lines;
    };
    for (std::size_t columns = 80; columns <= 110; ++columns) {
        INFO(columns);
        const auto lines = lines_in(columns);
        for (const std::string& line : lines) CHECK(line.size() <= columns);
        const std::string heading = lines.at(3);
        CHECK(heading.starts_with("  variant "));
        if (heading.size() >= 80) CHECK(lines_in(heading.size()).at(3) == heading);
    }
    const auto skips = [](const std::string& reason, const std::string& shown) {
        const auto body = [&](Report& report) { report.add(skipped_on(gpu, "cuda_old", reason.c_str()), work); };
        return reported({}, {}, body, known(80)).out.find(" skipped:" + shown + "\n\n") != std::string::npos;
    };
    CHECK(skips(std::string(43, 'x'), " " + std::string(43, 'x'))); // 35 characters, ": " and the reason are 80
    CHECK(skips(std::string(44, 'x'), "\n      " + std::string(44, 'x')));
    CHECK(skips("error: one\nnote: two", "\n      error: one\n      note: two"));
}

TEST_CASE("every row stands below headings, also where a device comes back or the first row has none") {
    const auto headings = [](std::string_view out) {
        return std::ranges::distance(out | std::views::split(std::string_view("  variant "))) - 1;
    };
    CHECK(headings(reported({}, {}, [](Report& report) {
                       report.add(ran("cpu_right", cpu), work);
                       report.add(ran("cuda_right", gpu), work);
                       report.add(ran("cpu_right", cpu), work);
                   }).out) == 3);
    const std::string out = reported({"--study", "sizes"}, {}, [](Report& report) {
                                report.begin({{"n", 10}});
                                report.add(ran("opencl_right", pocl), work);
                                report.begin({{"n", 20}});
                                report.add(skipped("cuda_one", "no driver"), work);
                                report.add(ran("opencl_right", pocl), work);
                            }).out;
    CHECK(headings(out) == 2);
    CHECK(out.find("\nn = 20\ncuda  no driver\n  variant ") != std::string::npos);
}

TEST_CASE("what is said last, below all rows, is heard") {
    CHECK(reported({}, {}, [](Report& report) {
              report.add(skipped("cuda_one", "no driver"), work);
              report.say("famous last words");
          }).out.ends_with("skipped\n  famous last words\n\n0 right, 0 wrong, 1 skipped\n"));
}

TEST_CASE("when one of the two files cannot be written in the end, that is an error, and the other is kept") {
    const ScratchFile json, folder;
    fs::create_directory(folder.path());
    CHECK_THROWS_AS(reported({"--json", json.path(), "--csv", folder.path() + "/x.csv"}, {},
                             [&](Report& report) {
                                 report.add(ran("cpu_right", cpu), work);
                                 fs::remove_all(folder.path());
                             }),
                    gpulab::Error);
    CHECK(json.json()["variants"].size() == 1);
}

TEST_CASE("of the two rates, the one that is the bound stays longer") {
    for (const auto& [arithmetic, rate] : {std::pair{Arithmetic::none, "    GB/s"}, {Arithmetic::fp32, " GFLOP/s"}}) {
        const gpulab::Work both{.bytes = 1, .flops = 1, .arithmetic = arithmetic};
        const auto body = [&](Report& report) { report.add(ran("cpu_right", cpu), both); };
        CHECK(reported({}, {}, body, known(80))
                  .out.find(fmt::format("\n  variant                  kernel ms  total ms {} % bound speed-up result\n",
                                        rate)) != std::string::npos);
    }
}

TEST_CASE("right is green and WRONG is red where there are colours") {
    Surroundings surroundings = known();
    surroundings.terminal.colour = true;
    surroundings.several_devices = true; // of no concern: in a single run each device has a table of its own
    const auto body = [](Report& report) {
        report.add(ran("cpu_right", cpu), work);
        report.add(ran("cpu_wrong", cpu, false), work);
    };
    const std::string out = reported({}, {}, body, surroundings).out;
    CHECK(out.find("3.5e-07  \x1b[32mright\x1b[0m\n") != std::string::npos);
    CHECK(out.find("      -  \x1b[31mWRONG\x1b[0m\n") != std::string::npos);
    CHECK(out.find("device") == std::string::npos);
}

TEST_CASE("a study with several devices of one back end names them in every row") {
    Surroundings surroundings = known();
    surroundings.several_devices = true;
    Device second = gpu;
    second.index = 1;
    const auto body = [&](Report& report) {
        for (const std::int64_t n : {10, 20}) {
            report.begin({{"n", n}});
            report.add(ran("cuda_one", gpu), work);
            report.add(ran("cuda_one", second), work);
        }
        report.add(skipped("cuda_two", "none"), work);
    };
    CHECK(reported({"--study", "sizes"}, {}, body, surroundings).out == R"(lab, study sizes

n = 10
cuda:0  Test GPU: copies 15.0 GB/s, 30.0 GFLOP/s float, 24.0 GFLOP/s double
  variant                  device   kernel ms  total ms     GB/s  GFLOP/s % bound speed-up   error result
  cuda_one                 cuda:0      2.0000    4.1250     6.00    15.00    50.0        - 3.5e-07 right

cuda:1  Test GPU: copies 15.0 GB/s, 30.0 GFLOP/s float, 24.0 GFLOP/s double
  variant                  device   kernel ms  total ms     GB/s  GFLOP/s % bound speed-up   error result
  cuda_one                 cuda:1      2.0000    4.1250     6.00    15.00    50.0        - 3.5e-07 right

n = 20
  variant                  device   kernel ms  total ms     GB/s  GFLOP/s % bound speed-up   error result
  cuda_one                 cuda:0      2.0000    4.1250     6.00    15.00    50.0        - 3.5e-07 right
  cuda_one                 cuda:1      2.0000    4.1250     6.00    15.00    50.0        - 3.5e-07 right

cuda  none
  cuda_two                 -         skipped

4 right, 0 wrong, 1 skipped
)");
}

TEST_CASE("the percentage is of the ceiling that binds, of all devices together, or what the lab says") {
    reported({}, {}, [](Report& report) {
        const auto percent = [&](const gpulab::Work& w) { return report.add(ran("cpu_right", cpu), w).percent; };
        CHECK(percent({.bytes = 12e6, .flops = 30e6}) == 60);                                 // 1.2 of 2 ms
        CHECK(percent({.bytes = 12e6, .flops = 30e6, .arithmetic = Arithmetic::fp32}) == 75); // 1.5 of 2 ms
        CHECK(percent({.bytes = 12e6, .flops = 30e6, .arithmetic = Arithmetic::fp64}) == 93.75);
        CHECK(percent({.bytes = 18e6, .flops = 30e6, .arithmetic = Arithmetic::fp32}) == 90); // bytes again
        Result two = ran("cpu_right", cpu), own = two;
        two.devices = 2;
        own.percent = 88;
        CHECK(report.add(two, work).percent == 37.5);
        CHECK(report.add(own, work).percent == 88);
    });
}

TEST_CASE("more than 105 % of the bound is explained, less is not") {
    const auto printed = [](double percent) {
        return reported({}, {},
                        [&](Report& report) {
                            Result r = ran("cpu_right", cpu);
                            r.percent = percent;
                            report.add(r, work);
                            report.add(ran("cpu_right", cpu), work);
                        })
            .out;
    };
    CHECK(printed(104).ends_with("\n2 right, 0 wrong, 0 skipped\n"));
    CHECK(printed(106).ends_with("\n2 right, 0 wrong, 0 skipped\n"
                                 "Over 100 % of the bound: the data partly stays in a cache, or something slowed the "
                                 "copy that the bound is\ntaken from.\n"));
}

TEST_CASE("a parameter is shown with six digits, a whole number of any type with all of them") {
    const auto shown = [](const auto& value) { return gpulab::shown({"x", value}); };
    CHECK(shown(0.123456789) == "0.123457");
    CHECK(shown(-1234.5678) == "-1234.57");
    CHECK(shown(1.5e-7) == "1.5e-07");
    CHECK(shown(4e6) == "4000000");
    CHECK(shown(999999999999999.0) == "999999999999999");
    CHECK(shown(1e15) == "1e+15");
    CHECK(shown(std::int64_t{1} << 53) == "9007199254740992");
    CHECK(shown(std::size_t{1'000'000'007}) == "1000000007");
    CHECK(shown(1'000'000'007u) == "1000000007");
    CHECK(shown(-1'000'000'007) == "-1000000007");
    CHECK(shown("a b") == "a b");
    CHECK(shown("caf\xc3\xa9\x1b[31m\n\x7f.json") == "caf\xc3\xa9?[31m??.json"); // a terminal would act on it
}

TEST_CASE("a name that is not UTF-8 does not cost the results, and JSON and CSV say the day of a run") {
    const ScratchFile json, csv;
    Surroundings surroundings = known();
    surroundings.date = "2026-01-31";
    reported(
        {"--json", json.path(), "--csv", csv.path()}, {{"matrix", std::string("caf\xe9.mtx")}},
        [](Report& report) { report.add(ran("cpu_right", cpu), {}); }, surroundings);
    CHECK(json.json()["variants"].size() == 1);
    CHECK(json.json()["date"] == "2026-01-31");
    CHECK(csv.text().starts_with("lab,date,matrix,seed,"));
    CHECK(csv.text().find("\nlab,2026-01-31,") != std::string::npos);
}

TEST_CASE("infinities, NaN and what was not timed become null in JSON and empty in CSV") {
    const ScratchFile json, csv;
    reported({"--json", json.path(), "--csv", csv.path()}, {}, [&](Report& report) {
        Result r = ran("cpu_wrong", cpu, false);
        r.error = std::numeric_limits<double>::infinity();
        r.tolerance = std::numeric_limits<double>::quiet_NaN();
        report.add(r, {.bytes = 12e6});
        r.kernel = {};
        r.total_ms = 0;
        report.add(r, {.bytes = 12e6});
    });
    CHECK(json.json()["variants"][0]["error"].is_null());
    CHECK(json.json()["variants"][0]["tolerance"].is_null());
    const auto untimed = json.json()["variants"][1];
    for (const char* const figure : {"kernel_ms", "total_ms", "bytes", "flops", "gb_per_s", "gflop_per_s",
                                     "percent_of_ceiling", "speedup", "error", "tolerance"}) {
        INFO(figure);
        CHECK(untimed[figure].is_null());
    }
    const std::string wrong =
        "lab,42,,,cpu_wrong,cpu,cpu:0,Test CPU,,16000000000,4,10,,,failed,\"at index 3: expected 1, "
        "got 1.5\",";
    CHECK(csv.text().ends_with("\n" + wrong + "2,1.23456789,3.25,7,4.125,1.2e+07,0,6,0,60,,,\n" + wrong +
                               ",,,0,,,,,,,,,\n"));
}

TEST_CASE("numbers have the fewest digits that read back the same in CSV as in JSON, whole ones all of them") {
    const ScratchFile json, csv;
    const std::vector<double> numbers = {3.1415916535897743,     0.1,     1.0 / 3,     1e23, 5e-324,
                                         1.7976931348623157e308, -2.5e-7, 1234567.875, 0};
    reported({"--json", json.path(), "--csv", csv.path()},
             {{"n", (std::int64_t{1} << 53) + 1}, {"m", std::int64_t{16777216}}, {"inf", HUGE_VAL}},
             [&](Report& report) {
                 for (const double number : numbers) {
                     Result r = ran("cpu_right", cpu);
                     r.extra = {{"value", number}};
                     report.add(r, work);
                 }
             });
    std::istringstream lines(csv.text());
    std::string heading, line;
    std::getline(lines, heading);
    CHECK(heading.starts_with("lab,n,m,inf,seed,"));
    CHECK(heading.ends_with(",value"));
    for (const double number : numbers) {
        REQUIRE(std::getline(lines, line));
        CHECK(line.starts_with("lab,9007199254740993,16777216,,42,"));
        const std::string text = line.substr(line.rfind(',') + 1);
        CHECK(std::strtod(text.c_str(), nullptr) == number);
        CHECK(text.size() <= 24);
    }
    CHECK(csv.text().find(",3.1415916535897743\n") != std::string::npos);
    CHECK(csv.text().find(",0.1\n") != std::string::npos);
    CHECK(json.json()["variants"][0]["value"] == numbers[0]);
}

TEST_CASE("a figure of the lab's own that has the name of a field has its column, once") {
    const ScratchFile csv;
    reported({"--csv", csv.path()}, {{"n", 10}}, [&](Report& report) {
        report.sequential({"one_loop", 5});
        Result r = ran("cpu_right", cpu);
        r.extra = {{"sequential_ms", 7.5}, {"note", "a\rb"}};
        report.add(r, work);
    });
    CHECK(csv.text().starts_with("lab,n,seed,sequential_variant,sequential_ms,variant,"));
    CHECK(csv.text().find("sequential_ms", csv.text().find(",variant,")) == std::string::npos);
    CHECK(csv.text().find("\nlab,10,42,one_loop,7.5,cpu_right,") != std::string::npos);
    CHECK(csv.text().ends_with(",\"a\rb\"\n"));
}

namespace {
const gpulab::testing::Program program("report_program", REPORT_PROGRAM);

const std::string table = R"(report_program: n = 10
words of the program's own

cpu:0  Test CPU: copies 10.0 GB/s
  variant                   kernel ms   total ms      GB/s  % bound  speed-up    error  result
  cpu_right                    2.0000          -      2.00     20.0         -  0.0e+00  right

1 right, 0 wrong, 0 skipped
)";

/// The columns of a CSV file between those of the problem and the lab's own.
const std::string fields =
    "variant,backend,device,device_name,device_platform,device_memory_bytes,device_compute_units,copy_gb_per_s,"
    "fp32_gflop_per_s,fp64_gflop_per_s,status,reason,kernel_ms_median,kernel_ms_min,kernel_ms_max,repeats,total_ms,"
    "bytes,flops,gb_per_s,gflop_per_s,percent_of_ceiling,speedup,error,tolerance";

/// What a command of the shell gives in which $P is the program.
gpulab::testing::Outcome shell(const std::string& command) {
    return gpulab::testing::Program("sh", "/bin/sh")("-c 'P=\"" REPORT_PROGRAM "\"; " + command + "'");
}
} // namespace

TEST_CASE("a study writes its results to stdout once, at its end") {
    const nlohmann::json runs = nlohmann::json::parse(program("--study one --json -").out); // not two documents
    REQUIRE(runs.size() == 2);
    CHECK(runs[1]["problem"]["n"] == 20);
}

TEST_CASE("results that go to stdout have it to themselves, and the table goes to stderr") {
    const gpulab::testing::Environment set("GPULAB_CPU_THREADS", "3");
    for (const std::string name : {"-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"}) {
        INFO(name);
        const auto json = program("--json " + name); // stdout is a regular file here
        CHECK(json.exit_code == 0);
        CHECK(json.err == table);
        CHECK(nlohmann::json::parse(json.out)["variants"][0]["name"] == "cpu_right");
        const auto csv = program("--csv " + name);
        CHECK(csv.exit_code == 0);
        CHECK(csv.err == table);
        CHECK(csv.out ==
              "lab,n,seed,sequential_variant,sequential_ms," + fields +
                  "\nreport_program,10,42,,,cpu_right,cpu,cpu:0,Test CPU,,8000000000,3,10,,,passed,,2,1,3,5,,"
                  "4e+06,0,2,0,20,,0,0\n");
    }
}

TEST_CASE("a variant of another back end that ends the program is not taken for a platform of OpenCL") {
    CHECK(program("--ends").err.find("OpenCL") == std::string::npos);
}

TEST_CASE("so do results that go to a pipe, and to a file that stdout goes to") {
    const ScratchFile file;
    const std::string same = "F=" + file.path() + "; $P --json $F > $F && cat $F";
    for (const std::string& command :
         {std::string("$P --json /dev/stdout | cat"), std::string("$P --json - | cat"), same}) {
        const auto outcome = shell(command);
        CHECK(outcome.exit_code == 0);
        CHECK(outcome.err == table);
        CHECK(nlohmann::json::parse(outcome.out)["lab"] == "report_program");
    }
}

TEST_CASE("the other file is written as ever beside results on stdout") {
    const ScratchFile csv;
    csv.write("of an earlier run"); // there already, and on the same disk as stdout
    const auto outcome = program("--json - --csv " + csv.path());
    CHECK(outcome.exit_code == 0);
    CHECK(nlohmann::json::parse(outcome.out)["lab"] == "report_program");
    CHECK(csv.text().starts_with("lab,n,seed,"));
}

TEST_CASE("a stdout that takes only a part of the results is an error") {
    const auto limited = shell("ulimit -f 1; $P --json -");
    CHECK(limited.exit_code != 0);
    CHECK(limited.out.size() == 512);
    CHECK(limited.err.ends_with("report_program: cannot write to stdout: File too large\n"));
}

TEST_CASE("both results on stdout are refused, and a full stdout is an error") {
    const auto both = program("--json - --csv /dev/stdout");
    CHECK(both.exit_code == gpulab::exit_failure);
    CHECK(both.err == "report_program: --json and --csv cannot both go to stdout\n");
    CHECK(both.out == "");
    if (!fs::exists("/dev/full")) return;
    const auto results = shell("$P --json - > /dev/full"), shown = shell("$P > /dev/full");
    CHECK((results.exit_code != 0 && shown.exit_code != 0));
    CHECK(results.err.ends_with("report_program: cannot write to stdout: No space left on device\n"));
    CHECK(shown.err == "report_program: cannot write to stdout: No space left on device\n");
}

TEST_CASE("/dev/null takes results and leaves the table where it was") {
    const auto outcome = program("--json /dev/null");
    CHECK(outcome.exit_code == 0);
    CHECK(outcome.out == table);
    CHECK(outcome.err == "");
    const auto silent = shell("$P --json /dev/null > /dev/null");
    CHECK(silent.exit_code == 0);
    CHECK(silent.err == "");
}

TEST_CASE("a setting of the environment that cannot be read is refused at once, by every program") {
    for (const auto& [name, value, line] :
         {std::array<std::string, 3>{"GPULAB_GUARD_BYTES", "abc", "'abc' is not a whole number"},
          {"GPULAB_GUARD_BYTES", "1G", "at most 64Mi is possible"},
          {"GPULAB_POISON", "no", "0 or 1 is possible"},
          {"GPULAB_CPU_THREADS", "0", "1 ... 4096 threads are possible"}}) {
        const gpulab::testing::Environment set(name, value);
        const auto outcome = program("");
        INFO(outcome.err);
        CHECK(outcome.exit_code == 2);
        CHECK(outcome.err.starts_with("report_program: " + name + ": " + line));
        CHECK(outcome.out == "");
    }
}

TEST_CASE("where the environment leads to no OpenCL platform, the refusal names the variable") {
    if (!fs::exists("/etc/OpenCL/vendors")) SKIP("there is no OpenCL loader here");
    // That of the CUDA toolkit reads no variable, and lacks this function.
    void* const loader = dlopen("libOpenCL.so.1", RTLD_NOW);
    void* const asked = loader ? dlsym(loader, "clGetExtensionFunctionAddress") : nullptr;
    if (!asked || !reinterpret_cast<void* (*)(const char*)>(asked)("clGetICDLoaderInfoOCLICD"))
        SKIP("the OpenCL loader reads no environment variable");
    const gpulab::testing::Environment set("OCL_ICD_VENDORS", "/nowhere/at/all");
    const auto outcome = program("--device opencl");
    CHECK(outcome.exit_code == 2);
    CHECK(outcome.err.find("(no OpenCL platform where the environment says that they are: "
                           "OCL_ICD_VENDORS=/nowhere/at/all)") != std::string::npos);
}

TEST_CASE("a study names its devices where a back end has several of them") {
    const auto& found = gpulab::devices(Backend::opencl);
    const bool several = found.size() > 1 || gpulab::devices(Backend::cuda).size() > 1;
    if (!several && (found.empty() || found[0].platform != "Portable Computing Language"))
        SKIP("needs two devices of one back end, or PoCL, which can be told to show two");
    if (!several) setenv("POCL_DEVICES", "pthread pthread", 1); // heeded by programs started from here
    const auto two = program("--study one"), none_of_them = program("--study one --backend cpu");
    if (!several) unsetenv("POCL_DEVICES");
    CHECK(two.out.find("variant                  device ") != std::string::npos);
    CHECK(none_of_them.out.find("device") == std::string::npos);
}
