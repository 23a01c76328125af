#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <vector>

#include "checks.hpp"
#include "gpulab/sparse/convert.hpp"
#include "gpulab/sparse/generate.hpp"

using gpulab::Backend;
using gpulab::Device;
using gpulab::testing::devices_or_skip;

namespace {

/// Every variant of a back end, on every device of it that can do T, on all matrices.
template <class T> void check_all(Backend backend, const std::vector<spmv::testing::Case<T>>& cases) {
    int checked = 0, without_double = 0;
    for (const Device& device : devices_or_skip(backend)) {
        if (std::is_same_v<T, double> && !device.fp64) {
            ++without_double;
            continue;
        }
        gpulab::use(device);
        for (const auto& variant : spmv::variants<T>()) {
            if (variant.backend != backend) continue;
            INFO(variant.name << " on " << device.name);
            REQUIRE(variant.run != nullptr);
            CHECK(spmv::testing::first_fault<T>(variant.run, cases) == "");
            ++checked;
        }
    }
    CHECK((checked >= 3 || without_double > 0));
}

/// The lecture's matrix times (1, 2, 3, 4): (8, 22, 5), exact in every arithmetic.
template <class T> void check_by_hand(Backend backend) {
    const spmv::Problem<T> p{gpulab::lecture_example<T>(), {1, 2, 3, 4}};
    for (const Device& device : devices_or_skip(backend)) {
        if (std::is_same_v<T, double> && !device.fp64) continue;
        gpulab::use(device);
        for (const auto& variant : spmv::variants<T>()) {
            if (variant.backend != backend) continue;
            INFO(variant.name << " on " << device.name);
            spmv::Output<T> y(3);
            gpulab::Stopwatch once;
            variant.run(p, y, once);
            CHECK(y == spmv::Output<T>{8, 22, 5});
        }
    }
}

} // namespace

TEMPLATE_TEST_CASE("every CPU variant multiplies the lecture's matrix by hand", "[cpu]", float, double) {
    check_by_hand<TestType>(Backend::cpu);
}
TEMPLATE_TEST_CASE("every OpenCL variant multiplies the lecture's matrix by hand", "[opencl]", float, double) {
    check_by_hand<TestType>(Backend::opencl);
}
TEMPLATE_TEST_CASE("every CUDA variant multiplies the lecture's matrix by hand", "[cuda]", float, double) {
    check_by_hand<TestType>(Backend::cuda);
}

TEMPLATE_TEST_CASE("every CPU variant multiplies matrices of every shape", "[cpu]", float, double) {
    check_all<TestType>(Backend::cpu, spmv::testing::all_cases<TestType>());
}
TEMPLATE_TEST_CASE("every OpenCL variant multiplies matrices of every shape", "[opencl]", float, double) {
    check_all<TestType>(Backend::opencl, spmv::testing::all_cases<TestType>());
}
TEMPLATE_TEST_CASE("every CUDA variant multiplies matrices of every shape", "[cuda]", float, double) {
    check_all<TestType>(Backend::cuda, spmv::testing::all_cases<TestType>());
}

#if defined(GPULAB_WITH_OPENCL)
TEST_CASE("every OpenCL kernel on small matrices, for oclgrind", "[.oclgrind]") {
    check_all<float>(Backend::opencl, spmv::testing::small_cases<float>());
    check_all<double>(Backend::opencl, {{"lecture", gpulab::lecture_example<double>()},
                                        {"two rows of three empty", spmv::testing::mostly_empty<double>(40, 30, 9)}});
}
#endif

TEST_CASE("ELL variants refuse a matrix that would explode, and say why") {
    const spmv::Problem<float> p = spmv::make_problem(spmv::testing::one_dense_row<float>(20011), 1);
    spmv::Output<float> y(p.matrix.rows);
    gpulab::Stopwatch once;
    CHECK_THROWS_AS(spmv::cpu_ell(p, y, once), gpulab::Unsupported);
}

TEST_CASE("the check sees one wrong entry, one missing row and one NaN") {
    const spmv::Problem<float> p = spmv::make_problem(gpulab::laplace_2d<float>(20, 20), 3);
    const auto reference = spmv::make_reference(p);
    spmv::Output<float> y = reference.y;
    REQUIRE(spmv::compare(reference, y).passed);
    SECTION("off by a millionth of the row") { y[7] += 1e-5f; }
    SECTION("unwritten") { y[399] = gpulab::poison_value<float>(); }
    SECTION("zero") { y[0] = 0; }
    CHECK_FALSE(spmv::compare(reference, y).passed);
}
