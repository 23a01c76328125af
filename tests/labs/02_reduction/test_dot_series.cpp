#include <catch2/catch_test_macros.hpp>
#include <numbers>
#include <vector>

#include "checks.hpp"
#include "dot.hpp"
#include "series.hpp"
#if defined(GPULAB_WITH_OPENCL)
#include "opencl/launch.hpp"
#endif

using gpulab::Backend;
using gpulab::Device;
using gpulab::testing::devices_or_skip;
using gpulab::testing::straddling_sizes;
using reduction::Scalar;
using reduction::Series;

namespace {

template <class T> void check_dot(Backend backend, const std::vector<std::size_t>& sizes) {
    int checked = 0;
    for (const Device& device : devices_or_skip(backend)) {
        gpulab::use(device);
        for (const auto& variant : reduction::dot_variants<T>()) {
            if (variant.backend != backend || (variant.needs.fp64 && !device.fp64)) continue;
            INFO(variant.name << " on " << device.name);
            REQUIRE(variant.run != nullptr);
            const auto dot_of = [&](const reduction::DotProblem<T>& p) {
                Scalar<T> dot(1, T{-1});
                gpulab::Stopwatch once;
                variant.run(p, dot, once);
                return dot[0];
            };
            CHECK(dot_of({{}, {}}) == 0);
            CHECK(dot_of({{1, 2, 3}, {4, 5, 6}}) == 32);
            CHECK(dot_of({{1, 2, 3, 4, 5}, {5, -4, 3, -2, 1}}) == 3); // 5 - 8 + 9 - 8 + 5
            CHECK(std::isnan(dot_of({{1, std::numeric_limits<T>::quiet_NaN(), 1}, {1, 1, 1}})));
            CHECK(std::isnan(dot_of({{1, std::numeric_limits<T>::infinity(), 1}, {1, 0, 1}})));
            CHECK(std::isnan(dot_of({{1, 0, 1}, {1, std::numeric_limits<T>::infinity(), 1}})));
            CHECK(std::isnan(dot_of({{1, 0, 1}, {1, std::numeric_limits<T>::quiet_NaN(), 1}})));
            for (const std::size_t at : {0, 1, 2}) {
                constexpr T infinity = std::numeric_limits<T>::infinity();
                std::vector<T> a = {1, 1, 1};
                a[at] = infinity;
                CHECK(dot_of({a, {1, 2, 3}}) == infinity);
                CHECK(dot_of({{1, 2, 3}, a}) == infinity);
            }
            if (backend == Backend::cpu && std::is_same_v<T, float>) // products of more than a float holds
                CHECK(dot_of({{T(1e30), T(1e30)}, {T(1e30), T(-1e30)}}) == 0);
            CHECK(reduction::testing::first_dot_fault(variant.run, backend, sizes) == "");
            ++checked;
        }
    }
    CHECK(checked >= (std::is_same_v<T, float> ? 1 : 0));
}

template <class T> void check_series(Backend backend, const std::vector<std::size_t>& sizes) {
    int checked = 0;
    for (const Device& device : devices_or_skip(backend)) {
        gpulab::use(device);
        for (const auto& variant : reduction::series_variants<T>()) {
            if (variant.backend != backend || (variant.needs.fp64 && !device.fp64)) continue;
            INFO(variant.name << " on " << device.name);
            REQUIRE(variant.run != nullptr);
            CHECK(reduction::testing::first_series_fault(variant.run, backend, sizes) == "");
            ++checked;
        }
    }
    CHECK(checked >= (std::is_same_v<T, float> ? 1 : 0));
}

} // namespace

TEST_CASE("the dot product is right on the CPU", "[cpu]") {
    check_dot<float>(Backend::cpu, straddling_sizes());
    check_dot<double>(Backend::cpu, straddling_sizes());
}
TEST_CASE("the dot product is right on OpenCL devices", "[opencl]") {
    check_dot<float>(Backend::opencl, straddling_sizes());
    check_dot<double>(Backend::opencl, {33, 1025, 100003});
}
TEST_CASE("the dot product is right on CUDA devices", "[cuda]") {
    check_dot<float>(Backend::cuda, straddling_sizes());
    check_dot<double>(Backend::cuda, straddling_sizes());
    check_dot<float>(Backend::cuda, {16'777'259});
}

