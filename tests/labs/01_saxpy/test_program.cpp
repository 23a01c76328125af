// The program as a user runs it: the contract of all programs, and what is this lab's own.
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <filesystem>
#include <fmt/format.h>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <tuple>
#include <vector>

#include "checks.hpp"
#include "distances.hpp"
#include "gpulab/device.hpp"
#include "gpulab/file.hpp"
#if defined(GPULAB_WITH_OPENCL)
#include "gpulab/opencl/timing.hpp"
#endif
#include "gpulab/options.hpp"
#include "gpulab_testing/capture.hpp"
#include "gpulab_testing/contract.hpp"
#include "gpulab_testing/environment.hpp"
#include "gpulab_testing/testing.hpp"
#include "saxpy.hpp"
#include "studies.hpp"

using namespace gpulab::testing;
using namespace saxpy::testing;
using gpulab::Backend;
using Json = nlohmann::json;

#if defined(GPULAB_WITH_OPENCL)
extern const char* const studies_cl; // what the build makes of studies.cl
#endif

namespace {
const Program program("saxpy", SAXPY_PROGRAM);

/// The rungs that fail their own test, which this file does not report again.
KnownWrong wrong_rungs(std::size_t n) {
    return any_of({known_wrong(saxpy::variants(),
                               [n](const auto& v) {
                                   return first_fault(v.run, {100, n});
                               }),
                   known_wrong(saxpy::distance_variants(), [n](const auto& v) {
                       return first_distance_fault(v.run, {100, n});
                   })});
}

/// What is wrong with the work of a result, or "".
auto does(double bytes, double flops) {
    return [=](const Json&, const Json& v) { return v["bytes"] == bytes && v["flops"] == flops ? "" : "other work"; };
}

/// What is wrong with the figures of a study that follow from a time, or with its reference, or "".
std::string figures_fault(const Json& run) {
    const std::map<std::string, std::string> references = {{"threads", "cpu_blocks on one thread"},
                                                           {"divergence", "cpu_divergence"},
                                                           {"memories", "cpu_look_up"},
                                                           {"alignment", "cpu_distances"}};
    const auto other = references.find(run["study"]);
    const std::string why = reference_fault(run, other == references.end() ? "cpu_sequential" : other->second);
    if (!why.empty()) return why;
    const double n = run["problem"]["n"];
    for (const auto& v : run["variants"]) {
        if (v["status"] != "passed") continue;
        const double ms = v["kernel_ms"]["median"];
        const auto differs = [&](const char* name, double value) {
            return v.contains(name) && std::abs(v[name].get<double>() / value - 1) > 1e-12;
        };
        if (differs("us_per_element", 1000 * ms / n)) return "us_per_element";
        const double core_ms = v.value("sequential_ms", 0.0); // of tables 2.1 and 2.2
        if (differs("parallel_ms", ms) || differs("table_speedup", core_ms / ms)) return "parallel_ms or table_speedup";
        if (differs("sequential_gflop_per_s", 2e-6 * n / core_ms) || differs("parallel_gflop_per_s", 2e-6 * n / ms))
            return "GFLOP/s";
        if (differs("reads_per_ns", n * saxpy::table_reads / ms * 1e-6)) return "reads_per_ns";
    }
    return "";
}

const ProgramCases contract([] {
    return gpulab::testing::LabProgram{
        .program = program,
        .readme = SAXPY_README,
        .variants = names_of(saxpy::variants(), saxpy::distance_variants()),
        .studies = saxpy::study_list(),
        .options = "--n --op",
        .smallest = "--n 1000",
        .refusals = R"(
            --n -5 | --n 0 | --n x | --n 1e15 | --n 2^70 | --n ''
            --backend vulkan | --device cuda:77 | --repeat 0 | --frobnicate | --op multiply
            --variant cpu_distances | --variant cpu_blocks,cpu_distances | --variant 'a\nb'
            --variant cpu_blocks,opencl_raw --backend cpu
            --study coalescing --variant cpu_blocks | --study coalescing --op distances
            --study table-2-1 --n 1000 | --study growth --n 15 | --study thread-each --n 100
            --study threads --backend opencl | --study thread-each --backend opencl
            --study divergence --n 2^22 | --study memories --n 2^22 | --study alignment --n 6148914691236517205)",
        .operations = {{"--n 10007 --repeat 2",
                        {{"n", 10007}},
                        backends_of(saxpy::variants()),
                        "cpu_sequential",
                        wrong_rungs(10007),
                        does(12 * 10007, 2 * 10007)},
                       {"--op distances --n 10007 --repeat 2",
                        {{"n", 10007}, {"op", "distances"}},
                        backends_of(saxpy::distance_variants()),
                        "cpu_distances",
                        wrong_rungs(10007),
                        does(16 * 10007, 9 * 10007)}},
        // On the device a, b and c; on the host the reference besides. Points have 12 or 16 bytes there.
        .memory = {{"--n 1e8", 12e8, 16e8},
                   {"--op distances --n 5e7", 10e8, 24e8},
                   {"--study coalescing --n 5e7", 10e8, 24e8}},
        .study = [](const std::string& name) -> std::optional<StudyCase> {
            if (name == "table-2-2") return std::nullopt;
            StudyCase study{"--n 10007", 1, wrong_rungs(10007), figures_fault};
            for (const auto& one : saxpy::study_list())
                if (one.name == name && one.takes.empty()) study.arguments = "";
            if (name != "threads" && name != "thread-each") study.needs = {Backend::opencl, Backend::cuda};
            return study;
        },
        .per_element = "ns_per_element",
        .elements = [](const Json& problem, const Json&) { return problem["n"].get<double>(); },
        .growth = {{"--n 5000", 5, wrong_rungs(5000)}}}; // 16 ... 4096
});
} // namespace

