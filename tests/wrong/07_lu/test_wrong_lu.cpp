// A check is worth what it rejects: every factorisation here is wrong, and the checks of the right ones must say so.
#include <catch2/catch_test_macros.hpp>

#include "checks.hpp"
#include "solve_checks.hpp"
#include "wrong_lu.hpp"

using gpulab::Backend;
using gpulab::testing::RightCase;
using gpulab::testing::WrongCases;

namespace {

template <Backend backend, bool pivoting> std::string fault_on(lu::Run* run) {
    return lu::testing::first_fault({run, backend, pivoting, false, backend == Backend::cuda});
}

std::string solver_fault(lu::SolveRun* run) { return lu::testing::first_fault({run, Backend::cpu}); }

/// One factorisation, for a tool to watch. Its own report, not the result, is the proof.
[[maybe_unused]] void run_once(Backend backend, std::span<const lu::wrong::WrongVariant> table, std::string_view name,
                               bool pivoting) {
    const auto& wrong = gpulab::testing::wrong_named(table, name);
    for (const gpulab::Device& device : gpulab::testing::devices_or_skip(backend)) {
        gpulab::use(device);
        const auto p = lu::testing::random_problem(37, pivoting);
        lu::Factors f(p.n);
        gpulab::Stopwatch once;
        try {
            wrong.run(p, f, once);
        } catch (const lu::Singular&) {
        }
        CHECK(once.kernel().repeats == 1);
    }
}

const WrongCases cpu_plain(Backend::cpu, "CPU elimination", lu::wrong::cpu_plain(), fault_on<Backend::cpu, false>);
const WrongCases cpu_pivoting(Backend::cpu, "CPU pivoting", lu::wrong::cpu_pivoting(), fault_on<Backend::cpu, true>);
const WrongCases cpu_solvers(Backend::cpu, "CPU solver", lu::wrong::cpu_solvers(), solver_fault);
const RightCase cpu_right(Backend::cpu, "CPU elimination", lu::wrong::cpu_right, fault_on<Backend::cpu, false>);
const RightCase cpu_right_pivot(Backend::cpu, "CPU pivoting", lu::wrong::cpu_right_pivot, fault_on<Backend::cpu, true>);
const RightCase cpu_right_solver(Backend::cpu, "CPU solver", lu::wrong::cpu_right_solver, solver_fault);
#if defined(GPULAB_WITH_OPENCL)
constexpr gpulab::Needs fp64{.fp64 = true};
const WrongCases opencl(Backend::opencl, "OpenCL kernel", lu::wrong::opencl_pivoting(), fault_on<Backend::opencl, true>,
                        fp64);
const WrongCases opencl_blocked(Backend::opencl, "OpenCL kernel in blocks", lu::wrong::opencl_blocked(),
                                fault_on<Backend::opencl, true>, fp64);
const RightCase opencl_right(Backend::opencl, "OpenCL kernel", lu::wrong::opencl_right_pivot,
                             fault_on<Backend::opencl, true>, fp64);
const RightCase opencl_right_blocked(Backend::opencl, "OpenCL kernel in blocks", lu::wrong::opencl_right_blocked,
                                     fault_on<Backend::opencl, true>, fp64);
#endif
#if defined(GPULAB_WITH_CUDA)
const WrongCases cuda_plain(Backend::cuda, "CUDA elimination", lu::wrong::cuda_plain(), fault_on<Backend::cuda, false>);
const WrongCases cuda_pivoting(Backend::cuda, "CUDA pivoting", lu::wrong::cuda_pivoting(),
                               fault_on<Backend::cuda, true>);
const WrongCases cuda_blocked(Backend::cuda, "CUDA in blocks", lu::wrong::cuda_blocked(),
                              fault_on<Backend::cuda, true>);
const RightCase cuda_right(Backend::cuda, "CUDA elimination", lu::wrong::cuda_right, fault_on<Backend::cuda, false>);
const RightCase cuda_right_pivot(Backend::cuda, "CUDA pivoting", lu::wrong::cuda_right_pivot,
                                 fault_on<Backend::cuda, true>);
const RightCase cuda_right_blocked(Backend::cuda, "CUDA in blocks", lu::wrong::cuda_right_blocked,
                                   fault_on<Backend::cuda, true>);
#endif

} // namespace

#if defined(GPULAB_WITH_OPENCL)
TEST_CASE("a barrier missing in the search, for oclgrind", "[.no_barrier_pivot]") {
    run_once(Backend::opencl, lu::wrong::opencl_pivoting(), "no_barrier", true);
}
TEST_CASE("a row read below the last, for oclgrind", "[.reads_a_row_too_many_pivot]") {
    run_once(Backend::opencl, lu::wrong::opencl_pivoting(), "reads_a_row_too_many", true);
}
#endif

#if defined(GPULAB_WITH_CUDA)
TEST_CASE("a barrier missing in the search, for racecheck", "[.cuda_no_barrier_pivot]") {
    run_once(Backend::cuda, lu::wrong::cuda_pivoting(), "no_barrier", true);
}
TEST_CASE("a pivot read before it is there, for racecheck", "[.cuda_no_pivot_barrier]") {
    run_once(Backend::cuda, lu::wrong::cuda_plain(), "no_pivot_barrier", false);
}
#endif
