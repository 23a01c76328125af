#include <catch2/catch_test_macros.hpp>

#include "checks.hpp"

using gpulab::Backend;
using gpulab::testing::devices_or_skip;
using gpulab::testing::small_sizes;
using gpulab::testing::straddling_sizes;

namespace {

/// Every variant of a back end, on every device of it, at all sizes.
void check_all(Backend backend, const std::vector<std::size_t>& sizes) {
    for (const gpulab::Device& device : devices_or_skip(backend)) {
        gpulab::use(device);
        for (const auto& variant : saxpy::variants()) {
            if (variant.backend != backend) continue;
            INFO(variant.name << " on " << device.name);
            REQUIRE(variant.run != nullptr);
            CHECK(saxpy::testing::first_fault(variant.run, sizes) == "");
        }
    }
}

} // namespace

TEST_CASE("every CPU variant computes k a + b at every size", "[cpu]") { check_all(Backend::cpu, straddling_sizes()); }
TEST_CASE("every OpenCL variant computes k a + b at every size", "[opencl]") {
    check_all(Backend::opencl, straddling_sizes());
}
TEST_CASE("every CUDA variant computes k a + b at every size", "[cuda]") {
    check_all(Backend::cuda, straddling_sizes());
}

TEST_CASE("every OpenCL variant at small sizes, for oclgrind", "[.oclgrind]") {
    check_all(Backend::opencl, small_sizes());
}
