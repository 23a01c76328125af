// A check is worth what it rejects: every kernel here is wrong, and the checks of the right ones must say so.
#include <catch2/catch_test_macros.hpp>

#include "checks.hpp"
#include "wrong_reduction.hpp"

using gpulab::Backend;
using gpulab::testing::RightCase;
using gpulab::testing::sizes_next_to;
using gpulab::testing::straddling_sizes;
using gpulab::testing::WrongCases;

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
                     [&] { return keeps_denormals<T>(backend) ? denormal_fault(run, 1000, smallest<T>) : ""; }});
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

/// fault_of() for the variants of a back end, whatever they compute.
auto faults_on(Backend backend) {
    return [backend](auto* run) { return fault_of(run, backend); };
}

/// What the checks of a minimum find.
std::string minimum_fault(SumRun<float>* run) { return first_minimum_fault(run, straddling_sizes()); }

const WrongCases cpu_sums(Backend::cpu, "CPU sum", wrong::cpu_sums(), faults_on(Backend::cpu));
const WrongCases cpu_dots(Backend::cpu, "CPU dot product", wrong::cpu_dots(), faults_on(Backend::cpu));
const WrongCases cpu_series(Backend::cpu, "CPU series", wrong::cpu_series(), faults_on(Backend::cpu));
const WrongCases cpu_scans(Backend::cpu, "CPU prefix sum", wrong::cpu_scans(), faults_on(Backend::cpu));

/// What the wrong ones of a back end are made from.
struct RightCases {
    RightCase sum, dot, series, scan;
    RightCases(Backend backend, const std::string& name, const wrong::Controls& right)
        : sum(backend, name + " sum", right.sum, faults_on(backend)),
          dot(backend, name + " dot product", right.dot, faults_on(backend)),
          series(backend, name + " series", right.series, faults_on(backend)),
          scan(backend, name + " prefix sum", right.scan, faults_on(backend)) {}
};
const RightCases cpu_right(Backend::cpu, "CPU", wrong::cpu_controls());

#if defined(GPULAB_WITH_OPENCL)
const auto opencl_faults = faults_on(Backend::opencl);
const gpulab::Needs fp64 = {.fp64 = true};
const WrongCases opencl_sums(Backend::opencl, "OpenCL sum", wrong::opencl_sums(), opencl_faults);
const WrongCases opencl_minima(Backend::opencl, "OpenCL minimum", wrong::opencl_minima(), minimum_fault);
const WrongCases opencl_doubles(Backend::opencl, "OpenCL sum of doubles", wrong::opencl_double_sums(), opencl_faults,
                                fp64);
const WrongCases opencl_dots(Backend::opencl, "OpenCL dot product", wrong::opencl_dots(), opencl_faults);
const WrongCases opencl_series(Backend::opencl, "OpenCL series", wrong::opencl_series(), opencl_faults);
const WrongCases opencl_scans(Backend::opencl, "OpenCL prefix sum", wrong::opencl_scans(), opencl_faults);
const RightCases opencl_right(Backend::opencl, "OpenCL", wrong::opencl_controls());
const RightCase opencl_right_double(Backend::opencl, "OpenCL sum of doubles", wrong::opencl_controls().double_sum,
                                    opencl_faults, fp64);
const RightCase opencl_right_minimum(Backend::opencl, "OpenCL minimum", wrong::opencl_controls().minimum,
                                     minimum_fault);
#endif

#if defined(GPULAB_WITH_CUDA)
const auto cuda_faults = faults_on(Backend::cuda);
const WrongCases cuda_sums(Backend::cuda, "CUDA sum", wrong::cuda_sums(), cuda_faults);
const WrongCases cuda_minima(Backend::cuda, "CUDA minimum", wrong::cuda_minima(), minimum_fault);
const WrongCases cuda_doubles(Backend::cuda, "CUDA sum of doubles", wrong::cuda_double_sums(), cuda_faults);
const WrongCases cuda_dots(Backend::cuda, "CUDA dot product", wrong::cuda_dots(), cuda_faults);
const WrongCases cuda_series(Backend::cuda, "CUDA series", wrong::cuda_series(), cuda_faults);
const WrongCases cuda_scans(Backend::cuda, "CUDA prefix sum", wrong::cuda_scans(), cuda_faults);
const RightCases cuda_right(Backend::cuda, "CUDA", wrong::cuda_controls());
const RightCase cuda_right_double(Backend::cuda, "CUDA sum of doubles", wrong::cuda_controls().double_sum, cuda_faults);
const RightCase cuda_right_minimum(Backend::cuda, "CUDA minimum", wrong::cuda_controls().minimum, minimum_fault);
#endif

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

TEST_CASE("a variant that does not poison its sum, names no tile or one that no check reads is reported") {
    Scalar<float> sum(1);
    Stopwatch once;
    wrong::cpu_without_poison(make_sum_problem<float>(10, 1), sum, once);
    CHECK(gpulab::testing::manners_fault(Backend::cpu, false, once).starts_with("it does not poison"));
    once.notes_reset();
    CHECK(gpulab::testing::manners_fault(Backend::cpu, false, once) == "");
    CHECK(gpulab::testing::manners_fault(Backend::opencl, true, once) == "");
    CHECK(gpulab::testing::manners_fault(Backend::opencl, false, once).starts_with("it names no tile"));
    once.tile(256);
    CHECK(gpulab::testing::manners_fault(Backend::opencl, false, once) == "");
    once.tile(64, "colums");
    CHECK(gpulab::testing::manners_fault(Backend::cpu, false, once) == "");
    CHECK(gpulab::testing::manners_fault(Backend::opencl, false, once) ==
          "it names a tile of 64 \"colums\"; the checks know only: elements");
    CHECK(gpulab::testing::manners_fault(Backend::cuda, false, once, {"rows", "columns"}) ==
          "it names a tile of 256 \"elements\"; the checks know only: rows, columns");
}

#if defined(GPULAB_WITH_OPENCL)
TEST_CASE("between NaNs an OpenCL minimum that reads past the end looks right", "[opencl]") {
    for (const gpulab::Device& device : gpulab::testing::devices_or_skip(Backend::opencl)) {
        gpulab::use(device);
        for (const auto& wrong : wrong::opencl_minima()) {
            INFO(wrong.name);
            CHECK(first_minimum_fault(wrong.run, straddling_sizes(), gpulab::input_guard_byte) == "");
        }
    }
}

// For oclgrind, which must find a data race in each. One group is enough for that.
TEST_CASE("the OpenCL tree without a barrier before it", "[.oclgrind-before-tree]") {
    run_for_oclgrind("no_barrier_before_tree");
}
TEST_CASE("the OpenCL tree without barriers in it", "[.oclgrind-in-tree]") { run_for_oclgrind("no_barrier_in_tree"); }
TEST_CASE("the OpenCL prefix sum without barriers", "[.oclgrind-scan]") { run_for_oclgrind("no_barrier"); }
#endif

#if defined(GPULAB_WITH_CUDA)
// For compute-sanitizer, which must find each mistake.
TEST_CASE("the CUDA tree with a barrier in its branch", "[.synccheck-in-branch]") {
    run_for_sanitizer(wrong::cuda_barrier_in_branch);
}
TEST_CASE("the CUDA tree without a barrier before it", "[.racecheck-before-tree]") {
    run_for_sanitizer(wrong::cuda_no_barrier_before_tree);
}
#endif
