// A check is worth what it rejects: every kernel here is wrong, and the checks of the right ones must say so.
#include <catch2/catch_test_macros.hpp>

#include "checks.hpp"
#include "wrong_reduction.hpp"

using gpulab::Backend;

namespace {

/// Each variant of a table, on every device of the back end, must be found wrong by the check of the right ones.
template <class Table, class Check>
void reject_all(Backend backend, const Table& table, std::size_t at_least, const Check& check) {
    REQUIRE(table.size() >= at_least);
    for (const gpulab::Device& device : gpulab::testing::devices_or_skip(backend)) {
        gpulab::use(device);
        for (const auto& wrong : table) {
            INFO(wrong.name << " (" << wrong.mistake << ") on " << device.name);
            std::string fault; // an exception other than the check's own is no rejection: it fails the test
            REQUIRE_NOTHROW(fault = check(wrong.run, backend, gpulab::testing::straddling_sizes()));
            CHECK((fault != "" || (device.is_cpu && wrong.cpu_device_forgives)));
        }
    }
}

/// The devices still work, so none was rejected because another had broken the device.
void accept(Backend backend, reduction::SumRun<float>* sum, reduction::ScanRun<float>* scan) {
    for (const gpulab::Device& device : gpulab::testing::devices_or_skip(backend)) {
        gpulab::use(device);
        CHECK(reduction::testing::first_fault(sum, backend, gpulab::testing::small_sizes()) == "");
        CHECK(reduction::testing::first_scan_fault(scan, backend, gpulab::testing::small_sizes()) == "");
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
TEST_CASE("every wrong OpenCL sum, dot product, series and prefix sum is rejected", "[opencl]") {
    namespace wrong = reduction::wrong;
    reject_all(Backend::opencl, wrong::opencl_sums(), 10, reduction::testing::first_fault<float>);
    reject_all(Backend::opencl, wrong::opencl_dots(), 3, reduction::testing::first_dot_fault<float>);
    reject_all(Backend::opencl, wrong::opencl_series(), 3, reduction::testing::first_series_fault<float>);
    reject_all(Backend::opencl, wrong::opencl_scans(), 4, reduction::testing::first_scan_fault<float>);
    accept(Backend::opencl, reduction::opencl_two_stage<float>, reduction::opencl_scan_two_level<float>);
}
TEST_CASE("a sum of doubles that is added up in float is rejected, in OpenCL", "[opencl]") {
    for (const gpulab::Device& device : gpulab::testing::devices_or_skip(Backend::opencl))
        if (!device.fp64) SKIP("a device without double precision: " + device.name);
    reject_all(Backend::opencl, reduction::wrong::opencl_double_sums(), 1, reduction::testing::first_fault<double>);
}

// For oclgrind, which must find a data race in each. One group is enough for that.
TEST_CASE("the OpenCL tree without a barrier before it", "[.oclgrind-before-tree]") {
    run_for_oclgrind("no_barrier_before_tree");
}
TEST_CASE("the OpenCL tree without barriers in it", "[.oclgrind-in-tree]") { run_for_oclgrind("no_barrier_in_tree"); }
TEST_CASE("the OpenCL prefix sum without barriers", "[.oclgrind-scan]") { run_for_oclgrind("no_barrier"); }
#endif

#if defined(GPULAB_WITH_CUDA)
TEST_CASE("every wrong CUDA sum, dot product, series and prefix sum is rejected", "[cuda]") {
    namespace wrong = reduction::wrong;
    reject_all(Backend::cuda, wrong::cuda_sums(), 13, reduction::testing::first_fault<float>);
    reject_all(Backend::cuda, wrong::cuda_double_sums(), 1, reduction::testing::first_fault<double>);
    reject_all(Backend::cuda, wrong::cuda_dots(), 4, reduction::testing::first_dot_fault<float>);
    reject_all(Backend::cuda, wrong::cuda_series(), 4, reduction::testing::first_series_fault<float>);
    reject_all(Backend::cuda, wrong::cuda_scans(), 7, reduction::testing::first_scan_fault<float>);
    accept(Backend::cuda, reduction::cuda_single_pass<float>, reduction::cuda_scan_look_back<float>);
    const wrong::Controls right = wrong::cuda_controls();
    const auto& sizes = gpulab::testing::straddling_sizes();
    accept(Backend::cuda, right.sum, right.scan);
    CHECK(reduction::testing::first_fault(right.sum, Backend::cuda, sizes) == "");
    CHECK(reduction::testing::first_dot_fault(right.dot, Backend::cuda, sizes) == "");
    CHECK(reduction::testing::first_series_fault(right.series, Backend::cuda, {0, 1, 2, 33, 1025, 100003}) == "");
    CHECK(reduction::testing::first_scan_fault(right.scan, Backend::cuda, sizes) == "");
}
#endif