namespace {
/// How many results of a back end have this status, and in their reason these words.
std::size_t count_of(const Json& results, const char* backend, const char* status, const std::string& words = "") {
    return static_cast<std::size_t>(std::ranges::count_if(results["variants"], [&](const Json& v) {
        return v["backend"] == backend && v["status"] == status &&
               (words.empty() || v["reason"].get<std::string>().find(words) != std::string::npos);
    }));
}

/// Skips the running test case where OpenCL is another's than PoCL.
void needs_pocl() {
    if (devices_or_skip(Backend::opencl).front().platform != "Portable Computing Language") SKIP("needs PoCL");
}

/// The program, small and once, under limits that the shell sets first: "ulimit -s 256".
Outcome limited(const std::string& limits, const std::string& arguments) {
    return Program("saxpy", "/bin/sh")("-c '" + limits +
                                       "; exec \"$0\" \"$@\"' " SAXPY_PROGRAM " --n 1000 --repeat 1 " + arguments);
}

/// What ran on the CPU passed, and what was to run in OpenCL has this reason why not.
void only_opencl_lacks(const Json& results, const std::string& reason) {
    for (const auto& v : results["variants"]) {
        if (v["backend"] == "cpu") CHECK(v["status"] == "passed");
        if (v["backend"] == "opencl") CHECK(v["reason"] == reason);
    }
}
} // namespace

#if defined(ODD_OPENCL) && !defined(__SANITIZE_ADDRESS__)
namespace {
/// A run on the CPU and in OpenCL, where a call of OpenCL is odd: see odd_opencl.cpp.
Outcome odd_run(const std::string& what, Json& results, const std::string& more = "") {
    devices_or_skip(Backend::opencl);
    const Environment odd("ODD_OPENCL", what), library("LD_PRELOAD", ODD_OPENCL);
    const ScratchFile json;
    const auto outcome = program("--n 1000 --repeat 1 --json " + json.path() + more);
    if (outcome.exit_code == 0 || more.empty()) results = json.json();
    return outcome;
}

} // namespace

TEST_CASE("a platform that ends the program costs what runs on it, and nothing else", "[program]") {
    Json results;
    const auto search = odd_run("search", results);
    CHECK(search.exit_code == 0);
    CHECK(search.err.ends_with(" ended the program in the search for devices. The program begins again without it.\n"));
    CHECK(count_of(results, "cpu", "passed") == 3);
    CHECK(count_of(results, "opencl", "skipped", " ended the program in the search for devices") == 4);

    const auto kernel = odd_run("kernel", results);
    CHECK(kernel.exit_code == 2); // it may be the rung's fault
    CHECK(kernel.err.find(" ended the program in opencl_raw. ") != std::string::npos);
    CHECK(count_of(results, "cpu", "passed") == 3);
    CHECK(count_of(results, "opencl", "skipped", " ended the program in opencl_raw") == 4);

    const auto named = odd_run("search", results, " --backend opencl");
    CHECK(named.exit_code == 2);
    CHECK(named.err.find("saxpy: back end opencl: ") != std::string::npos);
}

