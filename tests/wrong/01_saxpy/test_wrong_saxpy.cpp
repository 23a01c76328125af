// A check is worth what it rejects: every kernel here is wrong, and the check of the right ones must say so.
#include <catch2/catch_test_macros.hpp>

#include "large.hpp"
#include "wrong_saxpy.hpp"

using gpulab::Backend;

namespace {

/// The checks that every rung goes through: sizes, then special values.
std::string fault_of(saxpy::Run* run) {
    const std::string fault = saxpy::testing::first_fault(run, gpulab::testing::straddling_sizes());
    return fault.empty() ? saxpy::testing::special_fault(run, 1003, true) : fault;
}

/// @param right a right kernel: the checks accept it, also after all the wrong ones have run
void reject_all(Backend backend, std::span<const saxpy::wrong::WrongVariant> table, saxpy::Run* right) {
    REQUIRE(table.size() >= 4);
    for (const gpulab::Device& device : gpulab::testing::devices_or_skip(backend)) {
        gpulab::use(device);
        for (const auto& wrong : table) {
            INFO(wrong.name << " (" << wrong.mistake << ") on " << device.name);
            std::string fault; // an exception other than the check's own is no rejection: it fails the test
            REQUIRE_NOTHROW(fault = fault_of(wrong.run));
            CHECK((fault != "") == (wrong.right_up_to == 0)); // the others are for reject_large
        }
        CHECK(fault_of(right) == ""); // the device still works: none was rejected because another had broken it
    }
}

/// The variants that go wrong only where 32 bits no longer count the elements.
[[maybe_unused]] void reject_large(Backend backend, std::span<const saxpy::wrong::WrongVariant> table) {
    for (const auto& [device, n] : gpulab::testing::large_devices_or_skip(backend, 3, 3)) {
        gpulab::use(device);
        const saxpy::Problem p = saxpy::testing::large_problem(n);
        saxpy::Output c(n);
        int rejected = 0;
        for (const auto& wrong : table) {
            if (wrong.right_up_to == 0 || wrong.right_up_to >= n) continue;
            INFO(wrong.name << " (" << wrong.mistake << ") on " << device.name << ", n = " << n);
            std::string fault;
            REQUIRE_NOTHROW(fault = saxpy::testing::large_fault(wrong.run, p, c));
            CHECK(fault != "");
            ++rejected;
        }
        CHECK(rejected >= 1);
    }
}

} // namespace

TEST_CASE("every wrong CPU variant is rejected", "[cpu]") {
    const auto right = [](const saxpy::Problem& p, saxpy::Output& c, saxpy::Stopwatch& watch) {
        watch.time([&] {
            for (std::size_t i = 0; i < p.size(); ++i) c[i] = p.k * p.a[i] + p.b[i];
        });
    };
    reject_all(Backend::cpu, saxpy::wrong::cpu_variants(), right);
}

#if defined(GPULAB_WITH_OPENCL)
TEST_CASE("every wrong OpenCL kernel is rejected", "[opencl]") {
    reject_all(Backend::opencl, saxpy::wrong::opencl_variants(), saxpy::wrong::opencl_right);
}
TEST_CASE("OpenCL kernels with an index of 32 bits are rejected beyond them", "[opencl][large]") {
    reject_large(Backend::opencl, saxpy::wrong::opencl_variants());
}
#endif

#if defined(GPULAB_WITH_CUDA)
TEST_CASE("every wrong CUDA kernel is rejected", "[cuda]") {
    reject_all(Backend::cuda, saxpy::wrong::cuda_variants(), saxpy::wrong::cuda_right);
}
TEST_CASE("CUDA kernels with an index of 32 bits are rejected beyond them", "[cuda][large]") {
    reject_large(Backend::cuda, saxpy::wrong::cuda_variants());
}
#endif
