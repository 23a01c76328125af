// Which variant runs on which device, and the two passes of measure(): what they poison, judge and time.
#include <array>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "gpulab/error.hpp"
#include "gpulab/gpus_first.hpp"
#include "gpulab/guard.hpp"
#include "gpulab/jobs.hpp"
#include "gpulab/options.hpp"
#include "gpulab/poisoning.hpp"
#include "gpulab_testing/parse.hpp"
#include "gpulab_testing/testing.hpp"

using gpulab::Backend;
using gpulab::Options;
using gpulab::Result;
using gpulab::Stopwatch;
using gpulab::UsageError;

namespace {

using Values = std::vector<float>;
using Run = void(int, Values&, Stopwatch&);

void one(int, Values& out, Stopwatch& watch) {
    watch.time([&] { out = {1}; });
}
void refuses(int, Values&, Stopwatch&) { throw gpulab::Unsupported("too large"); }
void strays(int, Values&, Stopwatch&) { throw gpulab::WrongResult("wrote outside"); }

const std::array table = {gpulab::Variant<Run>{"cpu_one", "gives 1", Backend::cpu, one},
                          gpulab::Variant<Run>{"cpu_refuses", "cannot", Backend::cpu, refuses},
                          gpulab::Variant<Run>{"cpu_strays", "writes outside", Backend::cpu, strays},
                          gpulab::Variant<Run>{"opencl_one", "gives 1", Backend::opencl, nullptr}};

/// Options as `lab ARGUMENTS` makes them, with the table above.
struct Parsed : Options {
    explicit Parsed(const std::vector<std::string>& arguments = {}) : Options("lab", "a test") {
        variants(table);
        REQUIRE(gpulab::testing::parse(*this, arguments));
    }
};

gpulab::Device cpu() { return gpulab::devices(Backend::cpu).front(); }

/// Compares with 1, exactly.
auto is_one(const Values& out) {
    return [&out] { return gpulab::compare(Values{1}, out, 0); };
}

template <class Body> Result measured(Values& out, const Options& options, const Body& body) {
    return gpulab::measure("body", cpu(), out, options, body, is_one(out));
}

} // namespace

TEST_CASE("jobs pair every chosen variant with every chosen device") {
    const Parsed options({"--backend", "cpu", "--variant", "cpu_one,cpu_strays"});
    const auto list = gpulab::jobs(table, options);
    REQUIRE(list.size() == 2);
    CHECK(list[0].variant.name == "cpu_one");
    CHECK(list[1].variant.name == "cpu_strays");
    CHECK(list[0].device().id() == "cpu:0");
    CHECK(list[0].skip.empty());
}

TEST_CASE("what runs on a GPU comes first, in the order of the table, unless the user names variants") {
    const auto on = [](Backend backend, int index, bool is_cpu, bool emulated = false) {
        return std::vector{gpulab::Device{
            .backend = backend, .index = index, .name = "", .platform = "", .is_cpu = is_cpu, .emulated = emulated}};
    };
    const std::vector<gpulab::Job<Run>> jobs = {{table[0], {cpu()}, ""},
                                                {table[1], {cpu()}, ""},
                                                {table[3], on(Backend::opencl, 0, true), ""},
                                                {table[3], on(Backend::opencl, 1, false), ""},
                                                {table[1], on(Backend::cuda, 0, false), ""},
                                                {table[0], on(Backend::cuda, 0, false), "cannot"},
                                                {table[0], on(Backend::cuda, 0, false, true), ""},
                                                {table[0], {}, "no device"}};
    const auto order = [&](const Options& options) {
        std::string text;
        for (const auto& job : gpulab::gpus_first(jobs, options))
            text += std::string(job.variant.name) + (job.devices.empty() ? "" : " " + job.device().id()) + "\n";
        return text;
    };
    CHECK(order(Parsed()) == "opencl_one opencl:1\ncpu_refuses cuda:0\ncpu_one cuda:0\n"
                             "cpu_one cpu:0\ncpu_refuses cpu:0\nopencl_one opencl:0\n"
                             "cpu_one cuda:emulated\ncpu_one\n");
    CHECK(order(Parsed({"--variant", "cpu_one,opencl_one"})).starts_with("cpu_one cpu:0\ncpu_refuses cpu:0\n"));
}

TEST_CASE("choices that leave nothing to run are an error, not an empty success") {
    Options options("lab", "a test");
    options.variants(table);
    const std::array others = {gpulab::Variant<Run>{"cpu_other", "of another operation", Backend::cpu, one}};
    options.variants(others);
    REQUIRE(gpulab::testing::parse(options, {"--variant", "cpu_other"}));
    CHECK_THROWS_AS(gpulab::jobs(table, options), UsageError);
}