TEST_CASE("a device that answers a query with an error is used as far as it is known", "[program]") {
    for (const int query : {CL_DEVICE_NAME, CL_DEVICE_TYPE, CL_DEVICE_GLOBAL_MEM_SIZE, CL_DEVICE_GLOBAL_MEM_CACHE_SIZE,
                            CL_DEVICE_MAX_COMPUTE_UNITS, CL_DEVICE_DOUBLE_FP_CONFIG, CL_DEVICE_MAX_WORK_GROUP_SIZE,
                            CL_DEVICE_MAX_WORK_ITEM_SIZES}) {
        INFO(query);
        Json results;
        CHECK(odd_run(std::to_string(query), results).exit_code == 0);
        CHECK(count_of(results, "opencl", "passed") == 4 * gpulab::devices(Backend::opencl).size());
    }
}

TEST_CASE("what runs on a device that cannot be used is skipped with the reason", "[program]") {
    Json results;
    CHECK(odd_run("context", results).exit_code == 0);
    CHECK(count_of(results, "cpu", "passed") == 3);
    CHECK(count_of(results, "opencl", "skipped", " cannot be used: clCreateContext failed: CL_DEVICE_NOT_AVAILABLE") ==
          4 * gpulab::devices(Backend::opencl).size());
}

TEST_CASE("a search for devices that computes goes on when the clock comes, and one that waits is tried once more",
          "[program]") {
    Json results;
    const auto computes = odd_run("computes", results);
    CHECK(computes.err == "");
    CHECK(count_of(results, "opencl", "passed") >= 4);

    const std::string silent = " does not answer in the search for devices. The program begins again ";
    const auto once = odd_run("waits once", results);
    CHECK(once.err.ends_with(silent + "and tries once more.\n"));
    CHECK(count_of(results, "opencl", "passed") >= 4);

    const auto waits = odd_run("waits", results);
    CHECK(waits.exit_code == 0);
    CHECK(waits.err.find(silent + "without it. If it does not after a restart") != std::string::npos);
    CHECK(count_of(results, "cpu", "passed") == 3);
    CHECK(count_of(results, "opencl", "skipped", " does not answer in the search for devices") == 4);
}

#if !defined(__SANITIZE_THREAD__) // it has a handler of its own
TEST_CASE("a vendor's library that fails while it is loaded costs its own devices only, and a line names its file",
          "[program]") {
    devices_or_skip(Backend::opencl);
    const auto [odd, fault] = GENERATE(table<std::string, std::string>({{"load: exit", "ended the program"},
                                                                        {"load: abort", "ended the program"},
                                                                        {"load: crash", "ended the program"},
                                                                        {"load: wait", "does not answer"}}));
    const ScratchFolder vendors;
    const ScratchFile json;
    const Environment how("ODD_OPENCL", odd), told("OCL_ICD_VENDORS", vendors.path(""));
    const auto run = [&] { return program("--n 1000 --repeat 1 --backend cpu,opencl --json " + json.path()); };
    if (run().exit_code == 0) SKIP("this loader does not read the environment");
    const std::string file = vendors.path("broken.icd");
    vendors.write("broken.icd", ODD_OPENCL "\n");
    const std::string line = fmt::format("OpenCL: the library of {} {} in the search for devices and is left out: "
                                         "install it anew, or remove the file.\n",
                                         file, fault);
    const auto alone = run();
    CHECK(alone.exit_code == 2);
    CHECK(alone.err.ends_with(
        fmt::format("{}saxpy: back end opencl: {} {} in the search for devices\n", line, file, fault)));

    const std::filesystem::path others = "/etc/OpenCL/vendors";
    if (!std::filesystem::exists(others)) SKIP("this loader finds its libraries elsewhere");
    for (const auto& entry : std::filesystem::directory_iterator(others))
        std::filesystem::copy(entry, vendors.path(""));
    const auto both = run();
    CHECK(both.exit_code == 0);
    CHECK(both.err.ends_with(line));
    CHECK(both.err.starts_with(odd == "load: wait" ? "OpenCL: an OpenCL library does not answer" : line));
    CHECK(count_of(json.json(), "cpu", "passed") == 3);
    CHECK(count_of(json.json(), "opencl", "passed") == 4 * gpulab::devices(Backend::opencl).size());
    CHECK(Json::parse(program("--n 1000 --repeat 1 --json -").out) != Json()); // on the stdout of the first start
}
#endif
#endif

