// Arrays of more elements than 32 bits can count, on GPUs with enough memory.
#include <catch2/catch_test_macros.hpp>

#include "large.hpp"
#include "studies.hpp"

using gpulab::Backend;

namespace {

/// Runs something on the largest problem of each device.
template <class AnyRun> void check_large(Backend backend, const AnyRun& run) {
    for (const auto& [device, n] : gpulab::testing::large_devices_or_skip(backend, 3, 3)) {
        gpulab::use(device);
        const saxpy::Problem p = saxpy::testing::large_problem(n);
        saxpy::Output c(n);
        INFO("on " << device.name << ", n = " << n);
        CHECK(saxpy::testing::large_fault(run, p, c) == "");
    }
}

void check_variants(Backend backend) {
    int checked = 0;
    for (const auto& variant : saxpy::variants()) {
        if (variant.backend != backend || variant.name == "cuda_one_block") continue;
        INFO(variant.name);
        check_large(backend, variant.run);
        ++checked;
    }
    CHECK(checked >= 4);
}

/// The kernels of the studies: one block size, and strides whose product with the row number exceeds 2^32.
[[maybe_unused]] void check_studies(Backend backend, saxpy::BlockSizeRun* block_size, saxpy::StridedRun* strided) {
    check_large(backend,
                [=](const saxpy::Problem& p, saxpy::Output& c, saxpy::Stopwatch& w) { block_size(p, c, w, 256); });
    check_large(backend, [=](const saxpy::Problem& p, saxpy::Output& c, saxpy::Stopwatch& w) { strided(p, c, w, 1); });
    check_large(backend, [=](const saxpy::Problem& p, saxpy::Output& c, saxpy::Stopwatch& w) { strided(p, c, w, 32); });
}

} // namespace

TEST_CASE("every CUDA variant computes elements beyond a 32-bit index", "[cuda][large]") {
    check_variants(Backend::cuda);
}
TEST_CASE("every OpenCL variant computes elements beyond a 32-bit index", "[opencl][large]") {
    check_variants(Backend::opencl);
}
#if defined(GPULAB_WITH_CUDA)
TEST_CASE("the CUDA kernels of the studies compute elements beyond a 32-bit index", "[cuda][large]") {
    check_studies(Backend::cuda, saxpy::cuda_block_size, saxpy::cuda_strided);
}
#endif
#if defined(GPULAB_WITH_OPENCL)
TEST_CASE("the OpenCL kernels of the studies compute elements beyond a 32-bit index", "[opencl][large]") {
    check_studies(Backend::opencl, saxpy::opencl_block_size, saxpy::opencl_strided);
}
#endif
