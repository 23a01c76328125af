// A check is worth what it rejects: every variant here is wrong, and the checks of the right ones must say so.
#include <catch2/catch_test_macros.hpp>
#include <string>
#include <string_view>

#include "checks.hpp"
#include "wrong_spmv.hpp"

using gpulab::Backend;
using gpulab::testing::Faults;
using spmv::testing::Extent;
using spmv::wrong::WrongVariant;

namespace {

/// What the checks of the right variants find.
template <class T> std::string faults_of(Backend backend, std::string_view name, spmv::Run<T>* run) {
    static const Extent<T> extent{spmv::testing::small_cases<T>(), {2, 33}, 600};
    Faults faults;
    spmv::testing::check_variant<T>({name, "", backend, run}, faults, extent);
    return faults.text();
}

/// Every variant of a table, on every device of a back end, must be rejected, and by the check that is there for it.
template <class T> void reject_all(Backend backend, std::span<const WrongVariant<spmv::Run<T>>> table) {
    REQUIRE(table.size() >= 1);
    for (const gpulab::Device& device : gpulab::testing::devices_or_skip(backend)) {
        if (std::is_same_v<T, double> && !device.fp64) continue;
        gpulab::use(device);
        for (const auto& wrong : table) {
            if (wrong.needs_tool) continue; // see the tests with oclgrind and compute-sanitizer
            const std::string faults = faults_of<T>(backend, wrong.name, wrong.run);
            INFO(wrong.name << " (" << wrong.mistake << ") on " << device.name << ":\n" << faults);
            CHECK(faults != "");
            CHECK(faults.find("it threw") == std::string::npos); // that is no rejection
            CHECK(faults.starts_with("  " + std::string(wrong.found_by)));
        }
    }
}

/// The check accepts a right variant, so none was rejected because it was made as they are, or because another had
/// broken the device.
void accept(Backend backend, spmv::Run<float>* right) {
    for (const gpulab::Device& device : gpulab::testing::devices_or_skip(backend)) {
        gpulab::use(device);
        CHECK(faults_of<float>(backend, "right", right) == "");
    }
}

/// Runs one that a device may forgive, for a tool to reject: five rows, the last block or group ragged.
template <class Table> void run_one(Backend backend, const Table& table, std::string_view name) {
    gpulab::use(gpulab::testing::devices_or_skip(backend).front());
    const auto p = spmv::make_problem(gpulab::banded<float>(101, 2, gpulab::testing::seed), gpulab::testing::seed);
    int ran = 0;
    for (const auto& wrong : table) {
        if (wrong.name != name) continue;
        REQUIRE(wrong.needs_tool);
        spmv::Output<float> y(p.matrix.rows);
        gpulab::Stopwatch once;
        wrong.run(p, y, once);
        ++ran;
    }
    CHECK(ran == 1);
}

} // namespace

TEST_CASE("every wrong CPU variant is rejected", "[cpu]") {
    reject_all<float>(Backend::cpu, spmv::wrong::cpu_variants());
    accept(Backend::cpu, spmv::wrong::cpu_right);
}

#if defined(GPULAB_WITH_OPENCL)
TEST_CASE("every wrong OpenCL kernel is rejected", "[opencl]") {
    reject_all<float>(Backend::opencl, spmv::wrong::opencl_variants());
    reject_all<double>(Backend::opencl, spmv::wrong::opencl_double_variants());
    accept(Backend::opencl, spmv::wrong::opencl_right);
}
TEST_CASE("an OpenCL product of COO that needs an order is rejected", "[opencl]") {
    for (const gpulab::Device& device : gpulab::testing::devices_or_skip(Backend::opencl)) {
        gpulab::use(device);
        for (const auto& wrong : spmv::wrong::opencl_coo_variants())
            CHECK(spmv::testing::first_coo_fault<float>(wrong.run, spmv::testing::small_cases<float>()) != "");
    }
}

// PoCL forgives these: oclgrind must report them.
TEST_CASE("no_first_barrier runs, for oclgrind to reject", "[.no_first_barrier]") {
    run_one(Backend::opencl, spmv::wrong::opencl_variants(), "no_first_barrier");
}
TEST_CASE("barrier_in_branch runs, for oclgrind to reject", "[.barrier_in_branch]") {
    run_one(Backend::opencl, spmv::wrong::opencl_variants(), "barrier_in_branch");
}
#endif

#if defined(GPULAB_WITH_CUDA)
TEST_CASE("every wrong CUDA kernel is rejected", "[cuda]") {
    reject_all<float>(Backend::cuda, spmv::wrong::cuda_variants());
    reject_all<double>(Backend::cuda, spmv::wrong::cuda_double_variants());
    accept(Backend::cuda, spmv::wrong::cuda_right);
}
TEST_CASE("a CUDA product of COO that needs an order is rejected", "[cuda]") {
    for (const gpulab::Device& device : gpulab::testing::devices_or_skip(Backend::cuda)) {
        gpulab::use(device);
        for (const auto& wrong : spmv::wrong::cuda_coo_variants())
            CHECK(spmv::testing::first_coo_fault<float>(wrong.run, spmv::testing::small_cases<float>()) != "");
    }
}

// A GPU forgives these: compute-sanitizer must report them.
TEST_CASE("not_cleared_in_time runs, for racecheck to reject", "[.not_cleared_in_time]") {
    run_one(Backend::cuda, spmv::wrong::cuda_variants(), "not_cleared_in_time");
}
TEST_CASE("reads_outside runs, for memcheck to reject", "[.reads_outside]") {
    run_one(Backend::cuda, spmv::wrong::cuda_variants(), "reads_outside");
}
TEST_CASE("reads_unset runs, for initcheck to reject", "[.reads_unset]") {
    run_one(Backend::cuda, spmv::wrong::cuda_variants(), "reads_unset");
}
#endif
