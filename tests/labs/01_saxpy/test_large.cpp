// SAXPY with more elements than 32 bits can count, on GPUs with enough memory. The numbers are small integers, so that
// the result is exact and known without a reference. Their periods are odd, so that elements 2^31 or 2^32 apart differ.
#include <catch2/catch_test_macros.hpp>
#include <fmt/format.h>
#include <functional>

#include "gpulab_testing/large_cases.hpp"
#include "gpulab_testing/steps.hpp"
#include "saxpy.hpp"
#include "studies.hpp"

using namespace gpulab::testing;
using gpulab::Backend;
using saxpy::Output, saxpy::Problem, saxpy::Stopwatch;

namespace {

/// 3 a + b with n elements: a repeats 0 ... 8190, b repeats 0 ... 126.
Problem large_problem(std::size_t n) {
    Problem p{3, Output(n), Output(n)};
    gpulab::for_ranges(n, 1 << 20, [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i) {
            p.a[i] = static_cast<float>(i % 8191);
            p.b[i] = static_cast<float>(i % 127);
        }
    });
    return p;
}

/// What is wrong with a kernel's answer to the problem of n elements, or "".
std::string large_fault(const std::function<saxpy::Run>& run, std::size_t n) {
    using ProblemAndSpace = std::pair<Problem, Output>; // which takes longer to make than to solve
    static LastMade last;
    auto& [p, c] = last.get<ProblemAndSpace>(std::to_string(n), [n] {
        return ProblemAndSpace{large_problem(n), Output(n)};
    });
    Stopwatch once;
    if (std::string stray = stray_write(run, p, c, once); !stray.empty()) return stray;
    const std::size_t wrong = wrong_among(
        n, [&](std::size_t i) { return c[i] == p.k * static_cast<float>(i % 8191) + static_cast<float>(i % 127); });
    return wrong < n ? fmt::format("element {} is {}", wrong, c[wrong]) : "";
}

const LargeCases variants(saxpy::variants(), "computes elements beyond a 32-bit index", 3, 3,
                          [](const auto& v, std::size_t n) { return large_fault(v.run, n); });

/// The kernels of the studies: one block size, and strides whose product with the row number exceeds 2^32.
[[maybe_unused]] void check_studies(Backend backend, saxpy::BlockSizeRun* block_size, saxpy::StridedRun* strided) {
    for (const auto& [device, n] : large_devices_or_skip(backend, 3, 3)) {
        gpulab::use(device);
        INFO("on " << device.name << ", n = " << n);
        CHECK(large_fault([&](const Problem& p, Output& c, Stopwatch& w) { block_size(p, c, w, 256); }, n) == "");
        for (const unsigned stride : {1, 32})
            CHECK(large_fault([&](const Problem& p, Output& c, Stopwatch& w) { strided(p, c, w, stride); }, n) == "");
    }
}

} // namespace

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
