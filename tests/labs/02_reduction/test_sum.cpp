#include <catch2/catch_test_macros.hpp>
#include <vector>

#include "checks.hpp"
#include "compensated.hpp"
#if defined(GPULAB_WITH_OPENCL)
#include "opencl/launch.hpp"
#endif

using gpulab::Backend;
using gpulab::Device;
using gpulab::testing::devices_or_skip;
using gpulab::testing::small_sizes;
using gpulab::testing::straddling_sizes;
using reduction::Scalar;
using reduction::SumProblem;

namespace {

constexpr std::size_t one_block_holds = 1024;

/// The sizes a variant can do; that it refuses the others is a test of its own.
std::vector<std::size_t> sizes_for(std::string_view variant, std::vector<std::size_t> sizes) {
    if (variant == "cuda_one_block") std::erase_if(sizes, [](std::size_t n) { return n > one_block_holds; });
    return sizes;
}

/// Calls check(variant) for every variant of the sum of Ts on every device of a back end that can run it.
template <class T, class Check> void for_all(Backend backend, const Check& check) {
    int checked = 0;
    for (const Device& device : devices_or_skip(backend)) {
        gpulab::use(device);
        for (const auto& variant : reduction::sum_variants<T>()) {
            if (variant.backend != backend) continue;
            if (variant.needs.fp64 && !device.fp64) continue;
            INFO(variant.name << " on " << device.name);
            REQUIRE(variant.run != nullptr);
            check(variant);
            ++checked;
        }
    }
    CHECK(checked >= (std::is_same_v<T, float> ? 3 : 0));
}

template <class T> void check_all(Backend backend, const std::vector<std::size_t>& sizes) {
    for_all<T>(backend, [&](const auto& variant) {
        CHECK(reduction::testing::first_fault(variant.run, backend, sizes_for(variant.name, sizes)) == "");
    });
}

template <class T> void check_specials(Backend backend, const std::vector<std::size_t>& sizes) {
    for_all<T>(backend, [&](const auto& variant) {
        for (const std::size_t n : sizes_for(variant.name, sizes))
            CHECK(reduction::testing::special_fault(variant.run, n) == "");
    });
}

/// Small whole numbers add up exactly in every order.
template <class T> void check_by_hand(Backend backend) {
    for_all<T>(backend, [](const auto& variant) {
        const auto sum_of = [&](const std::vector<T>& a) {
            Scalar<T> sum(1, T{-1});
            gpulab::Stopwatch once;
            variant.run({a}, sum, once);
            return sum[0];
        };
        CHECK(sum_of({}) == 0);
        CHECK(sum_of({7}) == 7);
        CHECK(sum_of({1, 2, 3, 4, 5}) == 15);
        CHECK(sum_of({1, -1, 2, -2, 3, -3}) == 0);
        std::vector<T> ones_to_hundred(100);
        for (std::size_t i = 0; i < 100; ++i) ones_to_hundred[i] = static_cast<T>(i + 1);
        CHECK(sum_of(ones_to_hundred) == 5050); // as Gauss said
        CHECK(sum_of(std::vector<T>(1000, T{1})) == 1000);
    });
}

} // namespace

TEST_CASE("every CPU variant adds up small whole numbers exactly, and nothing to 0", "[cpu]") {
    check_by_hand<float>(Backend::cpu);
    check_by_hand<double>(Backend::cpu);
}
TEST_CASE("every OpenCL variant adds up small whole numbers exactly, and nothing to 0", "[opencl]") {
    check_by_hand<float>(Backend::opencl);
    check_by_hand<double>(Backend::opencl);
}
TEST_CASE("every CUDA variant adds up small whole numbers exactly, and nothing to 0", "[cuda]") {
    check_by_hand<float>(Backend::cuda);
    check_by_hand<double>(Backend::cuda);
}

TEST_CASE("every CPU variant adds up floats at every size", "[cpu]") {
    check_all<float>(Backend::cpu, straddling_sizes());
}
TEST_CASE("every CPU variant adds up doubles at every size", "[cpu]") {
    check_all<double>(Backend::cpu, straddling_sizes());
}
TEST_CASE("every OpenCL variant adds up floats at every size", "[opencl]") {
    check_all<float>(Backend::opencl, straddling_sizes());
}
TEST_CASE("every OpenCL variant adds up doubles at every size", "[opencl]") {
    check_all<double>(Backend::opencl, straddling_sizes());
}
TEST_CASE("every CUDA variant adds up floats at every size", "[cuda]") {
    check_all<float>(Backend::cuda, straddling_sizes());
    check_all<float>(Backend::cuda, {16'777'259}); // a grid-stride loop goes round several times
}
TEST_CASE("every CUDA variant adds up doubles at every size", "[cuda]") {
    check_all<double>(Backend::cuda, straddling_sizes());
    check_all<double>(Backend::cuda, {16'777'259});
}

TEST_CASE("NaN and infinities come through every CPU variant of the sum", "[cpu]") {
    check_specials<float>(Backend::cpu, {1, 2, 1025});
    check_specials<double>(Backend::cpu, {1, 2, 1025});
}
TEST_CASE("NaN and infinities come through every OpenCL variant of the sum", "[opencl]") {
    check_specials<float>(Backend::opencl, {1, 2, 1025, 100003});
    check_specials<double>(Backend::opencl, {1, 1025});
}
TEST_CASE("NaN and infinities come through every CUDA variant of the sum", "[cuda]") {
    check_specials<float>(Backend::cuda, {1, 2, 33, 1023, 1025, 100003, 1000003});
    check_specials<double>(Backend::cuda, {1, 2, 33, 1023, 1025, 100003, 1000003});
}

