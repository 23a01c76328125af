// A check is worth what it rejects: every kernel here is wrong, and the checks of the right ones must say so.
#include <catch2/catch_test_macros.hpp>

#include "checks.hpp"
#include "wrong_reduction.hpp"

using gpulab::Backend;

namespace {

void reject_all(Backend backend, std::span<const reduction::wrong::WrongSum> sums,
                std::span<const reduction::wrong::WrongScan> scans, reduction::SumRun<float>* right_sum,
                reduction::ScanRun<float>* right_scan) {
    REQUIRE(sums.size() >= 6);
    REQUIRE(scans.size() >= 3);
    const auto& sizes = gpulab::testing::straddling_sizes();
    for (const gpulab::Device& device : gpulab::testing::devices_or_skip(backend)) {
        gpulab::use(device);
        const auto reject = [&](const auto& wrong, const auto& check) {
            INFO(wrong.name << " (" << wrong.mistake << ") on " << device.name);
            std::string fault; // an exception other than the check's own is no rejection: it fails the test
            REQUIRE_NOTHROW(fault = check(wrong.run, backend, sizes));
            CHECK((fault != "" || (device.is_cpu && wrong.cpu_device_forgives)));
        };
        for (const auto& wrong : sums) reject(wrong, reduction::testing::first_fault<float>);
        for (const auto& wrong : scans) reject(wrong, reduction::testing::first_scan_fault<float>);
        // The device still works, so none was rejected because another had broken it.
        CHECK(reduction::testing::first_fault(right_sum, backend, gpulab::testing::small_sizes()) == "");
        CHECK(reduction::testing::first_scan_fault(right_scan, backend, gpulab::testing::small_sizes()) == "");
    }
}

#if defined(GPULAB_WITH_OPENCL)
/// Runs the wrong kernel of this name for 100 elements. What comes out does not matter: oclgrind watches.
void run_for_oclgrind(std::string_view name) {
    gpulab::testing::devices_or_skip(Backend::opencl);
    int ran = 0;
    gpulab::Stopwatch once;
    for (const auto& wrong : reduction::wrong::opencl_sums())
        if (wrong.name == name) {
            reduction::Scalar<float> sum(1);
            wrong.run(reduction::make_sum_problem<float>(100, gpulab::testing::seed), sum, once);
            ++ran;
        }
    for (const auto& wrong : reduction::wrong::opencl_scans())
        if (wrong.name == name) {
            reduction::Prefixes<float> out(100);
            wrong.run(reduction::make_scan_problem<float>(reduction::Scan::inclusive, 100, gpulab::testing::seed), out,
                      once);
            ++ran;
        }
    CHECK(ran == 1);
}
#endif

} // namespace

#if defined(GPULAB_WITH_OPENCL)
TEST_CASE("every wrong OpenCL sum and prefix sum is rejected", "[opencl]") {
    reject_all(Backend::opencl, reduction::wrong::opencl_sums(), reduction::wrong::opencl_scans(),
               reduction::opencl_two_stage<float>, reduction::opencl_scan_two_level<float>);
}

// For oclgrind, which must find a data race in each. One group is enough for that.
TEST_CASE("the OpenCL tree without a barrier before it", "[.oclgrind-before-tree]") {
    run_for_oclgrind("no_barrier_before_tree");
}
TEST_CASE("the OpenCL tree without barriers in it", "[.oclgrind-in-tree]") { run_for_oclgrind("no_barrier_in_tree"); }
TEST_CASE("the OpenCL prefix sum without barriers", "[.oclgrind-scan]") { run_for_oclgrind("no_barrier"); }
#endif

#if defined(GPULAB_WITH_CUDA)
TEST_CASE("every wrong CUDA sum and prefix sum is rejected", "[cuda]") {
    reject_all(Backend::cuda, reduction::wrong::cuda_sums(), reduction::wrong::cuda_scans(),
               reduction::cuda_grid_stride<float>, reduction::cuda_scan_two_level<float>);
}
#endif
