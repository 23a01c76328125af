#include <catch2/catch_test_macros.hpp>
#include <vector>

#include "checks.hpp"

using gpulab::Backend;
using gpulab::Device;
using gpulab::testing::devices_or_skip;
using gpulab::testing::small_sizes;
using gpulab::testing::straddling_sizes;
using reduction::Prefixes;
using reduction::Scan;

namespace {

std::vector<std::size_t> sizes_for(std::string_view variant, std::vector<std::size_t> sizes) {
    if (variant == "cuda_scan_one_block") std::erase_if(sizes, [](std::size_t n) { return n > 1024; });
    return sizes;
}

template <class T, class Check> void for_all(Backend backend, const Check& check) {
    int checked = 0;
    for (const Device& device : devices_or_skip(backend)) {
        gpulab::use(device);
        for (const auto& variant : reduction::scan_variants<T>()) {
            if (variant.backend != backend || (variant.needs.fp64 && !device.fp64)) continue;
            INFO(variant.name << " on " << device.name);
            REQUIRE(variant.run != nullptr);
            check(variant);
            ++checked;
        }
    }
    CHECK(checked >= (std::is_same_v<T, double> ? 0 : 1));
}

template <class T> void check_all(Backend backend, const std::vector<std::size_t>& sizes) {
    for_all<T>(backend, [&](const auto& variant) {
        CHECK(reduction::testing::first_scan_fault(variant.run, backend, sizes_for(variant.name, sizes)) == "");
    });
}

template <class T> void check_by_hand(Backend backend) {
    for_all<T>(backend, [](const auto& variant) {
        const auto scan = [&](Scan kind, const std::vector<T>& a) {
            Prefixes<T> out(a.size(), T{-1});
            gpulab::Stopwatch once;
            variant.run({kind, a}, out, once);
            return out;
        };
        CHECK(scan(Scan::inclusive, {}).empty());
        CHECK(scan(Scan::inclusive, {7}) == Prefixes<T>{7});
        CHECK(scan(Scan::exclusive, {7}) == Prefixes<T>{0});
        CHECK(scan(Scan::inclusive, {3, 1, 4, 1, 5}) == Prefixes<T>{3, 4, 8, 9, 14});
        CHECK(scan(Scan::exclusive, {3, 1, 4, 1, 5}) == Prefixes<T>{0, 3, 4, 8, 9});
        if constexpr (!std::is_same_v<T, float>) // more than 24 bits
            CHECK(scan(Scan::inclusive, {1 << 24, 1, 1 << 29}) ==
                  Prefixes<T>{1 << 24, (1 << 24) + 1, (1 << 24) + 1 + (1 << 29)});
    });
}

/// From a NaN on all sums are NaN; none before it may be. The same for infinity.
template <class T> void check_specials(Backend backend, std::size_t n) {
    for_all<T>(backend, [&](const auto& variant) {
        if (sizes_for(variant.name, {n}).empty()) return;
        for (const Scan kind : {Scan::inclusive, Scan::exclusive})
            for (const std::size_t at : {std::size_t{0}, n / 2, n - 1})
                for (const T special : {std::numeric_limits<T>::quiet_NaN(), std::numeric_limits<T>::infinity()}) {
                    auto p = reduction::make_scan_problem<T>(kind, n, gpulab::testing::seed);
                    p.a[at] = special;
                    const Prefixes<T> expected = reduction::expected_scan(p);
                    Prefixes<T> out(n, T{0});
                    gpulab::Stopwatch once;
                    variant.run(p, out, once);
                    const std::size_t from = std::min(n, kind == Scan::inclusive ? at : at + 1);
                    std::size_t wrong = 0;
                    for (std::size_t i = 0; i < from; ++i)
                        if (!(std::abs(out[i] - expected[i]) <=
                              reduction::scan_tolerance<T>(backend, n) * static_cast<double>(expected[i])))
                            ++wrong;
                    for (std::size_t i = from; i < n; ++i)
                        if (std::isnan(special) ? !std::isnan(out[i]) : out[i] != special) ++wrong;
                    INFO("n = " << n << ", " << special << " at " << at);
                    CHECK(wrong == 0);
                }
    });
}

} // namespace

