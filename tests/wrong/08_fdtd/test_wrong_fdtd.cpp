// A check is worth what it rejects: every kernel here is wrong, and the checks of the right ones must say so.
#include <catch2/catch_test_macros.hpp>

#include "checks.hpp"
#include "wrong_fdtd.hpp"

using gpulab::Backend;
using gpulab::testing::RightCase;
using gpulab::testing::WrongCases;
using namespace fdtd;

namespace {

/// What the first check that rejects a variant is called, and what it found; "" when all accept it.
template <Backend backend> std::string fault_on(Run<double>* run) {
    fdtd::testing::Rung<double> rung{run, backend};
    for (const auto& check : fdtd::testing::checks<double>())
        if (const std::string fault = check.fault(rung); !fault.empty()) return std::string(check.name) + ": " + fault;
    return "";
}

/// One small problem, for a tool to watch. Its own report, not the result, is the proof.
[[maybe_unused]] void run_once(Backend backend, std::span<const wrong::WrongVariant> table, std::string_view name) {
    const auto& wrong = gpulab::testing::wrong_named(table, name);
    for (const gpulab::Device& device : gpulab::testing::devices_or_skip(backend)) {
        gpulab::use(device);
        const auto e = fdtd::testing::example<double>(fdtd::testing::Kind::plain, Mode::te, 17, 14, 2);
        Output<double> out = make_output(e.problem);
        Stopwatch once;
        REQUIRE_NOTHROW(wrong.run(e.problem, out, once));
    }
}

const WrongCases cpu(Backend::cpu, "CPU variant", wrong::cpu_variants(), fault_on<Backend::cpu>);
const RightCase cpu_right(Backend::cpu, "CPU variant", wrong::cpu_right, fault_on<Backend::cpu>);
#if defined(GPULAB_WITH_OPENCL)
const WrongCases opencl(Backend::opencl, "OpenCL kernel", wrong::opencl_variants(), fault_on<Backend::opencl>);
const RightCase opencl_right(Backend::opencl, "OpenCL kernel", wrong::opencl_right, fault_on<Backend::opencl>);
#endif
#if defined(GPULAB_WITH_CUDA)
const WrongCases cuda(Backend::cuda, "CUDA kernel", wrong::cuda_variants(), fault_on<Backend::cuda>);
const RightCase cuda_right(Backend::cuda, "CUDA kernel", wrong::cuda_right, fault_on<Backend::cuda>);
const RightCase cuda_two_steps(Backend::cuda, "CUDA tile of two steps", wrong::cuda_right_two_steps,
                               fault_on<Backend::cuda>);
#endif

} // namespace

#if defined(GPULAB_WITH_OPENCL)
TEST_CASE("the missing barrier, for oclgrind", "[.no_barrier]") {
    run_once(Backend::opencl, wrong::opencl_variants(), "no_barrier");
}
TEST_CASE("a row of P beyond the array, for oclgrind", "[.reads_past_end]") {
    run_once(Backend::opencl, wrong::opencl_variants(), "reads_past_end");
}
#endif
#if defined(GPULAB_WITH_CUDA)
TEST_CASE("the missing barrier, for racecheck", "[.cuda_no_barrier]") {
    run_once(Backend::cuda, wrong::cuda_variants(), "no_barrier");
}
#endif
