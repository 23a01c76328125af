// A check is worth what it rejects: every variant here is wrong, and the checks of the right ones must say so.
#include <catch2/catch_test_macros.hpp>
#include <string>
#include <string_view>

#include "checks.hpp"
#include "wrong_tridiagonal.hpp"

using gpulab::Backend;
using gpulab::testing::Faults;
using gpulab::testing::RightCase;
using gpulab::testing::WrongCases;
using tridiagonal::Run;

namespace {

/// What the checks of the right variants find.
std::string fault_of(Backend backend, Run<double>* run) {
    static const tridiagonal::testing::Extent extent{{{1, 1},
                                                      {2, 3},
                                                      {3, 4},
                                                      {5, 4},
                                                      {8, 1},
                                                      {9, 5},
                                                      {31, 2},
                                                      {32, 3},
                                                      {33, 2},
                                                      {64, 5},
                                                      {65, 3},
                                                      {100, 4},
                                                      {128, 2},
                                                      {200, 2}},
                                                     {{1, 3}, {5, 4}, {20, 5}, {33, 3}, {64, 3}},
                                                     200};
    Faults faults;
    tridiagonal::testing::check_variant<double>({"under test", "", backend, run}, faults, extent);
    REQUIRE(faults.text().find("it threw") == std::string::npos); // that is no rejection
    REQUIRE(faults.text().find("it refuses") == std::string::npos);
    return faults.text().empty() ? "" : faults.text().substr(2); // without the indent
}

template <Backend backend> std::string fault_on(Run<double>* run) { return fault_of(backend, run); }

const WrongCases cpu(Backend::cpu, "CPU variant", tridiagonal::wrong::cpu_variants(), fault_on<Backend::cpu>);
const RightCase cpu_right(Backend::cpu, "CPU variant", tridiagonal::wrong::cpu_right, fault_on<Backend::cpu>);
#if defined(GPULAB_WITH_OPENCL)
const WrongCases opencl(Backend::opencl, "OpenCL kernel", tridiagonal::wrong::opencl_variants(),
                        fault_on<Backend::opencl>, {.fp64 = true});
const RightCase opencl_right(Backend::opencl, "OpenCL kernel", tridiagonal::wrong::opencl_right,
                             fault_on<Backend::opencl>, {.fp64 = true});
#endif
#if defined(GPULAB_WITH_CUDA)
const WrongCases cuda(Backend::cuda, "CUDA kernel", tridiagonal::wrong::cuda_variants(), fault_on<Backend::cuda>);
const RightCase cuda_right(Backend::cuda, "CUDA kernel", tridiagonal::wrong::cuda_right, fault_on<Backend::cuda>);
#endif

/// Runs one that a device may forgive, for a tool to reject: three systems, the last warp or group ragged.
template <class Table> void run_one(Backend backend, const Table& table, std::string_view name) {
    gpulab::use(gpulab::testing::devices_or_skip(backend).front());
    const auto p = tridiagonal::testing::whole_numbers<double>(70, 3);
    tridiagonal::Output<double> out(p.n, p.systems);
    gpulab::Stopwatch once;
    gpulab::testing::wrong_named(table, name).run(p, out, once);
    SUCCEED("it ran");
}

} // namespace

#if defined(GPULAB_WITH_OPENCL)
// PoCL forgives these: oclgrind must report them.
TEST_CASE("no_barrier runs, for oclgrind to reject", "[.no_barrier]") {
    run_one(Backend::opencl, tridiagonal::wrong::opencl_variants(), "no_barrier");
}
TEST_CASE("barrier_in_branch runs, for oclgrind to reject", "[.barrier_in_branch]") {
    run_one(Backend::opencl, tridiagonal::wrong::opencl_variants(), "barrier_in_branch");
}
#endif

#if defined(GPULAB_WITH_CUDA)
// A GPU may forgive these: compute-sanitizer must report them.
TEST_CASE("no_barrier runs, for racecheck to reject", "[.no_cuda_barrier]") {
    run_one(Backend::cuda, tridiagonal::wrong::cuda_variants(), "no_barrier");
}
TEST_CASE("no_syncwarp runs, for racecheck to reject", "[.no_syncwarp]") {
    run_one(Backend::cuda, tridiagonal::wrong::cuda_variants(), "no_syncwarp");
}
TEST_CASE("reads_outside runs, for memcheck to reject", "[.reads_outside]") {
    run_one(Backend::cuda, tridiagonal::wrong::cuda_variants(), "reads_outside");
}
#endif
