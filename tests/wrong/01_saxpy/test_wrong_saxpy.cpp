// Every kernel here is wrong, and the checks of the right kernels must reject it.
#include <catch2/catch_test_macros.hpp>

#include "large.hpp"
#include "wrong_saxpy.hpp"

using gpulab::Backend;
using gpulab::testing::RightCase;
using gpulab::testing::WrongCases;

namespace {

/// The checks of every rung: sizes, then special values.
std::string fault_of(saxpy::Run* run) {
    const std::string fault = saxpy::testing::first_fault(run, gpulab::testing::straddling_sizes());
    return fault.empty() ? saxpy::testing::special_fault(run, 1003, true) : fault;
}

/// The checks of every rung for distances.
[[maybe_unused]] std::string distance_fault_of(saxpy::DistanceRun* run) {
    const std::string fault = saxpy::testing::first_distance_fault(run, gpulab::testing::straddling_sizes());
    return fault.empty() ? saxpy::testing::special_distance_fault(run) : fault;
}

/// The variants that are wrong only for more elements than 32 bits can count.
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

void cpu_right(const saxpy::Problem& p, saxpy::Output& c, saxpy::Stopwatch& watch) {
    watch.time([&] {
        for (std::size_t i = 0; i < p.size(); ++i) c[i] = p.k * p.a[i] + p.b[i];
    });
}

const WrongCases cpu(Backend::cpu, "CPU variant", saxpy::wrong::cpu_variants(), fault_of);
const RightCase cpu_control(Backend::cpu, "CPU variant", cpu_right, fault_of);
#if defined(GPULAB_WITH_OPENCL)
const WrongCases opencl(Backend::opencl, "OpenCL kernel", saxpy::wrong::opencl_variants(), fault_of);
const RightCase opencl_control(Backend::opencl, "OpenCL kernel", saxpy::wrong::opencl_right, fault_of);
const WrongCases opencl_distances(Backend::opencl, "OpenCL distance", saxpy::wrong::opencl_distances(),
                                  distance_fault_of);
const RightCase opencl_distance_control(Backend::opencl, "OpenCL distance", saxpy::wrong::opencl_right_distance,
                                        distance_fault_of);
#endif
#if defined(GPULAB_WITH_CUDA)
const WrongCases cuda(Backend::cuda, "CUDA kernel", saxpy::wrong::cuda_variants(), fault_of);
const RightCase cuda_control(Backend::cuda, "CUDA kernel", saxpy::wrong::cuda_right, fault_of);
const WrongCases cuda_distances(Backend::cuda, "CUDA distance", saxpy::wrong::cuda_distances(), distance_fault_of);
const RightCase cuda_distance_control(Backend::cuda, "CUDA distance", saxpy::wrong::cuda_right_distance,
                                      distance_fault_of);
#endif

} // namespace

#if defined(GPULAB_WITH_OPENCL)
TEST_CASE("OpenCL kernels with a 32-bit index are rejected for larger arrays", "[opencl][large]") {
    reject_large(Backend::opencl, saxpy::wrong::opencl_variants());
}
#endif

#if defined(GPULAB_WITH_CUDA)
TEST_CASE("CUDA kernels with a 32-bit index are rejected for larger arrays", "[cuda][large]") {
    reject_large(Backend::cuda, saxpy::wrong::cuda_variants());
}
#endif