TEST_CASE("a variant that cannot is skipped with its reason, and an error when asked for by name") {
    Values out(1);
    const gpulab::Job<Run> job{table[1], {cpu()}, ""};
    const Result skipped = gpulab::run(job, 0, out, Parsed(), is_one(out));
    CHECK(skipped.status == Result::Status::skipped);
    CHECK(skipped.reason == "too large");
    CHECK(skipped.variant == "cpu_refuses");
    CHECK_THROWS_AS(gpulab::run(job, 0, out, Parsed({"--variant", "cpu_refuses"}), is_one(out)), UsageError);
}

TEST_CASE("a group that the device refuses is no fault of the variant where the device takes small groups only") {
    const gpulab::Error refused("launching: CL_INVALID_WORK_GROUP_SIZE"), other("launching: CL_INVALID_VALUE");
    gpulab::Device device{.backend = Backend::opencl, .name = "Small", .platform = ""};
    const auto why = [&](const std::exception& e, int max_group) {
        device.max_group = max_group;
        return gpulab::why_unable(e, device);
    };
    CHECK(why(refused, 64) == "needs larger groups: Small takes at most 64 work-items");
    CHECK(why(gpulab::Error("f failed: CL_INVALID_WORK_ITEM_SIZE"), 1).starts_with("needs larger groups"));
    for (const int most : {0, 256, 1024}) CHECK(why(refused, most) == ""); // unknown, or large enough for all rungs
    CHECK(why(other, 64) == "");
    CHECK(why(std::bad_alloc(), 1024).starts_with("not enough memory: "));
    CHECK(why(gpulab::Error("f failed: CL_OUT_OF_HOST_MEMORY"), 1024) ==
          "not enough memory: f failed: CL_OUT_OF_HOST_MEMORY");
    CHECK(why(gpulab::Error("f failed: CL_OUT_OF_RESOURCES"), 1024) == ""); // a kernel may have reached outside
    CHECK(why(gpulab::Unsupported("too large"), 1024) == "too large");
}

TEST_CASE("a job with a reason to skip does not run, and keeps the reason") {
    Values out(1, 7);
    const auto ran = [&](std::vector<gpulab::Device> devices, const char* reason) {
        return gpulab::run(gpulab::Job<Run>{table[0], std::move(devices), reason}, 0, out, Parsed(), is_one(out));
    };
    const Result result = ran({cpu()}, "no double precision");
    CHECK(result.status == Result::Status::skipped);
    CHECK(result.reason == "no double precision");
    CHECK(result.variant == "cpu_one");
    CHECK(result.has_device);
    CHECK(out[0] == 7);
    CHECK_FALSE(ran({}, "no device").has_device);
}

TEST_CASE("a variant that says so itself has failed, with its reason") {
    Values out(1);
    const Result result = gpulab::run(gpulab::Job<Run>{table[2], {cpu()}, ""}, 0, out, Parsed(), is_one(out));
    CHECK(result.status == Result::Status::failed);
    CHECK(result.reason == "wrote outside");
}

TEST_CASE("a right body passes, with times of both passes, its device and the tolerance") {
    Values out(1);
    const Result r = gpulab::run(gpulab::Job<Run>{table[0], {cpu()}, ""}, 0, out, Parsed({"--repeat", "4"}),
                                 [&] { return gpulab::compare(Values{1}, out, 0.25); });
    CHECK(r.status == Result::Status::passed);
    CHECK(r.reason.empty());
    CHECK(r.kernel.repeats == 4);
    CHECK(r.total_ms > 0);
    CHECK(r.tolerance == 0.25);
    CHECK(r.error == 0);
    CHECK(r.device.id() == "cpu:0");
    CHECK(r.has_device);
    CHECK(r.backend == Backend::cpu);
}

TEST_CASE("the output is poisoned before every pass, and a body that writes nothing fails, in whichever pass") {
    for (const int working_passes : {0, 1, 6}) { // one that times the kernel, five that time the whole way
        Values out(1, 1);
        int passes = 0, poisoned = 0;
        const Result r = measured(out, Parsed({"--repeat", "5"}), [&](Values& o, Stopwatch& watch) {
            const bool works = passes++ < working_passes;
            poisoned += gpulab::is_poison(o[0]) ? 1 : 0;
            watch.time([&] {
                if (works) o[0] = 1;
            });
        });
        CHECK(poisoned == passes);
        CHECK(passes == (working_passes == 0 ? 1 : 6));
        CHECK(r.status == (working_passes == 6 ? Result::Status::passed : Result::Status::failed));
        CHECK(r.reason.empty() == (working_passes == 6));
    }
}