TEST_CASE("every CPU prefix sum is right by hand", "[cpu]") {
    check_by_hand<float>(Backend::cpu);
    check_by_hand<double>(Backend::cpu);
    check_by_hand<int>(Backend::cpu);
}
TEST_CASE("every OpenCL prefix sum is right by hand", "[opencl]") {
    check_by_hand<float>(Backend::opencl);
    check_by_hand<double>(Backend::opencl);
    check_by_hand<int>(Backend::opencl);
}
TEST_CASE("every CUDA prefix sum is right by hand", "[cuda]") {
    check_by_hand<float>(Backend::cuda);
    check_by_hand<double>(Backend::cuda);
    check_by_hand<int>(Backend::cuda);
}

TEST_CASE("every CPU prefix sum is right at every size", "[cpu]") {
    check_all<float>(Backend::cpu, straddling_sizes());
    check_all<double>(Backend::cpu, straddling_sizes());
    check_all<int>(Backend::cpu, straddling_sizes());
}
TEST_CASE("every OpenCL prefix sum is right at every size", "[opencl]") {
    check_all<float>(Backend::opencl, straddling_sizes());
    check_all<double>(Backend::opencl, {1, 1025, 100003});
    check_all<int>(Backend::opencl, {1, 1024, 1025, 1000003, 1048577}); // three levels of tiles
}
TEST_CASE("every CUDA prefix sum of floats is right at every size", "[cuda]") {
    check_all<float>(Backend::cuda, straddling_sizes());
    check_all<float>(Backend::cuda, {16'777'259});
}
TEST_CASE("every CUDA prefix sum of doubles is right at every size", "[cuda]") {
    check_all<double>(Backend::cuda, straddling_sizes());
}
TEST_CASE("every CUDA prefix sum of whole numbers is exact at every size", "[cuda]") {
    check_all<int>(Backend::cuda, straddling_sizes());
    check_all<int>(Backend::cuda, {16'777'259});
}

TEST_CASE("NaN and infinity stay where they belong in every CPU prefix sum", "[cpu]") {
    check_specials<float>(Backend::cpu, 1025);
}
TEST_CASE("NaN and infinity stay where they belong in every OpenCL prefix sum", "[opencl]") {
    check_specials<float>(Backend::opencl, 100003);
}
TEST_CASE("NaN and infinity stay where they belong in every CUDA prefix sum", "[cuda]") {
    check_specials<float>(Backend::cuda, 1000);
    check_specials<float>(Backend::cuda, 100003);
    check_specials<double>(Backend::cuda, 100003);
}

#if defined(GPULAB_WITH_OPENCL)
TEST_CASE("every OpenCL prefix sum at small sizes, for oclgrind", "[.oclgrind]") {
    check_all<float>(Backend::opencl, {33});
    check_all<double>(Backend::opencl, {33});
    check_all<int>(Backend::opencl, {1025});
}
#endif

#if defined(GPULAB_WITH_CUDA)
TEST_CASE("every CUDA prefix sum at small sizes, for compute-sanitizer", "[.sanitizer]") {
    check_all<float>(Backend::cuda, small_sizes());
    check_all<double>(Backend::cuda, {0, 1, 257, 4097});
    check_all<int>(Backend::cuda, {4097, 20000});
}

TEST_CASE("one block refuses to scan what does not fit it and says so", "[cuda]") {
    for (const Device& device : devices_or_skip(Backend::cuda)) {
        gpulab::use(device);
        const auto p = reduction::make_scan_problem<float>(Scan::inclusive, 1025, gpulab::testing::seed);
        Prefixes<float> out(p.size());
        gpulab::Stopwatch once;
        CHECK_THROWS_AS(reduction::cuda_scan_one_block(p, out, once), gpulab::Unsupported);
    }
}
#endif
