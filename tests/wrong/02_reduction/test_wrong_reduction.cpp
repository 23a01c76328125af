// A check is worth what it rejects: every kernel here is wrong, and the checks of the right ones must say so.
#include <catch2/catch_test_macros.hpp>

#include "checks.hpp"
#include "wrong_reduction.hpp"

using gpulab::Backend;
using gpulab::testing::sizes_next_to;
using gpulab::testing::straddling_sizes;

namespace {

using namespace reduction;
using namespace reduction::testing;

/// The first check that has something to say.
std::string first_of(std::initializer_list<std::function<std::string()>> checks) {
    for (const auto& check : checks)
        if (const std::string fault = check(); !fault.empty()) return fault;
    return "";
}

// The checks that every rung goes through: sizes, those next to its tiles, special values, denormals.

template <class T> std::string fault_of(SumRun<T>* run, Backend backend) {
    Stopwatch once;
    const auto tiles = tiles_of(run, make_sum_problem<T>(1000, 1), Scalar<T>(1), once);
    return first_of({[&] { return first_fault(run, backend, straddling_sizes()); },
                     [&] { return first_fault(run, backend, sizes_next_to(tiles, 100'000), whole_numbers); },
                     [&] { return special_fault(run, 1025, tiles); },
                     [&] { return keeps_denormals<T>(backend) ? denormal_fault(run, 1000) : ""; }});
}

template <class T> std::string fault_of(DotRun<T>* run, Backend backend) {
    Stopwatch once;
    const auto tiles = tiles_of(run, make_dot_problem<T>(1000, 1), Scalar<T>(1), once);
    return first_of({[&] { return first_dot_fault(run, backend, straddling_sizes()); },
                     [&] { return first_dot_fault(run, backend, sizes_next_to(tiles, 100'000), whole_numbers); },
                     [&] { return special_dot_fault(run, 1025, tiles); },
                     [&] { return keeps_denormals<T>(backend) ? denormal_dot_fault(run, 1000) : ""; }});
}

template <class T> std::string fault_of(SeriesRun<T>* run, Backend backend) {
    Stopwatch once;
    const auto tiles = tiles_of(run, SeriesProblem<T>{Series::pi, 1, 1000}, Scalar<T>(1), once);
    return first_of({[&] {
                         return first_series_fault<T>(run, backend, {0, 1, 2, 33, 1025, 100'003});
                     },
                     [&] { return first_series_fault<T>(run, backend, sizes_next_to(tiles, 10'000, "terms")); }});
}

template <class T> std::string fault_of(ScanRun<T>* run, Backend backend) {
    Stopwatch once;
    const auto tiles = tiles_of(run, make_scan_problem<T>(Scan::inclusive, 1000, 1), Prefixes<T>(1000), once);
    return first_of({[&] { return first_scan_fault(run, backend, straddling_sizes()); },
                     [&] { return first_scan_fault(run, backend, sizes_next_to(tiles, 100'000), whole_numbers); },
                     [&] { return special_scan_fault(run, 1025, tiles); },
                     [&] { return keeps_denormals<T>(backend) ? denormal_scan_fault(run, 1000) : ""; }});
}

/// Each variant of a table, on every device of the back end, must be found wrong by the checks of the right ones.
/// @param right a right one: the checks accept it, also after all the wrong ones have run
template <class Table, class Run>
void reject_all(Backend backend, const Table& table, std::size_t at_least, Run* right) {
    REQUIRE(table.size() >= at_least);
    for (const gpulab::Device& device : gpulab::testing::devices_or_skip(backend)) {
        gpulab::use(device);
        for (const auto& wrong : table) {
            INFO(wrong.name << " (" << wrong.mistake << ") on " << device.name);
            std::string fault; // an exception other than the check's own is no rejection: it fails the test
            REQUIRE_NOTHROW(fault = fault_of(wrong.run, backend));
            CHECK((fault != "" || (device.is_cpu && wrong.cpu_device_forgives)));
        }
        INFO("the right one on " << device.name);
        CHECK(fault_of(right, backend) == "");
    }
}

#if defined(GPULAB_WITH_OPENCL)
/// Runs the wrong kernel of this name for 100 elements. What comes out does not matter: oclgrind watches.
void run_for_oclgrind(std::string_view name) {
    gpulab::testing::devices_or_skip(Backend::opencl);
    int ran = 0;
    Stopwatch once;
    for (const auto& wrong : wrong::opencl_sums())
        if (wrong.name == name) {
            Scalar<float> sum(1);
            wrong.run(make_sum_problem<float>(100, gpulab::testing::seed), sum, once);
            ++ran;
        }
    for (const auto& wrong : wrong::opencl_scans())
        if (wrong.name == name) {
            Prefixes<float> out(100);
            wrong.run(make_scan_problem<float>(Scan::inclusive, 100, gpulab::testing::seed), out, once);
            ++ran;
        }
    CHECK(ran == 1);
}
#endif

#if defined(GPULAB_WITH_CUDA)
/// Adds up 1000 elements. What comes out does not matter: a tool of compute-sanitizer watches, and may stop the kernel.
void run_for_sanitizer(SumRun<float>* run) {
    gpulab::use(gpulab::testing::devices_or_skip(Backend::cuda).front());
    Scalar<float> sum(1);
    Stopwatch once;
    try {
        run(make_sum_problem<float>(1000, gpulab::testing::seed), sum, once);
    } catch (const gpulab::Error&) {
    }
    SUCCEED();
}
#endif

} // namespace

TEST_CASE("every wrong CPU sum, dot product, series and prefix sum is rejected", "[cpu]") {
    const wrong::Controls right = wrong::cpu_controls();
    reject_all(Backend::cpu, wrong::cpu_sums(), 8, right.sum);
    reject_all(Backend::cpu, wrong::cpu_dots(), 4, right.dot);
    reject_all(Backend::cpu, wrong::cpu_series(), 4, right.series);
    reject_all(Backend::cpu, wrong::cpu_scans(), 6, right.scan);
}

TEST_CASE("a variant that does not poison its sum, or names no tile, is told so") {
    Scalar<float> sum(1);
    Stopwatch once;
    wrong::cpu_without_poison(make_sum_problem<float>(10, 1), sum, once);
    CHECK(gpulab::testing::manners_fault(Backend::cpu, false, once).starts_with("it does not poison"));
    once.notes_reset();
    CHECK(gpulab::testing::manners_fault(Backend::cpu, false, once) == "");
    CHECK(gpulab::testing::manners_fault(Backend::opencl, true, once) == "");
    CHECK(gpulab::testing::manners_fault(Backend::opencl, false, once).starts_with("it names no tile"));
}

#if defined(GPULAB_WITH_OPENCL)
TEST_CASE("every wrong OpenCL sum, dot product, series and prefix sum is rejected", "[opencl]") {
    const wrong::Controls right = wrong::opencl_controls();
    reject_all(Backend::opencl, wrong::opencl_sums(), 15, right.sum);
    reject_all(Backend::opencl, wrong::opencl_dots(), 6, right.dot);
    reject_all(Backend::opencl, wrong::opencl_series(), 4, right.series);
    reject_all(Backend::opencl, wrong::opencl_scans(), 7, right.scan);
}
TEST_CASE("a sum of doubles that is added up in float is rejected, in OpenCL", "[opencl]") {
    for (const gpulab::Device& device : gpulab::testing::devices_or_skip(Backend::opencl))
        if (!device.fp64) SKIP("a device without double precision: " + device.name);
    reject_all(Backend::opencl, wrong::opencl_double_sums(), 1, wrong::opencl_controls().double_sum);
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
    const wrong::Controls right = wrong::cuda_controls();
    reject_all(Backend::cuda, wrong::cuda_sums(), 18, right.sum);
    reject_all(Backend::cuda, wrong::cuda_double_sums(), 1, right.double_sum);
    reject_all(Backend::cuda, wrong::cuda_dots(), 7, right.dot);
    reject_all(Backend::cuda, wrong::cuda_series(), 5, right.series);
    reject_all(Backend::cuda, wrong::cuda_scans(), 12, right.scan);
}

// For compute-sanitizer, which must find each mistake.
TEST_CASE("the CUDA tree with a barrier in its branch", "[.synccheck-in-branch]") {
    run_for_sanitizer(wrong::cuda_barrier_in_branch);
}
TEST_CASE("the CUDA tree without a barrier before it", "[.racecheck-before-tree]") {
    run_for_sanitizer(wrong::cuda_no_barrier_before_tree);
}
#endif