#if defined(GPULAB_WITH_OPENCL)
TEST_CASE("OpenCL sums and dot products join any number of groups", "[opencl]") {
    devices_or_skip(Backend::opencl);
    for (const std::size_t groups : {1, 255, 256, 257, 1000}) { // fewer and more than a group has items
        INFO(groups << " groups");
        reduction::wished_groups = groups;
        check_all<float>(Backend::opencl, {1023, 300'007});
        for (const Device& device : devices_or_skip(Backend::opencl)) {
            gpulab::use(device);
            CHECK(reduction::testing::first_dot_fault(reduction::opencl_dot<float>, Backend::opencl, {300'007}) == "");
        }
        reduction::wished_groups = 0;
    }
    // Few groups, so that small sizes too end in the middle of a round of several loads.
    for (const std::size_t groups : {1, 2, 3}) {
        INFO(groups << " groups");
        reduction::wished_groups = groups;
        check_all<float>(Backend::opencl, straddling_sizes());
        check_all<double>(Backend::opencl, straddling_sizes());
        reduction::wished_groups = 0;
    }
}

TEST_CASE("every OpenCL sum at small sizes, for oclgrind", "[.oclgrind]") {
    check_all<float>(Backend::opencl, {1, 33, 300});
    check_all<double>(Backend::opencl, {33});
    reduction::wished_groups = 1; // a group that goes round several times
    check_all<float>(Backend::opencl, {4095});
    reduction::wished_groups = 0;
}
#endif

#if defined(GPULAB_WITH_CUDA)
TEST_CASE("every CUDA sum at small sizes, for compute-sanitizer", "[.sanitizer]") {
    check_all<float>(Backend::cuda, small_sizes());
    check_all<double>(Backend::cuda, {0, 1, 257, 4097});
}

TEST_CASE("one block refuses to add up what does not fit it and says so", "[cuda]") {
    for (const Device& device : devices_or_skip(Backend::cuda)) {
        gpulab::use(device);
        const auto p = reduction::make_sum_problem<float>(one_block_holds + 1, gpulab::testing::seed);
        Scalar<float> sum(1);
        gpulab::Stopwatch once;
        CHECK_THROWS_AS(reduction::cuda_one_block(p, sum, once), gpulab::Unsupported);
    }
}

TEST_CASE("the single pass gives the same bits every time", "[cuda]") {
    for (const Device& device : devices_or_skip(Backend::cuda)) {
        gpulab::use(device);
        const auto p = reduction::make_sum_problem<float>(1000003, gpulab::testing::seed);
        Scalar<float> first(1), again(1);
        gpulab::Stopwatch once;
        reduction::cuda_single_pass(p, first, once);
        for (int i = 0; i < 5; ++i) {
            reduction::cuda_single_pass(p, again, once);
            CHECK(first == again);
        }
    }
}
#endif

TEST_CASE("the reference keeps what plain additions lose") {
    // 1 + 2^100 - 2^100 added in order: a double forgets the 1, Kahan's own formula too, Neumaier's does not.
    const SumProblem<double> p{{1, 0x1p100, 1, -0x1p100}};
    CHECK(reduction::expected_sum(p).value[0] == 2);
    Scalar<double> kahan(1);
    gpulab::Stopwatch once;
    reduction::cpu_kahan<double>(p, kahan, once);
    CHECK(kahan[0] == 2);
    double plain = 0;
    for (const double x : p.a) plain += x;
    CHECK(plain == 0);
    // Ten million tenths: plain additions are off in the ninth digit.
    reduction::CompensatedSum tenths;
    for (int i = 0; i < 10'000'000; ++i) tenths.add(0.1);
    CHECK(tenths.value() == 1'000'000);
}

TEST_CASE("a float accumulator stops at 2^24, the CPU variants do not", "[cpu]") {
    const SumProblem<float> p{{16'777'216, 1, 1, 1, 1}};
    float stuck = 0;
    for (const float x : p.a) stuck += x;
    CHECK(stuck == 16'777'216);
    for_all<float>(Backend::cpu, [&](const auto& variant) {
        Scalar<float> sum(1);
        gpulab::Stopwatch once;
        variant.run(p, sum, once);
        CHECK(sum[0] == 16'777'220);
        variant.run({{3e38f, 3e38f, -3e38f}}, sum, once); // more than a float holds on the way
        CHECK(sum[0] == 3e38f);
    });
}

TEST_CASE("the tolerance is tight enough to see one block of 256 missing among a million") {
    constexpr std::size_t n = 1'000'003;
    CHECK(reduction::tolerance<float>(Backend::cuda, n) < 256.0 / n);
    CHECK(reduction::tolerance<double>(Backend::cuda, n) < 1e-12);
    CHECK(reduction::tolerance<float>(Backend::cpu, n) < 1.0 / n);
}

TEST_CASE("the input is random: no element is zero or equal to its neighbour") {
    const auto p = reduction::make_sum_problem<float>(10000, gpulab::testing::seed);
    REQUIRE(p.size() == 10000);
    for (std::size_t i = 1; i < p.size(); ++i) REQUIRE((p.a[i] > 0 && p.a[i] < 1 && p.a[i] != p.a[i - 1]));
}
