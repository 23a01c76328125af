#include <catch2/catch_test_macros.hpp>
#include <cstdlib>
#include <string>

#include "gpulab/ceilings.hpp"
#include "gpulab/device.hpp"
#include "gpulab/error.hpp"
#include "gpulab_testing/testing.hpp"

using gpulab::Backend;

TEST_CASE("there is one CPU, with a name, threads and memory", "[cpu]") {
    const auto& cpus = gpulab::devices(Backend::cpu);
    REQUIRE(cpus.size() == 1);
    CHECK_FALSE(cpus[0].name.empty());
    CHECK(cpus[0].compute_units >= 1);
    CHECK(cpus[0].memory_bytes > (1u << 28));
    CHECK(cpus[0].id() == "cpu:0");
}

TEST_CASE("a back end without devices says why") {
    for (const Backend backend : {Backend::opencl, Backend::cuda})
        if (gpulab::devices(backend).empty()) CHECK_FALSE(gpulab::why_no_devices(backend).empty());
        else CHECK(gpulab::devices(backend)[0].memory_bytes > 0);
}

namespace {
void check_ceilings(Backend backend) {
    for (const gpulab::Device& device : gpulab::testing::devices_or_skip(backend)) {
        INFO(device.name);
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

TEST_CASE("the ceilings of the CPU can be measured", "[cpu]") { check_ceilings(Backend::cpu); }
TEST_CASE("the ceilings of OpenCL devices can be measured", "[opencl]") { check_ceilings(Backend::opencl); }
TEST_CASE("the ceilings of CUDA devices can be measured", "[cuda]") { check_ceilings(Backend::cuda); }

#if !defined(_WIN32)
TEST_CASE("the environment can say how many threads the CPU has", "[cpu]") {
    const char* const before = std::getenv("GPULAB_CPU_THREADS");
    const std::string kept = before ? before : "";
    setenv("GPULAB_CPU_THREADS", "7", 1);
    CHECK(gpulab::hardware_threads() == 7);
    for (const char* bad : {"", "0", "-1", "7x", "seven", "1000000"}) {
        INFO("'" << bad << "'");
        setenv("GPULAB_CPU_THREADS", bad, 1);
        CHECK_THROWS_AS(gpulab::hardware_threads(), gpulab::UsageError);
    }
    if (before) setenv("GPULAB_CPU_THREADS", kept.c_str(), 1);
    else unsetenv("GPULAB_CPU_THREADS");
    CHECK(gpulab::hardware_threads() >= 1);
}
#endif
