// A check is worth what it rejects: every variant here is wrong, and the checks of the right ones must say so.
#include <catch2/catch_test_macros.hpp>
#include <string>
#include <string_view>

#include "checks.hpp"
#include "wrong_spmv.hpp"

using gpulab::Backend;
using gpulab::testing::Faults;
using gpulab::testing::RightCase;
using gpulab::testing::WrongCases;
using spmv::testing::Extent;

namespace {

/// What the checks of the right variants find.
template <class T> std::string fault_of(Backend backend, spmv::Run<T>* run) {
    static const Extent<T> extent{spmv::testing::small_cases<T>(), {2, 33}, 600};
    Faults faults;
    spmv::testing::check_variant<T>({"under test", "", backend, run}, faults, extent);
    REQUIRE(faults.text().find("it threw") == std::string::npos); // that is no rejection
    return faults.text().empty() ? "" : faults.text().substr(2);  // without the indent
}

template <class T, Backend backend> std::string fault_on(spmv::Run<T>* run) { return fault_of<T>(backend, run); }

/// The same for entries in any order.
std::string coo_fault(spmv::RunCoo<float>* run) {
    return spmv::testing::first_coo_fault<float>(run, spmv::testing::small_cases<float>());
}

const WrongCases cpu(Backend::cpu, "CPU variant", spmv::wrong::cpu_variants(), fault_on<float, Backend::cpu>);
const RightCase cpu_right(Backend::cpu, "CPU variant", spmv::wrong::cpu_right, fault_on<float, Backend::cpu>);
#if defined(GPULAB_WITH_OPENCL)
const WrongCases opencl(Backend::opencl, "OpenCL kernel", spmv::wrong::opencl_variants(),
                        fault_on<float, Backend::opencl>);
const WrongCases opencl_double(Backend::opencl, "OpenCL kernel in double", spmv::wrong::opencl_double_variants(),
                               fault_on<double, Backend::opencl>, {.fp64 = true});
const WrongCases opencl_coo(Backend::opencl, "OpenCL product of COO", spmv::wrong::opencl_coo_variants(), coo_fault);
const RightCase opencl_right(Backend::opencl, "OpenCL kernel", spmv::wrong::opencl_right,
                             fault_on<float, Backend::opencl>);
#endif
#if defined(GPULAB_WITH_CUDA)
const WrongCases cuda(Backend::cuda, "CUDA kernel", spmv::wrong::cuda_variants(), fault_on<float, Backend::cuda>);
const WrongCases cuda_double(Backend::cuda, "CUDA kernel in double", spmv::wrong::cuda_double_variants(),
                             fault_on<double, Backend::cuda>);
const WrongCases cuda_coo(Backend::cuda, "CUDA product of COO", spmv::wrong::cuda_coo_variants(), coo_fault);
const RightCase cuda_right(Backend::cuda, "CUDA kernel", spmv::wrong::cuda_right, fault_on<float, Backend::cuda>);
#endif

/// Runs one that a device may forgive, for a tool to reject: five rows, the last block or group ragged.
template <class Table> void run_one(Backend backend, const Table& table, std::string_view name) {
    gpulab::use(gpulab::testing::devices_or_skip(backend).front());
    const auto p = spmv::make_problem(gpulab::banded<float>(101, 2, gpulab::testing::seed), gpulab::testing::seed);
    int ran = 0;
    for (const auto& wrong : table) {
        if (wrong.name != name) continue;
        REQUIRE(wrong.forgiven == gpulab::testing::Forgiven::by_all);
        spmv::Output<float> y(p.matrix.rows);
        gpulab::Stopwatch once;
        wrong.run(p, y, once);
        ++ran;
    }
    CHECK(ran == 1);
}

} // namespace

#if defined(GPULAB_WITH_OPENCL)
// PoCL forgives these: oclgrind must report them.
TEST_CASE("no_first_barrier runs, for oclgrind to reject", "[.no_first_barrier]") {
    run_one(Backend::opencl, spmv::wrong::opencl_variants(), "no_first_barrier");
}
TEST_CASE("barrier_in_branch runs, for oclgrind to reject", "[.barrier_in_branch]") {
    run_one(Backend::opencl, spmv::wrong::opencl_variants(), "barrier_in_branch");
}
#endif

#if defined(GPULAB_WITH_CUDA)
// A GPU forgives these: compute-sanitizer must report them.
TEST_CASE("not_cleared_in_time runs, for racecheck to reject", "[.not_cleared_in_time]") {
    run_one(Backend::cuda, spmv::wrong::cuda_variants(), "not_cleared_in_time");
}
TEST_CASE("reads_outside runs, for memcheck to reject", "[.reads_outside]") {
    run_one(Backend::cuda, spmv::wrong::cuda_variants(), "reads_outside");
}
TEST_CASE("reads_unset runs, for initcheck to reject", "[.reads_unset]") {
    run_one(Backend::cuda, spmv::wrong::cuda_variants(), "reads_unset");
}
#endif
