// A check is worth what it rejects: every kernel here is wrong, and the check of the right ones must say so.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>

#include "checks.hpp"
#include "large.hpp"
#include "wrong_matmul.hpp"

using gpulab::Backend;
using gpulab::testing::RightCase;
using gpulab::testing::WrongCases;
using matmul::testing::Rung;

namespace {

/// What the first check that rejects a variant is called, and what it found; "" when all accept it.
std::string fault_of(Rung<float> rung) {
    for (const auto& check : matmul::testing::checks<float>())
        if (const std::string fault = check.fault(rung); !fault.empty()) return std::string(check.name) + ": " + fault;
    return "";
}

/// For those that are right for small matrices, and differ from the right one in nothing else.
[[maybe_unused]] std::string fault_of_shapes(matmul::Run<float>* run) {
    return matmul::testing::first_fault<float>(run, matmul::testing::shapes());
}

template <Backend backend> std::string fault_on(matmul::Run<float>* run) { return fault_of({run, backend}); }

/// One product of more than two tiles on each side, for a tool to watch. Its own report, not the result, is the proof.
[[maybe_unused]] void run_once(Backend backend, std::span<const matmul::wrong::WrongVariant> table,
                               std::string_view name) {
    for (const gpulab::Device& device : gpulab::testing::devices_or_skip(backend)) {
        gpulab::use(device);
        int met = 0;
        for (const auto& wrong : table) {
            if (wrong.name != name) continue;
            const auto p = matmul::make_problem<float>(15, 83, 20, gpulab::testing::seed);
            matmul::Output<float> c(p.size());
            gpulab::Stopwatch once;
            REQUIRE_NOTHROW(wrong.run(p, c, once));
            ++met;
        }
        CHECK(met == 1);
    }
}

const WrongCases cpu(Backend::cpu, "CPU variant", matmul::wrong::cpu_variants(), fault_on<Backend::cpu>);
const RightCase cpu_right(Backend::cpu, "CPU variant", matmul::wrong::cpu_right, fault_on<Backend::cpu>);
#if defined(GPULAB_WITH_OPENCL)
const WrongCases opencl(Backend::opencl, "OpenCL kernel", matmul::wrong::opencl_variants(), fault_on<Backend::opencl>);
const RightCase opencl_right(Backend::opencl, "OpenCL kernel", matmul::wrong::opencl_right, fault_on<Backend::opencl>);
#endif
#if defined(GPULAB_WITH_CUDA)
const WrongCases cuda(Backend::cuda, "CUDA kernel", matmul::wrong::cuda_variants(), fault_on<Backend::cuda>);
const WrongCases cuda_indices(Backend::cuda, "CUDA index", matmul::wrong::cuda_indices(), fault_of_shapes);
const RightCase cuda_right(Backend::cuda, "CUDA kernel", matmul::wrong::cuda_right, fault_on<Backend::cuda>);
const RightCase cuda_pipeline(Backend::cuda, "CUDA pipeline", matmul::wrong::cuda_right_pipeline,
                              fault_on<Backend::cuda>);
#endif

} // namespace

#if defined(GPULAB_WITH_OPENCL)
TEST_CASE("the missing first barrier, for oclgrind", "[.no_first_barrier]") {
    run_once(Backend::opencl, matmul::wrong::opencl_variants(), "no_first_barrier");
}
TEST_CASE("the missing second barrier, for oclgrind", "[.no_second_barrier]") {
    run_once(Backend::opencl, matmul::wrong::opencl_variants(), "no_second_barrier");
}
TEST_CASE("four columns beyond the last row, for oclgrind", "[.reads_columns_too_many]") {
    run_once(Backend::opencl, matmul::wrong::opencl_variants(), "reads_columns_too_many");
}
#endif

#if defined(GPULAB_WITH_CUDA)
TEST_CASE("the missing second barrier, for racecheck", "[.cuda_no_second_barrier]") {
    run_once(Backend::cuda, matmul::wrong::cuda_variants(), "no_second_barrier");
}
TEST_CASE("a pipeline that waits for one group less, for racecheck", "[.cuda_waits_one_less]") {
    run_once(Backend::cuda, matmul::wrong::cuda_variants(), "waits_one_less");
}
TEST_CASE("four columns beyond the last row, for memcheck", "[.cuda_reads_columns_too_many]") {
    run_once(Backend::cuda, matmul::wrong::cuda_variants(), "reads_columns_too_many");
}

TEST_CASE("CUDA kernels with a 32-bit index are rejected for larger matrices", "[cuda][large]") {
    using matmul::testing::Large;
    const auto table = matmul::wrong::cuda_indices();
    for (const auto& [device, elements] : gpulab::testing::large_devices_or_skip(Backend::cuda, 2, 2)) {
        gpulab::use(device);
        int met = 0;
        for (const auto& [matrix, names] :
             {std::pair{Large::a, "a_"}, std::pair{Large::b, "b_"}, std::pair{Large::c, "c_"}}) {
            const auto p = matmul::testing::large_problem(matrix, elements, false);
            matmul::Output<float> c(p.size());
            for (const auto& wrong : table) {
                if (!wrong.name.starts_with(names)) continue;
                INFO(wrong.name << " (" << wrong.mistake << ") on " << device.name);
                ++met;
                if (elements < wrong.right_up_to) continue;
                std::string fault;
                REQUIRE_NOTHROW(fault = matmul::testing::large_fault(wrong.run, p, matrix, c));
                CHECK(fault != "");
            }
        }
        CHECK(met == 6);
        CHECK(met == std::ssize(table));
    }
}
#endif
