// A check is worth what it rejects: every kernel here is wrong, and the check of the right ones must say so.
#include <catch2/catch_test_macros.hpp>

#include "large.hpp"
#include "wrong_saxpy.hpp"

using gpulab::Backend;

namespace {

void reject_all(Backend backend, std::span<const saxpy::wrong::WrongVariant> table) {
    REQUIRE(table.size() >= 4);
    for (const gpulab::Device& device : gpulab::testing::devices_or_skip(backend)) {
        gpulab::use(device);
        for (const auto& wrong : table) {
            INFO(wrong.name << " (" << wrong.mistake << ") on " << device.name);
            std::string fault; // an exception other than the check's own is no rejection: it fails the test
            REQUIRE_NOTHROW(fault = saxpy::testing::first_fault(wrong.run, gpulab::testing::straddling_sizes()));
            CHECK((fault != "") == (wrong.right_up_to == 0)); // the others are for reject_large
        }
        // The device still works, so none was rejected because another had broken it.
        for (const auto& right : saxpy::variants())
            if (right.backend == backend && right.name.ends_with("_grid_stride"))
                CHECK(saxpy::testing::first_fault(right.run, gpulab::testing::small_sizes()) == "");
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

TEST_CASE("every wrong CPU variant is rejected", "[cpu]") { reject_all(Backend::cpu, saxpy::wrong::cpu_variants()); }

#if defined(GPULAB_WITH_OPENCL)
TEST_CASE("every wrong OpenCL kernel is rejected", "[opencl]") {
    reject_all(Backend::opencl, saxpy::wrong::opencl_variants());
}
TEST_CASE("OpenCL kernels with an index of 32 bits are rejected beyond them", "[opencl][large]") {
    reject_large(Backend::opencl, saxpy::wrong::opencl_variants());
}
#endif

#if defined(GPULAB_WITH_CUDA)
TEST_CASE("every wrong CUDA kernel is rejected", "[cuda]") { reject_all(Backend::cuda, saxpy::wrong::cuda_variants()); }
TEST_CASE("CUDA kernels with an index of 32 bits are rejected beyond them", "[cuda][large]") {
    reject_large(Backend::cuda, saxpy::wrong::cuda_variants());
}
#endif
