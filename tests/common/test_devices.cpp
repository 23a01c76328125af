#include <catch2/catch_test_macros.hpp>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "backends.hpp"
#include "gpulab/ceilings.hpp"
#include "gpulab/device.hpp"
#include "gpulab/error.hpp"
#include "gpulab/options.hpp"
#include "gpulab/parallel.hpp"
#include "gpulab/report.hpp"
#include "gpulab_testing/capture.hpp"
#include "gpulab_testing/environment.hpp"
#include "gpulab_testing/parse.hpp"
#include "gpulab_testing/program.hpp"
#include "gpulab_testing/testing.hpp"

#if defined(__linux__)
#include <sched.h>
#endif

using gpulab::Backend;

TEST_CASE("there is one CPU, with a name, threads and memory", "[cpu]") {
    const auto& cpus = gpulab::devices(Backend::cpu);
    REQUIRE(cpus.size() == 1);
    CHECK_FALSE(cpus[0].name.empty());
    CHECK(cpus[0].compute_units >= 1);
    CHECK(cpus[0].memory_bytes == gpulab::host_memory_bytes());
    CHECK(cpus[0].is_cpu);
    CHECK(cpus[0].fp64);
    std::ifstream info("/proc/meminfo"); // "MemTotal:  16303420 kB", a little less than there is
    std::string word;
    std::uint64_t kilobytes = 0;
    const bool whole = gpulab::detail::share_of_machine().memory_bytes == 0; // a container has less
    if (const auto found = gpulab::host_memory_bytes() / 1024; whole && info >> word >> kilobytes)
        CHECK((found >= kilobytes && found < kilobytes + kilobytes / 2));
    CHECK(cpus[0].id() == "cpu:0");
}

