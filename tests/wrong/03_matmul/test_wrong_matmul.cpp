// A check is worth what it rejects: every kernel here is wrong, and the check of the right ones must say so.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>

#include "checks.hpp"
#include "large.hpp"
#include "wrong_matmul.hpp"

using gpulab::Backend;
using matmul::testing::first_fault;

namespace {

void reject_all(Backend backend, std::span<const matmul::wrong::WrongVariant> table) {
    REQUIRE(table.size() >= 6);
    for (const gpulab::Device& device : gpulab::testing::devices_or_skip(backend)) {
        gpulab::use(device);
        for (const auto& wrong : table) {
            if (wrong.race && device.backend == Backend::opencl) continue; // proven under oclgrind, below
            if (wrong.right_up_to > 0) continue;                           // and these by the last test case
            INFO(wrong.name << " (" << wrong.mistake << ") on " << device.name);
            std::string fault; // an exception other than the check's own is no rejection: it fails the test
            REQUIRE_NOTHROW(fault = first_fault<float>(wrong.run, matmul::testing::shapes()));
            CHECK(fault != "");
        }
        // The device still works, so none was rejected because another had broken it.
        for (const auto& right : matmul::variants<float>())
            if (right.backend == backend) CHECK(first_fault<float>(right.run, {{33, 31, 20}, {16, 16, 16}}) == "");
    }
}

} // namespace

#if defined(GPULAB_WITH_OPENCL)
namespace {

/// One product of two tiles' depth, for oclgrind to watch. Its own report, not the result, is the proof.
void run_once(std::string_view name) {
    for (const gpulab::Device& device : gpulab::testing::devices_or_skip(Backend::opencl)) {
        gpulab::use(device);
        for (const auto& wrong : matmul::wrong::opencl_variants()) {
            if (wrong.name != name) continue;
            const auto p = matmul::make_problem<float>(15, 32, 16, gpulab::testing::seed);
            matmul::Output<float> c(p.size());
            gpulab::Stopwatch once;
            REQUIRE_NOTHROW(wrong.run(p, c, once));
        }
    }
}

} // namespace

TEST_CASE("every wrong OpenCL kernel is rejected", "[opencl]") {
    reject_all(Backend::opencl, matmul::wrong::opencl_variants());
}
TEST_CASE("the missing first barrier, for oclgrind", "[.first_barrier]") { run_once("no_first_barrier"); }
TEST_CASE("the missing second barrier, for oclgrind", "[.second_barrier]") { run_once("no_second_barrier"); }
#endif

#if defined(GPULAB_WITH_CUDA)
TEST_CASE("every wrong CUDA kernel is rejected", "[cuda]") {
    reject_all(Backend::cuda, matmul::wrong::cuda_variants());
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
                CHECK(first_fault<float>(wrong.run, matmul::testing::shapes()) == "");
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