#if !defined(__SANITIZE_ADDRESS__)
TEST_CASE("where no thread can be started, what needs threads is skipped, and all else runs", "[program]") {
    const ScratchFile json;
    const Environment threads("GPULAB_CPU_THREADS", "4096");
    // 4096 stacks of 8 MiB take more address space than the limit leaves.
    CHECK(limited("ulimit -s 8192; ulimit -v 4000000", "--backend cpu --json " + json.path()).exit_code == 0);
    const Json variants = json.json()["variants"];
    REQUIRE(variants.size() == 3);
    CHECK(variants[0]["status"] == "passed");
    for (const std::size_t i : {1, 2})
        CHECK(variants[i]["reason"] == "cannot start a thread: the system allows no more (see ulimit -u and -v)");
}
#endif

TEST_CASE("a rung that is much slower than others on a CPU says why", "[program]") {
    needs_pocl();
    const std::string why = "slow on a CPU: a core runs one item after the other";
    const auto variants = [&](const std::string& names) {
        return program("--repeat 1 --warmup 1 --device opencl:0 --variant " + names).out;
    };
    CHECK(variants("opencl_one_item,opencl_grid_stride").find(why) != std::string::npos);
    CHECK(variants("opencl_grid_stride").find(why) == std::string::npos); // slower than nothing
}

TEST_CASE("programs that run at the same time have caches of PoCL of their own", "[program]") {
    needs_pocl();
    const ScratchFolder folder;
    const Environment set("POCL_CACHE_DIR", folder.path(""));
    const auto run = [&] { program.done("--n 1000 --repeat 1 --variant opencl_one_item"); };
    run();
    CHECK_FALSE(folder.has("2"));
    const int first = ::open(folder.path("").c_str(), O_RDONLY | O_CLOEXEC); // as a program that runs has it
    REQUIRE(::flock(first, LOCK_EX | LOCK_NB) == 0);
    run();
    ::close(first);
    CHECK_FALSE(std::filesystem::is_empty(folder.path("2")));
    const Environment relative("POCL_CACHE_DIR", "here");
    program.in(folder).done("--n 1000 --repeat 1 --variant opencl_one_item");
    CHECK(folder.has("here"));
}

TEST_CASE("a stack that is too small for PoCL costs what runs on it, and nothing else", "[program]") {
    needs_pocl();
    const ScratchFile json;
    CHECK(limited("ulimit -s 256", "--json " + json.path()).exit_code == 0);
    only_opencl_lacks(json.json(), "PoCL needs a stack of 384 KiB, and it has 256 (ulimit -s)");
}

TEST_CASE("a cache that PoCL cannot write costs what runs on it, and nothing else", "[program][thorough]") {
    needs_pocl();
    const ScratchFile file, json;
    const ScratchFolder folder;
    file.write("no folder");
    // A limit for the size of files stands for a full disk.
    for (const auto& [limit, cache, why] : {std::array<std::string, 3>{":", file.path(), "Not a directory"},
                                            {"ulimit -f 200", folder.path(), "File too large"}}) {
        const Environment set("POCL_CACHE_DIR", cache.c_str());
        const std::string reason = "PoCL cannot write compiled kernels to its cache, " + cache + ": " + why +
                                   " (POCL_CACHE_DIR names another folder)";
        const Outcome all = limited(limit, "--json " + json.path());
        CHECK(all.exit_code == 0);
        CHECK(all.err == "");
        only_opencl_lacks(json.json(), reason);
        const Outcome alone = limited(limit, "--json " + json.path() + " --backend opencl");
        CHECK(alone.exit_code == 2);
        CHECK(alone.err == "saxpy: back end opencl: " + reason + "\n");
    }
}
TEST_CASE("a study that needs a device says why there is none of a back end that was named", "[program]") {
    if (!gpulab::devices(Backend::cuda).empty()) SKIP("there is a CUDA device");
    const std::string& why = gpulab::why_no_devices(Backend::cuda);
    for (const std::string study : {"table-2-1", "coalescing"})
        CHECK(program.refusal_fault("--study " + study + " --backend cuda", why) == "");
}