TEST_CASE("a result on a device that is a CPU has what its variant says of that") {
    const gpulab::Variant<Run> strided{
        .name = "cpu_one", .summary = "", .backend = Backend::cpu, .run = one, .slow_on_cpu = "strides"};
    Values out(1);
    CHECK(gpulab::run(gpulab::Job<Run>{strided, {cpu()}, ""}, 0, out, Parsed(), is_one(out)).note == "strides");
    gpulab::Device gpu = cpu();
    gpu.is_cpu = false;
    CHECK(gpulab::run(gpulab::Job<Run>{strided, {gpu}, ""}, 0, out, Parsed(), is_one(out)).note == "");
}

TEST_CASE("the last timed run is judged as well as the first") {
    for (const bool right_first : {true, false}) { // right in its first run only, or from its second on
        Values out(1);
        const auto body = [&](Values& o, Stopwatch& watch) {
            int run = 0;
            watch.time(
                [&] {
                    if ((run++ == 0) == right_first) o[0] = 1;
                },
                gpulab::poisoning(o)); // the reset of a rung
        };
        CHECK(measured(out, Parsed({"--repeat", "3", "--warmup", "0"}), body).status == Result::Status::failed);
    }
}

TEST_CASE("the error reported is the larger of the two comparisons, a failed comparison keeps its error") {
    Values out(1);
    const auto judged = [&](std::vector<gpulab::Comparison> comparisons) { // one after the other
        std::size_t next = 0;
        const Result r = gpulab::measure(
            "body", cpu(), out, Parsed(), [](Values& o, Stopwatch& watch) { watch.time([&] { o[0] = 1; }); },
            [&] { return comparisons.at(next++); });
        CHECK(next == comparisons.size());
        return r;
    };
    gpulab::Comparison large, small, wrong;
    large.passed = small.passed = true;
    large.error = 0.5;
    small.error = 0.25;
    wrong.error = 3;
    wrong.tolerance = 2;
    wrong.message = "element 0 is off";
    CHECK(judged({large, small}).error == 0.5);
    const Result failed = judged({wrong});
    CHECK(failed.status == Result::Status::failed);
    CHECK(failed.error == 3);
    CHECK(failed.tolerance == 2);
    CHECK(failed.reason == "element 0 is off");
    CHECK(failed.kernel.repeats == 20);
}

TEST_CASE("a stray write in either pass fails the variant, and not the next one") {
    for (const int stray_pass : {0, 3}) {
        Values out(1);
        int pass = 0;
        const Result r = measured(out, Parsed({"--repeat", "5"}), [&](Values& o, Stopwatch& watch) {
            if (pass++ == stray_pass) gpulab::note_stray_write("wrote past the end");
            watch.time([&] { o[0] = 1; });
        });
        CHECK(r.status == Result::Status::failed);
        CHECK(r.reason == "wrote past the end");
    }
    gpulab::note_stray_write("of an earlier variant");
    Values out(1);
    const Result next = measured(out, Parsed(), [](Values& o, Stopwatch& watch) { watch.time([&] { o[0] = 1; }); });
    CHECK(next.status == Result::Status::passed);
    CHECK(gpulab::take_stray_write().empty());
}

