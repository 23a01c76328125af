// Arrays that 32 bits cannot count, on GPUs that have the memory.
#include <catch2/catch_test_macros.hpp>

#include "large.hpp"

using gpulab::Backend;

namespace {

void check_large(Backend backend) {
    for (const auto& [device, n] : gpulab::testing::large_devices_or_skip(backend, 3, 3)) {
        gpulab::use(device);
        const saxpy::Problem p = saxpy::testing::large_problem(n);
        saxpy::Output c(n);
        int checked = 0;
        for (const auto& variant : saxpy::variants()) {
            if (variant.backend != backend || variant.name == "cuda_one_block") continue;
            INFO(variant.name << " on " << device.name << ", n = " << n);
            CHECK(saxpy::testing::large_fault(variant.run, p, c) == "");
            ++checked;
        }
        CHECK(checked >= 4);
    }
}

} // namespace

TEST_CASE("every CUDA variant reaches elements that 32 bits do not count", "[cuda][large]") {
    check_large(Backend::cuda);
}
TEST_CASE("every OpenCL variant reaches elements that 32 bits do not count", "[opencl][large]") {
    check_large(Backend::opencl);
}
