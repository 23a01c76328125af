// A check is worth what it rejects: every kernel here is wrong, and the check of the right ones must say so.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>

#include "checks.hpp"
#include "large.hpp"
#include "wrong_matmul.hpp"

using gpulab::Backend;
using matmul::testing::Rung;

namespace {

/// The name of the first check that rejects a variant; "" when all accept it.
std::string rejected_by(Rung<float> rung) {
    for (const auto& check : matmul::testing::checks<float>())
        if (!check.fault(rung).empty()) return std::string(check.name);
    return "";
}

void reject_all(Backend backend, std::span<const matmul::wrong::WrongVariant> table,
                const std::vector<matmul::Run<float>*>& right) {
    REQUIRE(table.size() >= 6);
    for (const gpulab::Device& device : gpulab::testing::devices_or_skip(backend)) {
        gpulab::use(device);
        for (const auto& wrong : table) {
            if (wrong.needs_tool || wrong.right_up_to > 0) continue; // by other tests
            INFO(wrong.name << " (" << wrong.mistake << ") on " << device.name);
            std::string check; // an exception other than the check's own is no rejection: it fails the test
            REQUIRE_NOTHROW(check = rejected_by({wrong.run, backend}));
            CHECK(check != "");
            if (wrong.seen_by != "") CHECK(check == wrong.seen_by);
        }
        // The device still works, and the checks accept what is right: none was rejected for another reason.
        for (matmul::Run<float>* run : right) CHECK(rejected_by({run, backend}) == "");
    }
}

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

} // namespace

TEST_CASE("every wrong CPU variant is rejected", "[cpu]") {
    reject_all(Backend::cpu, matmul::wrong::cpu_variants(), {matmul::wrong::cpu_right});
}

#if defined(GPULAB_WITH_OPENCL)
TEST_CASE("every wrong OpenCL kernel is rejected", "[opencl]") {
    reject_all(Backend::opencl, matmul::wrong::opencl_variants(), {matmul::wrong::opencl_right});
}
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
TEST_CASE("every wrong CUDA kernel is rejected", "[cuda]") {
    reject_all(Backend::cuda, matmul::wrong::cuda_variants(),
               {matmul::wrong::cuda_right, matmul::wrong::cuda_right_pipeline});
}
TEST_CASE("the missing second barrier, for racecheck", "[.cuda_no_second_barrier]") {
    run_once(Backend::cuda, matmul::wrong::cuda_variants(), "no_second_barrier");
}
TEST_CASE("a pipeline that waits one group less, for racecheck", "[.cuda_waits_one_less]") {
    run_once(Backend::cuda, matmul::wrong::cuda_variants(), "waits_one_less");
}
TEST_CASE("four columns beyond the last row, for memcheck", "[.cuda_reads_columns_too_many]") {
    run_once(Backend::cuda, matmul::wrong::cuda_variants(), "reads_columns_too_many");
}

TEST_CASE("an index of 32 bits is accepted for small matrices and rejected for large ones", "[cuda][large]") {
    using matmul::testing::Large;
    const auto table = matmul::wrong::cuda_variants();
    for (const auto& [device, elements] : gpulab::testing::large_devices_or_skip(Backend::cuda, 2, 2)) {
        gpulab::use(device);
        int met = 0;
        for (const auto& [matrix, names] : {std::pair{Large::a, "index_of_a_"}, std::pair{Large::b, "index_of_b_"},
                                            std::pair{Large::c, "index_of_c_"}}) {
            const auto p = matmul::testing::large_problem(matrix, elements, false);
            matmul::Output<float> c(p.size());
            for (const auto& wrong : table) {
                if (!wrong.name.starts_with(names)) continue;
                INFO(wrong.name << " (" << wrong.mistake << ") on " << device.name);
                CHECK(rejected_by({wrong.run, Backend::cuda}) == "");
                ++met;
                if (elements < wrong.right_up_to) continue;
                std::string fault;
                REQUIRE_NOTHROW(fault = matmul::testing::large_fault(wrong.run, p, matrix, c));
                CHECK(fault != "");
            }
        }
        CHECK(met == 6);
        CHECK(met == std::ranges::count_if(table, [](const auto& wrong) { return wrong.right_up_to > 0; }));
    }
}
#endif
