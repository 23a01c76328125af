#include <catch2/catch_test_macros.hpp>

#include "checks.hpp"
#include "gpulab_testing/wrong.hpp"
#include "wrong_cg.hpp"

using gpulab::Backend;
using gpulab::testing::RightCase;
using gpulab::testing::WrongCases;
namespace wrong = cg::wrong;

namespace {

/// What the checks of the right variants find, beginning with the name of the check; "" when they accept it.
std::string fault(cg::Run<double>* run) {
    const auto named = [](const char* check, const std::string& found) {
        return found.empty() ? "" : std::string(check) + ": " + found;
    };
    std::string found = named("two equations by hand", cg::testing::fault_by_hand<double>(run));
    if (found.empty()) found = named("whole numbers", cg::testing::whole_fault<double>(run, {1, 2, 33, 129, 1000}));
    if (found.empty())
        found =
            named("every kind of system", cg::testing::first_fault<double>(run, cg::testing::all_systems<double>()));
    if (found.empty()) found = named("its end", cg::testing::ending_fault<double>(run));
    if (found.empty()) found = named("several parts", cg::testing::parts_fault<double>(run, {2, 7}));
    return found;
}

/// Runs a wrong variant once, for a tool that must report it.
template <class Table> void run_once(Backend backend, const Table& table, std::string_view name) {
    const auto& wrong = gpulab::testing::wrong_named(table, name);
    for (const auto& device : gpulab::testing::devices_or_skip(backend)) {
        gpulab::use(device);
        const auto c = cg::testing::generated<double>("laplace2d:9x8", cg::testing::settings(0, 2));
        cg::Output<double> out;
        out.x.resize(c.problem.n());
        cg::Stopwatch once;
        REQUIRE_NOTHROW(wrong.run(c.problem, out, once));
    }
}

const WrongCases cpu(Backend::cpu, "CPU solver", wrong::cpu_variants(), fault);
const RightCase cpu_right(Backend::cpu, "CPU solver", wrong::cpu_right, fault);
#if defined(GPULAB_WITH_OPENCL)
const WrongCases opencl(Backend::opencl, "OpenCL solver", wrong::opencl_variants(), fault, {.fp64 = true});
const RightCase opencl_right(Backend::opencl, "OpenCL solver", wrong::opencl_right, fault, {.fp64 = true});
#endif
#if defined(GPULAB_WITH_CUDA)
const WrongCases cuda(Backend::cuda, "CUDA solver", wrong::cuda_variants(), fault);
const RightCase cuda_right(Backend::cuda, "CUDA solver", wrong::cuda_right, fault);
#endif

} // namespace

#if defined(GPULAB_WITH_OPENCL)
TEST_CASE("the missing barrier, for oclgrind", "[.no_barrier]") {
    run_once(Backend::opencl, wrong::opencl_variants(), "no_barrier");
}
TEST_CASE("an offset behind the last, for oclgrind", "[.offset_too_many]") {
    run_once(Backend::opencl, wrong::opencl_variants(), "offset_too_many");
}
#endif
