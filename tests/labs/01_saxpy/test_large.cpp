// Arrays of more elements than 32 bits can count, on GPUs with enough memory.
#include <catch2/catch_test_macros.hpp>
#include <functional>

#include "large.hpp"
#include "studies.hpp"

using gpulab::Backend;

namespace {

gpulab::testing::LastMade last;

struct Computation {
    std::string name;
    std::function<saxpy::Run> run;
};

/// Runs all of them on the largest problem of each device, which takes longer to make than to solve.
void check_large(Backend backend, const std::vector<Computation>& computations) {
    for (const auto& [device, n] : gpulab::testing::large_devices_or_skip(backend, 3, 3)) {
        gpulab::use(device);
        using ProblemAndSpace = std::pair<saxpy::Problem, saxpy::Output>;
        auto& [p, c] = last.get<ProblemAndSpace>(std::to_string(n), [n = n] {
            return ProblemAndSpace{saxpy::testing::large_problem(n), saxpy::Output(n)};
        });
        for (const auto& [name, run] : computations) {
            INFO(name << " on " << device.name << ", n = " << n);
            CHECK(saxpy::testing::large_fault(run, p, c) == "");
        }
    }
}

void check_variants(Backend backend) {
    std::vector<Computation> computations;
    for (const auto& variant : saxpy::variants())
        if (variant.backend == backend && variant.name != "cuda_one_block")
            computations.push_back({std::string(variant.name), variant.run});
    CHECK(computations.size() >= 4);
    check_large(backend, computations);
}

/// The kernels of the studies: one block size, and strides whose product with the row number exceeds 2^32.
[[maybe_unused]] void check_studies(Backend backend, saxpy::BlockSizeRun* block_size, saxpy::StridedRun* strided) {
    using saxpy::Output, saxpy::Problem, saxpy::Stopwatch;
    check_large(backend,
                {{"blocks of 256", [=](const Problem& p, Output& c, Stopwatch& w) { block_size(p, c, w, 256); }},
                 {"stride 1", [=](const Problem& p, Output& c, Stopwatch& w) { strided(p, c, w, 1); }},
                 {"stride 32", [=](const Problem& p, Output& c, Stopwatch& w) { strided(p, c, w, 32); }}});
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