TEST_CASE("table 2.2 has the copies and the kernel in one time, and the total beside it", "[program][thorough]") {
    if (gpulab::devices(Backend::opencl).empty() && gpulab::devices(Backend::cuda).empty()) SKIP("no device");
    const ScratchFile json;
    const auto run = program("--study table-2-2 --repeat 2 --json " + json.path());
    REQUIRE(run.exit_code == 0);
    CHECK(run.out.find("total ms") != std::string::npos);
    const auto runs = json.json();
    CHECK(runs.size() == 6);
    for (const auto& one : runs) {
        REQUIRE_FALSE(one["variants"].empty());
        CHECK(figures_fault(one) == "");
        for (const auto& v : one["variants"]) {
            CHECK(v["name"].get<std::string>().ends_with("_copies_and_kernel"));
            CHECK(v["parallel_ms"] == v["kernel_ms"]["median"]);
            CHECK(v["total_ms"] != v["parallel_ms"]);
            CHECK(v["percent_of_ceiling"].is_null()); // the copy within the device is no bound for the link
            const double core_ms = v["sequential_ms"], ms = v["parallel_ms"], n = one["problem"]["n"],
                         total = v["total_ms"];
            const double per_ms = 2e-6 * n; // GFLOP/s times ms
            CHECK(run.out.find(fmt::format("{:>8} {:>13.6f} {:>13.6f} {:>10.4f} {:>10.2f} {:>9.2f} {:>11.6f}\n", n,
                                           core_ms, ms, core_ms / ms, per_ms / core_ms, per_ms / ms, total)) !=
                  std::string::npos);
        }
    }
}

#if defined(GPULAB_WITH_OPENCL)
TEST_CASE("neighbouring items of the study coalescing read elements `stride` apart", "[program]") {
    gpulab::use(devices_or_skip(Backend::opencl).front());
    const std::vector<float> a(12, 1), b(12, 2);
    cl::Kernel kernel = gpulab::opencl_kernel(studies_cl, "strided", "-DROUNDS=1");
    const cl::CommandQueue& queue = gpulab::opencl().queue();
    for (const std::size_t stride : {1, 3}) {
        INFO(stride);
        const gpulab::ClBuffer<float> in_a(a), in_b(b);
        gpulab::ClBuffer<float> out(12);
        gpulab::poisoning(out)(queue);
        gpulab::set_args(kernel, 1.0f, in_a.data(), in_b.data(), out.data(), cl_ulong{12});
        // The items with 2 in x alone, as many in y as the stride.
        queue.enqueueNDRangeKernel(kernel, cl::NDRange(2, 0), cl::NDRange(1, stride), cl::NDRange(1, 1));
        std::vector<float> c(12);
        out.copy_to(c);
        for (std::size_t i = 0; i < 12; ++i) CHECK((c[i] == 3) == (i / stride == 2));
    }
}
TEST_CASE("opencl_raw marks every element before each run, where it has fewer NaNs than elements, too", "[opencl]") {
    gpulab::use(devices_or_skip(Backend::opencl).front());
    const ScratchFolder folder;
    gpulab::OutputFile(folder.path("nan.cl"))
        .write("kernel void saxpy(float k, global const float* a, global const float* b, global float* c, ulong n) "
               "{ if (get_global_id(0) < n) c[get_global_id(0)] = isnan(c[get_global_id(0)]); }");
    const std::string plant = "labs/01_saxpy/opencl/01_raw.cl=" + folder.path("nan.cl");
    const Environment set("GPULAB_TEST_PLANT", plant.c_str());
    const std::size_t n = (std::size_t{1} << 22) + 5;
    saxpy::Output c(n);
    gpulab::Stopwatch twice(0, 2);
    const saxpy::Problem p{1, saxpy::Output(n), saxpy::Output(n)};
    in_turn([&] { gpulab::run_of(saxpy::variants(), "opencl_raw")(p, c, twice); });
    CHECK(std::ranges::count(c, 1.0f) == static_cast<std::ptrdiff_t>(n)); // Catch2 would print all of them
}
#endif

