// A check is worth what it rejects: every kernel here is wrong, and the check of the right ones must say so.
#include <catch2/catch_test_macros.hpp>
#include <cstdlib>

#include "checks.hpp"
#include "wrong_spmv.hpp"

using gpulab::Backend;

namespace {

/// Every variant of a table, on every device of a back end, must be rejected by the check of the right ones.
/// @param check `check(run, cases)`: first_fault or first_coo_fault
template <class T, class R>
void reject_all(Backend backend, std::span<const spmv::wrong::WrongVariant<R>> table,
                std::string (*check)(R*, const std::vector<spmv::testing::Case<T>>&)) {
    REQUIRE(table.size() >= 1);
    const auto cases = spmv::testing::small_cases<T>();
    for (const gpulab::Device& device : gpulab::testing::devices_or_skip(backend)) {
        if (std::is_same_v<T, double> && !device.fp64) continue;
        gpulab::use(device);
        for (const auto& wrong : table) {
            if (wrong.needs_tool) continue; // see the oclgrind tests
            INFO(wrong.name << " (" << wrong.mistake << ") on " << device.name);
            std::string fault; // an exception other than the check's own is no rejection: it fails the test
            REQUIRE_NOTHROW(fault = check(wrong.run, cases));
            CHECK(fault != "");
        }
        // The device still works, so none was rejected because another had broken it.
        for (const auto& right : spmv::variants<T>())
            if (right.backend == backend && right.name.ends_with("thread_per_row"))
                CHECK(spmv::testing::first_fault<T>(right.run, cases) == "");
    }
}

} // namespace

#if defined(GPULAB_WITH_OPENCL)
TEST_CASE("every wrong OpenCL kernel is rejected", "[opencl]") {
    REQUIRE(spmv::wrong::opencl_variants().size() >= 10);
    reject_all<float>(Backend::opencl, spmv::wrong::opencl_variants(), spmv::testing::first_fault<float>);
    reject_all<double>(Backend::opencl, spmv::wrong::opencl_double_variants(), spmv::testing::first_fault<double>);
    reject_all<float>(Backend::opencl, spmv::wrong::opencl_coo_variants(), spmv::testing::first_coo_fault<float>);
}

// PoCL forgives these two, so oclgrind must see them: ctest runs this case for each, and a clean log fails.
TEST_CASE("the wrong OpenCL kernel named in GPULAB_WRONG_KERNEL runs, for oclgrind to reject", "[.oclgrind]") {
    const char* const name = std::getenv("GPULAB_WRONG_KERNEL");
    REQUIRE(name != nullptr);
    gpulab::use(gpulab::testing::devices_or_skip(Backend::opencl).front());
    int ran = 0;
    for (const auto& wrong : spmv::wrong::opencl_variants()) {
        if (wrong.name != name) continue;
        const auto p = spmv::make_problem(gpulab::banded<float>(5, 2, gpulab::testing::seed), gpulab::testing::seed);
        spmv::Output<float> y(p.matrix.rows);
        gpulab::Stopwatch once;
        wrong.run(p, y, once);
        ++ran;
    }
    CHECK(ran == 1);
}
#endif

#if defined(GPULAB_WITH_CUDA)
TEST_CASE("every wrong CUDA kernel is rejected", "[cuda]") {
    REQUIRE(spmv::wrong::cuda_variants().size() >= 10);
    reject_all<float>(Backend::cuda, spmv::wrong::cuda_variants(), spmv::testing::first_fault<float>);
    reject_all<double>(Backend::cuda, spmv::wrong::cuda_double_variants(), spmv::testing::first_fault<double>);
    reject_all<float>(Backend::cuda, spmv::wrong::cuda_coo_variants(), spmv::testing::first_coo_fault<float>);
}
#endif