TEST_CASE("a container or a job has its share of the machine, of both versions of control groups") {
    const gpulab::testing::ScratchFolder machine;
    const auto file = [&](const std::string& path, const std::string& text) {
        std::filesystem::create_directories(std::filesystem::path(machine.path(path)).parent_path());
        machine.write(path, text);
    };
    const auto share = [&] { return gpulab::detail::share_of_machine(machine.path("")); };
    CHECK(share().cores == 0);
    file("proc/self/cgroup", "0::/job/step\n");
    file("sys/fs/cgroup/job/step/cpu.max", "max 100000\n");
    file("sys/fs/cgroup/job/step/memory.max", "max\n");
    CHECK((share().cores == 0 && share().memory_bytes == 0));
    file("sys/fs/cgroup/job/cpu.max", "150000 100000\n"); // of the group around it
    file("sys/fs/cgroup/job/memory.max", "8000000000\n");
    file("sys/fs/cgroup/memory.max", "9000000000\n");
    CHECK((share().cores == 1.5 && share().memory_bytes == 8000000000));
    file("sys/fs/cgroup/job/step/cpu.max", "50000 100000\n");
    CHECK(share().cores == 0.5);

    file("proc/self/cgroup", "5:cpuset:/other\n4:cpu,cpuacct:/pod\n3:memory:/pod\n0::/\n");
    file("sys/fs/cgroup/memory.max", "max\n");
    file("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n");
    file("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
    CHECK((share().cores == 0 && share().memory_bytes == 0));
    file("sys/fs/cgroup/cpu/pod/cpu.cfs_quota_us", "400000\n");
    file("sys/fs/cgroup/cpu/pod/cpu.cfs_period_us", "100000\n");
    file("sys/fs/cgroup/memory/pod/memory.limit_in_bytes", "2147483648\n");
    CHECK((share().cores == 4 && share().memory_bytes == 2147483648));
}

#if defined(__linux__)
TEST_CASE("a process that the system lets run on one core only has one thread") {
    cpu_set_t all, one;
    REQUIRE(sched_getaffinity(0, sizeof all, &all) == 0);
    CPU_ZERO(&one);
    for (int cpu = 0; CPU_COUNT(&one) == 0; ++cpu)
        if (CPU_ISSET(cpu, &all)) CPU_SET(cpu, &one);
    REQUIRE(sched_setaffinity(0, sizeof one, &one) == 0); // of programs that are started from here, too
    const gpulab::testing::ScratchFile json;
    const int status = std::system((std::string(REPORT_PROGRAM) + " --json " + json.path() + " > /dev/null").c_str());
    sched_setaffinity(0, sizeof all, &all);
    REQUIRE(status == 0);
    CHECK(json.json()["devices"][0]["compute_units"] == 1);
}
#endif

namespace {
/// The ids of those devices of a machine with two GPUs, in CUDA and in OpenCL, that a wish means.
std::string meant(const std::string& requested) {
    const auto device = [](Backend backend, int index, const char* name, const char* platform) {
        gpulab::Device d;
        d.backend = backend;
        d.index = index;
        d.name = name;
        d.platform = platform;
        return d;
    };
    std::string ids;
    for (const gpulab::Device& d :
         {device(Backend::cpu, 0, "Xeon Processor", ""), device(Backend::opencl, 0, "NVIDIA H200", "NVIDIA CUDA"),
          device(Backend::opencl, 1, "pthread-Xeon", "Portable Computing Language"),
          device(Backend::cuda, 0, "NVIDIA H200", ""),
          device(Backend::cuda, 1, "NVIDIA GeForce RTX 3060 OpenCL:X", "")})
        if (d.is_meant_by(requested)) ids += (ids.empty() ? "" : " ") + d.id();
    return ids;
}
} // namespace

TEST_CASE("the option --device takes an id, a back end or part of a name") {
    CHECK(meant("cuda:0") == "cuda:0");
    CHECK(meant("opencl:0") == "opencl:0");
    CHECK(meant("cuda:10") == "");
    CHECK(meant("cuda:") == "");
    CHECK(meant("opencl:x") == "");          // nor is it part of the name of cuda:1
    CHECK(meant("cuda") == "cuda:0 cuda:1"); // not the OpenCL device of the platform "NVIDIA CUDA"
    CHECK(meant("opencl") == "opencl:0 opencl:1");
    CHECK(meant("cpu") == "cpu:0");
    CHECK(meant("CUDA") == "cuda:0 cuda:1");
    CHECK(meant("OpenCL:1") == "opencl:1");
    CHECK(meant("h200") == "opencl:0 cuda:0");
    CHECK(meant("H200") == "opencl:0 cuda:0");
    CHECK(meant("geforce rtx") == "cuda:1");
    CHECK(meant("xeon") == "cpu:0 opencl:1");
    CHECK(meant("nvidia cuda") == "opencl:0"); // the name of a platform
    CHECK(meant("H200 NVIDIA") == "");         // the end of a name and the beginning of a platform
    CHECK(meant("200") == "opencl:0 cuda:0");
    CHECK(meant("20") == ""); // too short to mean anything
    CHECK(meant("") == "");
}

namespace {
void check_ceilings(Backend backend) {
    for (const gpulab::Device& device : gpulab::testing::devices_or_skip(backend)) {
        INFO(device.name);
        CHECK(device.memory_bytes > 0);
        const gpulab::Ceilings c = gpulab::ceilings(device, gpulab::Arithmetic::fp32);
        CHECK(c.copy_gb_s > 0.1);
        CHECK(c.copy_gb_s < 1e5);
        CHECK(c.fp32_gflop_s > 0.1);
        CHECK(c.fp32_gflop_s < 1e7);
        // Measured once and kept.
        CHECK(gpulab::ceilings(device, gpulab::Arithmetic::fp32).copy_gb_s == c.copy_gb_s);
        if (device.fp64) CHECK(gpulab::ceilings(device, gpulab::Arithmetic::fp64).fp64_gflop_s > 0.1);
    }
}
} // namespace

TEST_CASE("the ceilings of the CPU can be measured, and a report takes them", "[cpu]") {
    check_ceilings(Backend::cpu);
    const gpulab::testing::ScratchFile json;
    gpulab::Options options("lab", "a test");
    REQUIRE(gpulab::testing::parse(options, {"--json", json.path()}));
    const gpulab::Device cpu = gpulab::devices(Backend::cpu).front();
    gpulab::Result result;
    result.device = cpu;
    result.has_device = true;
    gpulab::testing::printed_by([&] {
        gpulab::Report report(options, {});
        report.add(result, {.bytes = 4e6});
        report.finish();
    });
    const auto measured = json.json()["devices"][0];
    CHECK(measured["name"] == cpu.name);
    CHECK(measured["ceilings"]["copy_gb_per_s"] == gpulab::ceilings(cpu).copy_gb_s);
}
TEST_CASE("the ceilings of OpenCL devices can be measured", "[opencl]") { check_ceilings(Backend::opencl); }
TEST_CASE("the ceilings of CUDA devices can be measured", "[cuda]") { check_ceilings(Backend::cuda); }

TEST_CASE("a build runs on GPUs of its machine code's major number and on all that are newer than its PTX") {
    using gpulab::detail::built_for;
    CHECK(built_for("90-virtual", 90));
    CHECK(built_for("90-virtual", 120));
    CHECK_FALSE(built_for("90-virtual", 86));
    CHECK(built_for("80-real", 86));
    CHECK_FALSE(built_for("80-real", 75));
    CHECK_FALSE(built_for("80-real", 90));
    CHECK_FALSE(built_for("86-real", 80));
    CHECK(built_for("75", 120));
    CHECK(built_for("75-real,100-real", 100));
    CHECK_FALSE(built_for("75-real,100-real", 90));
    for (const char* const of_the_machine : {"native", "all-major", "OFF", ""})
        CHECK(built_for(of_the_machine, 86) == (*of_the_machine != 0));
}

TEST_CASE("an exception of any part reaches the caller", "[cpu]") {
    for (const unsigned bad : {0U, 1U, 2U}) {
        const auto body = [&](unsigned part) {
            if (part == bad) throw gpulab::Error("part");
        };
        CHECK_THROWS_AS(gpulab::for_parts(3, body), gpulab::Error);
    }
}

TEST_CASE("the environment can say how many threads the CPU has, and as many share work as it is worth", "[cpu]") {
    {
        const gpulab::testing::Environment set("GPULAB_CPU_THREADS", "7");
        CHECK(gpulab::hardware_threads() == 7);
        CHECK(gpulab::parts_for(1000, 100) == 7);
        CHECK(gpulab::parts_for(699, 100) == 6);
        CHECK(gpulab::parts_for(200, 100) == 2);
        CHECK(gpulab::parts_for(199, 100) == 1);
        CHECK(gpulab::parts_for(0, 100) == 1);
    }
    for (const char* bad : {"", "0", "-1", "7x", "seven", "4097", "1000000"}) {
        INFO("'" << bad << "'");
        const gpulab::testing::Environment set("GPULAB_CPU_THREADS", bad);
        CHECK_THROWS_AS(gpulab::hardware_threads(), gpulab::UsageError);
    }
    const gpulab::testing::Environment set("GPULAB_CPU_THREADS", "4096");
    CHECK(gpulab::hardware_threads() == 4096);
}