TEST_CASE("the series are right on the CPU", "[cpu]") {
    check_series<float>(Backend::cpu, {0, 1, 2, 33, 1025, 100003});
    check_series<double>(Backend::cpu, {0, 1, 2, 33, 1025, 100003});
}
TEST_CASE("the series are right on OpenCL devices", "[opencl]") {
    check_series<float>(Backend::opencl, {0, 1, 2, 33, 1025, 100003});
    check_series<double>(Backend::opencl, {1, 33, 100003});
}
TEST_CASE("the series are right on CUDA devices", "[cuda]") {
    check_series<float>(Backend::cuda, {0, 1, 2, 33, 1025, 100003, 1000003});
    check_series<double>(Backend::cuda, {0, 1, 2, 33, 1025, 100003, 1000003});
}

#if defined(GPULAB_WITH_OPENCL)
TEST_CASE("the dot product and the series at small sizes, for oclgrind", "[.oclgrind]") {
    check_dot<float>(Backend::opencl, {33});
    check_dot<double>(Backend::opencl, {33});
    check_series<float>(Backend::opencl, {33});
    check_series<double>(Backend::opencl, {33});
}

TEST_CASE("OpenCL series join any number of groups, and many terms are as exact as few", "[opencl]") {
    for (const Device& device : devices_or_skip(Backend::opencl)) {
        gpulab::use(device);
        reduction::wished_groups = 1000; // more than a group has items
        if (device.fp64)                 // a float's tolerance would hide late terms
            CHECK(reduction::testing::first_series_fault(reduction::opencl_series<double>, Backend::opencl,
                                                         {100'003}) == "");
        reduction::wished_groups = 0;
        // Near x = -1 the terms hardly fall, so that a sign or a power that is a little wrong adds up.
        const reduction::SeriesProblem<float> p{Series::log, -0x1.fffffep-1f, 1u << 25};
        Scalar<float> sum(1);
        gpulab::Stopwatch once;
        reduction::opencl_series<float>(p, sum, once);
        CHECK(reduction::compare(reduction::expected_series(p), sum,
                                 reduction::series_tolerance<float>(Backend::opencl, p.terms))
                  .message == "");
    }
}
#endif
#if defined(GPULAB_WITH_CUDA)
TEST_CASE("the dot product and the series at small sizes, for compute-sanitizer", "[.sanitizer]") {
    check_dot<float>(Backend::cuda, {0, 1, 257, 4097});
    check_series<double>(Backend::cuda, {0, 1, 257, 4097});
}
#endif

TEST_CASE("the terms of the series are those of the book") {
    CHECK(reduction::series_term(Series::pi, 0, 0) == 4);
    CHECK(reduction::series_term(Series::pi, 0, 1) == -4.0 / 3);
    CHECK(reduction::series_term(Series::pi, 0, 2) == 4.0 / 5);
    CHECK(reduction::series_term(Series::log, 0.5, 0) == 0.5);
    CHECK(reduction::series_term(Series::log, 0.5, 1) == -0.125);
    CHECK(reduction::series_term(Series::log, -0.5, 1) == -0.125);
    CHECK(reduction::series_term(Series::log, -0.5, 2) == -0.125 / 3);
}

TEST_CASE("the series come as close to their limits as theory says") {
    // Alternating with falling terms: the rest is smaller than the first term left out.
    const auto pi = reduction::expected_series(reduction::SeriesProblem<double>{Series::pi, 1, 100000});
    CHECK(std::abs(pi.value[0] - std::numbers::pi) < 4.0 / 200001);
    const auto log2 = reduction::expected_series(reduction::SeriesProblem<double>{Series::log, 1, 100000});
    CHECK(std::abs(log2.value[0] - std::numbers::ln2) < 1.0 / 100001);
    const auto log_half = reduction::expected_series(reduction::SeriesProblem<double>{Series::log, -0.5, 60});
    CHECK(std::abs(log_half.value[0] - std::log(0.5)) < 1e-15);
}