namespace {
/// What the kernels of a study were asked for, each once in a row.
std::vector<std::tuple<unsigned, unsigned>> asked;
void ask(unsigned one, unsigned other = 0) {
    if (asked.empty() || asked.back() != std::tuple(one, other)) asked.emplace_back(one, other);
}

void noting(const saxpy::Problem& p, saxpy::Output& c, gpulab::Stopwatch& watch, unsigned parameter) {
    ask(parameter);
    gpulab::run_of(saxpy::variants(), "cpu_sequential")(p, c, watch);
}
void noting_branch(saxpy::Branch branch, saxpy::Mixed& out, gpulab::Stopwatch& watch) {
    ask(static_cast<unsigned>(branch));
    saxpy::cpu_divergence(branch, out, watch);
}
void noting_memory(saxpy::Memory memory, unsigned apart, const saxpy::Mixed& table, saxpy::Mixed& out,
                   gpulab::Stopwatch& watch) {
    ask(static_cast<unsigned>(memory), apart);
    saxpy::cpu_look_up(apart, table, out, watch);
}
} // namespace

TEST_CASE("each row of a study times what the row says", "[program]") {
    using Asked = std::vector<std::tuple<unsigned, unsigned>>;
    const Environment three("GPULAB_CPU_THREADS", "3"), quick("GPULAB_TEST_CEILINGS", "quick");
    const saxpy::StudyKernels kernels = {noting,        noting,        noting,        noting,       noting,
                                         noting_branch, noting_branch, noting_memory, noting_memory};
    const auto asked_by = [&](const char* study, const char* device) {
        const ScratchFile json;
        std::size_t n = 1000;
        gpulab::Options options("saxpy", "a test");
        options.size("--n", n, 1, "");
        options.studies(saxpy::study_list());
        const std::array words = {"saxpy",    "--study", study,    "--device",         device,
                                  "--repeat", "1",       "--json", json.path().c_str()};
        REQUIRE(options.parse(static_cast<int>(words.size()), words.data()));
        asked.clear();
        printed_by([&] { CHECK(saxpy::run_study(options, n, kernels) == 0); });
        Asked rows; // what the file says
        const auto memory = [](const std::string& variant) {
            return variant.ends_with("global")     ? saxpy::Memory::global
                   : variant.ends_with("constant") ? saxpy::Memory::constant
                   : variant.ends_with("texture")  ? saxpy::Memory::texture
                                                   : saxpy::Memory::shared;
        };
        for (const auto& run : json.json()) {
            const auto& p = run["problem"];
            for (const auto& v : run["variants"]) {
                if (p.contains("words apart"))
                    rows.emplace_back(static_cast<unsigned>(memory(v["name"])), p["words apart"]);
                else if (p.contains("branch")) rows.emplace_back(p["branch"] == "warp-aligned", 0);
                else rows.emplace_back(p.value("threads", p.value("threads per block", p.value("stride", 0u))), 0);
            }
        }
        CHECK(asked == rows);
        return asked;
    };
    CHECK(asked_by("threads", "cpu:0") == Asked{{1, 0}, {2, 0}, {3, 0}});
    if (gpulab::devices(Backend::opencl).empty()) SKIP(gpulab::why_no_devices(Backend::opencl));
    CHECK(asked_by("block-size", "opencl:0") == Asked{{32, 0}, {64, 0}, {128, 0}, {256, 0}, {512, 0}, {1024, 0}});
    CHECK(asked_by("coalescing", "opencl:0") == Asked{{1, 0}, {2, 0}, {4, 0}, {8, 0}, {16, 0}, {32, 0}});
    CHECK(asked_by("divergence", "opencl:0") == Asked{{0, 0}, {1, 0}});
    CHECK(asked_by("memories", "opencl:0").size() == 9);
}