TEST_CASE("the total is the median of at most five passes, without what they leave out, and of fewer after 0.3 s") {
    const auto total = [](int repeats, std::vector<double> took_ms, std::size_t expected_passes,
                          double left_out_ms = 0) {
        std::size_t passes = 0;
        const double ms = gpulab::total_ms(repeats, [&] { return gpulab::Pass{took_ms.at(passes++), left_out_ms}; });
        CHECK(passes == expected_passes);
        return ms;
    };
    CHECK(total(20, {5, 1, 9, 2, 7}, 5) == 5);
    CHECK(total(5, {5, 1, 9, 2, 7}, 5) == 5);
    CHECK(total(4, {5, 1, 9, 2}, 4) == 3.5);
    CHECK(total(1, {5}, 1) == 5);
    CHECK(total(20, {20'000}, 1) == 20'000); // it has been run once
    CHECK(total(20, {299, 1}, 2) == 150);
    CHECK(total(20, {100, 150, 60}, 3) == 100);
    CHECK(total(20, {100, 150, 49, 2}, 4) == 74.5);
    CHECK(total(20, {100, 150, 49, 0.5, 0.25}, 5) == 49);
    CHECK(total(20, {150, 151}, 2, 120) == 30.5); // the 0.3 s are those of the clock on the wall
}

TEST_CASE("the total does not contain what a variant leaves out, but what it prepares, which is timed") {
    using namespace std::chrono_literals;
    Values out(1);
    const Parsed once({"--repeat", "1"});
    using Clock = std::chrono::steady_clock;
    const auto since = [](Clock::time_point begin) {
        return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
    };
    double paused = 0;
    const auto pause = [&] {
        const auto begin = Clock::now();
        std::this_thread::sleep_for(100ms);
        paused += since(begin);
    };
    const auto begin = Clock::now();
    const Result left_out = measured(out, once, [&](Values& o, Stopwatch& watch) {
        watch.leave_out(pause);
        watch.time([&] { o[0] = 1; });
        std::this_thread::sleep_for(20ms);
        watch.leave_out(pause);
    });
    CHECK(left_out.total_ms >= 20);
    CHECK(left_out.total_ms <= since(begin) - paused);
    CHECK(left_out.prepared_ms == 0);
    const Result prepared = measured(out, once, [&](Values& o, Stopwatch& watch) {
        watch.prepare([] { std::this_thread::sleep_for(20ms); });
        watch.time([&] { o[0] = 1; });
        std::this_thread::sleep_for(20ms);
    });
    CHECK(prepared.prepared_ms >= 20);
    CHECK(prepared.prepared_ms <= prepared.total_ms - 20);
}

TEST_CASE("needs that a device, or one of several, does not meet are named") {
    gpulab::Device gpu{.backend = Backend::cuda, .name = "GPU", .platform = "", .compute_capability = 75};
    CHECK(gpulab::unmet_need({.compute_capability = 80}, gpu) == "needs compute capability 8.0, GPU has 7.5");
    CHECK(gpulab::unmet_need({.compute_capability = 75}, gpu).empty());
    CHECK(gpulab::unmet_need({.cooperative_launch = true}, gpu) == "needs cooperative launch, GPU has none");
    gpu.cooperative_launch = true;
    CHECK(gpulab::unmet_need({.cooperative_launch = true}, gpu).empty());
    gpulab::Device other = gpu;
    other.index = 1;
    CHECK(gpulab::unmet_need({.devices = 2}, std::array{gpu, other}).empty());
    CHECK(gpulab::unmet_need({.devices = 3}, std::array{gpu, other}) == "needs 3 devices, this run has 2");
    other.fp64 = false;
    CHECK(gpulab::unmet_need({.fp64 = true}, other) == "needs double precision, GPU has none");
    CHECK_FALSE(gpulab::unmet_need({.fp64 = true, .devices = 2}, std::array{gpu, other}).empty()); // every one must do
}

TEST_CASE("a variant that needs more devices than there are is skipped, and named it is an error") {
    const std::array many = {
        gpulab::Variant<Run>{"cpu_one", "gives 1", Backend::cpu, one},
        gpulab::Variant<Run>{"cpu_two", "needs two", Backend::cpu, one, gpulab::Needs{.devices = 2}}};
    const auto list = gpulab::jobs(many, Parsed({"--backend", "cpu"})); // there is one CPU
    REQUIRE(list.size() == 2);
    CHECK(list[0].skip.empty());
    CHECK(list[0].devices.size() == 1);
    CHECK(list[1].skip == "needs 2 devices, this run has 1");
    Values out(1);
    const Result skipped = gpulab::run(list[1], 0, out, Parsed(), is_one(out));
    CHECK(skipped.status == Result::Status::skipped);
    CHECK(skipped.has_device);
    Options options("lab", "a test");
    options.variants(many);
    REQUIRE(gpulab::testing::parse(options, {"--variant", "cpu_two"}));
    CHECK_THROWS_AS(gpulab::jobs(many, options), UsageError);
}

TEST_CASE("a job hands all of its devices to the variant") {
    gpulab::Device second = cpu();
    second.index = 1;
    const gpulab::Variant<Run> variant{"cpu_two", "needs two", Backend::cpu,
                                       [](int, Values& out, Stopwatch& watch) {
                                           REQUIRE(gpulab::devices_in_use().size() == 2);
                                           CHECK(gpulab::devices_in_use()[1].id() == "cpu:1");
                                           watch.time([&] { out = {1}; });
                                       },
                                       gpulab::Needs{.devices = 2}};
    Values out(1);
    const Result r =
        gpulab::run(gpulab::Job<Run>{variant, {cpu(), second}, ""}, 0, out, Parsed({"--repeat", "2"}), is_one(out));
    CHECK(r.status == Result::Status::passed);
    CHECK(r.devices == 2);
    CHECK(r.device.id() == "cpu:0");
    gpulab::use(cpu());
    CHECK(gpulab::devices_in_use().size() == 1);
}

TEST_CASE("the time of the sequential variant comes with its answer") {
    Values out(1);
    const gpulab::Sequential one = gpulab::sequential(table, "cpu_one", 0, out);
    CHECK(one.variant == "cpu_one");
    CHECK(one.ms >= 0);
    CHECK(out[0] == 1);
    CHECK_THROWS_AS(gpulab::run_of(table, "cpu_unknown"), gpulab::Error);
    Run* const of_known_times = [](int, Values&, Stopwatch& watch) {
        CHECK((watch.warmup() == 1 && watch.repeats() == 3));
        for (const double ms : {9.0, 1.0, 2.0}) watch.record(ms);
    };
    const std::array known = {gpulab::Variant<Run>{"cpu_one", "", Backend::cpu, table[0].run},
                              gpulab::Variant<Run>{"cpu_known", "", Backend::cpu, of_known_times}};
    const gpulab::Sequential second = gpulab::sequential(known, "cpu_known", 0, out);
    CHECK(second.variant == "cpu_known");
    CHECK(second.ms == 2); // the median
}

TEST_CASE("a problem larger than main memory is refused before anything is allocated") {
    const Parsed options({"--backend", "cpu"});
    const auto memory = static_cast<double>(gpulab::host_memory_bytes());
    REQUIRE(memory > 0);
    CHECK_NOTHROW(gpulab::check_memory(options, 1e18, 0.99 * memory)); // no device but the CPU takes part
    CHECK_THROWS_AS(gpulab::check_memory(options, 0, 1.01 * memory), UsageError);
}

TEST_CASE("a problem that does not fit is refused with what it needs, and what there is in that place") {
    constexpr double gib = 1024.0 * 1024 * 1024;
    const gpulab::Device small{
        .backend = Backend::cuda, .name = "Small", .platform = "", .memory_bytes = std::uint64_t{8} << 30};
    gpulab::Device large{
        .backend = Backend::cuda, .name = "Large", .platform = "", .memory_bytes = std::uint64_t{80} << 30};
    gpulab::Device pocl{
        .backend = Backend::opencl, .name = "PoCL", .platform = "", .memory_bytes = std::uint64_t{30} << 30};
    large.index = 1;
    pocl.is_cpu = true;
    const std::vector<gpulab::Device> all = {small, large, pocl}, gpus = {large};
    const auto lack = [&](const auto& devices, double device_gib, double host_gib, const std::string& name = "") {
        return gpulab::lack_of_memory(devices, 32 * gib, device_gib * gib, host_gib * gib, name);
    };
    CHECK(lack(all, 8, 22).empty()); // all that there is
    CHECK(lack(all, 8.5, 1) == "this problem needs 8.5 GiB on cuda:0 (Small), which has 8.0 GiB");
    CHECK(lack(all, 8.5, 1, "a.mtx") == "a.mtx: this problem needs 8.5 GiB on cuda:0 (Small), which has 8.0 GiB");
    CHECK(lack(gpus, 80, 32).empty());
    CHECK(lack(gpus, 81, 1) == "this problem needs 81.0 GiB on cuda:1 (Large), which has 80.0 GiB");
    CHECK(lack(gpus, 1, 33) == "this problem needs 33.0 GiB of main memory; this computer has 32.0 GiB");
    CHECK(lack(all, 8, 22.5) ==
          "this problem needs 30.5 GiB on opencl:0 (PoCL), which has 30.0 GiB"); // host and device
    CHECK(gpulab::lack_of_memory({}, 0, 1e18, 1e18, "").empty());                // nobody says what there is
}

TEST_CASE("only devices that a chosen variant runs on must have the memory", "[opencl]") {
    const gpulab::Device device = gpulab::testing::devices_or_skip(Backend::opencl).front();
    const auto memory = static_cast<double>(device.memory_bytes);
    CHECK_NOTHROW(gpulab::check_memory(Parsed({"--device", device.id()}), 0.99 * memory, 0)); // others may have less
    CHECK_THROWS_AS(gpulab::check_memory(Parsed({"--backend", "opencl"}), 1e18, 0), UsageError);
    CHECK_NOTHROW(gpulab::check_memory(Parsed({"--variant", "cpu_one"}), 1e18, 0));
}
