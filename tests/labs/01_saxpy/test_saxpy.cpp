#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <vector>

#include "checks.hpp"
#include "distances.hpp"
#include "studies.hpp"

using gpulab::Backend;
using gpulab::Device;
using gpulab::testing::devices_or_skip;
using gpulab::testing::small_sizes;
using gpulab::testing::straddling_sizes;

namespace {

constexpr std::size_t one_block_holds = 1024;

/// The sizes a variant can do; that it refuses the others is a test of its own.
std::vector<std::size_t> sizes_for(std::string_view variant, std::vector<std::size_t> sizes) {
    if (variant == "cuda_one_block") std::erase_if(sizes, [](std::size_t n) { return n > one_block_holds; });
    return sizes;
}

/// Every variant of a back end, on every device of it, at all sizes.
void check_all(Backend backend, const std::vector<std::size_t>& sizes) {
    int checked = 0;
    for (const Device& device : devices_or_skip(backend)) {
        gpulab::use(device);
        for (const auto& variant : saxpy::variants()) {
            if (variant.backend != backend) continue;
            INFO(variant.name << " on " << device.name);
            REQUIRE(variant.run != nullptr);
            CHECK(saxpy::testing::first_fault(variant.run, sizes_for(variant.name, sizes)) == "");
            ++checked;
        }
    }
    CHECK(checked >= 3);
}

/// Three elements by hand: 2 (1, 2, 3) + (10, 20, 30) = (12, 24, 36), exact in every arithmetic.
void check_by_hand(Backend backend) {
    const saxpy::Problem p{2, {1, 2, 3}, {10, 20, 30}};
    for (const Device& device : devices_or_skip(backend)) {
        gpulab::use(device);
        for (const auto& variant : saxpy::variants()) {
            if (variant.backend != backend) continue;
            INFO(variant.name << " on " << device.name);
            saxpy::Output c(3);
            gpulab::Stopwatch once;
            variant.run(p, c, once);
            CHECK(c == saxpy::Output{12, 24, 36});
            variant.run({-0.5f, {4, -2, 6}, {1, -1, 3}}, c, once); // signs, and a factor below 1
            CHECK(c == saxpy::Output{-1, 0, 0});
        }
    }
}

void check_distances(Backend backend, const std::vector<std::size_t>& sizes) {
    for (const Device& device : devices_or_skip(backend)) {
        gpulab::use(device);
        for (const auto& variant : saxpy::distance_variants()) {
            if (variant.backend != backend) continue;
            INFO(variant.name << " on " << device.name);
            REQUIRE(variant.run != nullptr);

            // By hand: from (1, 1, 1) to (1, 1, 1), (4, 5, 1) and (2, 3, 3).
            const saxpy::DistanceProblem tiny{{1, 1, 1}, {{1, 1, 1}, {4, 5, 1}, {2, 3, 3}}};
            saxpy::Distances by_hand(3);
            gpulab::Stopwatch once;
            variant.run(tiny, by_hand, once);
            CHECK(by_hand[0] == 0);
            CHECK(std::abs(by_hand[1] - 5) <= 5 * saxpy::distance_tolerance);
            CHECK(std::abs(by_hand[2] - 3) <= 3 * saxpy::distance_tolerance);

            for (const std::size_t n : sizes) {
                INFO("n = " << n);
                const saxpy::DistanceProblem p = saxpy::make_distance_problem(n, gpulab::testing::seed + n);
                saxpy::Distances reference(n), d(n);
                saxpy::cpu_distances(p, reference, once);
                CHECK(gpulab::testing::fault_of(variant.run, p, d, [&] { return saxpy::compare(reference, d); }) == "");
            }
        }
    }
}

/// The kernels of the studies compute right answers too.
void check_studies(Backend backend, saxpy::BlockSizeRun* block_size, saxpy::StridedRun* strided,
                   saxpy::DivergenceRun* divergence, const std::vector<std::size_t>& sizes) {
    for (const Device& device : devices_or_skip(backend)) {
        gpulab::use(device);
        REQUIRE(block_size != nullptr);
        for (const std::size_t n : sizes) {
            INFO("n = " << n << " on " << device.name);
            const saxpy::Problem p = saxpy::make_problem(n, gpulab::testing::seed);
            saxpy::Output reference(n), c(n);
            gpulab::Stopwatch once;
            saxpy::cpu_sequential(p, reference, once);
            const auto judge = [&] { return saxpy::compare(p, reference, c); };
            for (const unsigned threads : {32u, 256u}) { // some OpenCL devices take no more
                const auto run = [&](const saxpy::Problem& q, saxpy::Output& o, saxpy::Stopwatch& w) {
                    block_size(q, o, w, threads);
                };
                CHECK(gpulab::testing::fault_of(run, p, c, judge) == "");
            }
            for (const unsigned stride : {1u, 3u, 32u}) {
                const auto run = [&](const saxpy::Problem& q, saxpy::Output& o, saxpy::Stopwatch& w) {
                    strided(q, o, w, stride);
                };
                CHECK(gpulab::testing::fault_of(run, p, c, judge) == "");
            }
            for (const saxpy::Branch branch : {saxpy::Branch::even_odd, saxpy::Branch::warp_aligned}) {
                saxpy::Mixed expected(n), mixed(n);
                saxpy::cpu_divergence(branch, expected, once);
                const auto run = [&](saxpy::Branch b, saxpy::Mixed& o, saxpy::Stopwatch& w) { divergence(b, o, w); };
                CHECK(gpulab::testing::fault_of(run, branch, mixed,
                                                [&] { return gpulab::compare(expected, mixed, 0); }) == "");
            }
        }
    }
}

} // namespace

TEST_CASE("every CPU variant computes three elements by hand", "[cpu]") { check_by_hand(Backend::cpu); }
TEST_CASE("every OpenCL variant computes three elements by hand", "[opencl]") { check_by_hand(Backend::opencl); }
TEST_CASE("every CUDA variant computes three elements by hand", "[cuda]") { check_by_hand(Backend::cuda); }

TEST_CASE("every CPU variant computes k a + b at every size", "[cpu]") { check_all(Backend::cpu, straddling_sizes()); }
TEST_CASE("every OpenCL variant computes k a + b at every size", "[opencl]") {
    check_all(Backend::opencl, straddling_sizes());
}
TEST_CASE("every CUDA variant computes k a + b at every size", "[cuda]") {
    check_all(Backend::cuda, straddling_sizes());
}

namespace {
/// Past 2^24, where a float no longer counts every integer and a 16-bit number of groups has wrapped.
void check_large(Backend backend) {
    const std::size_t n = (1 << 24) + 7;
    const saxpy::Problem p = saxpy::make_problem(n, gpulab::testing::seed);
    saxpy::Output reference(n), c(n);
    gpulab::Stopwatch once;
    saxpy::cpu_sequential(p, reference, once);
    for (const Device& device : devices_or_skip(backend)) {
        gpulab::use(device);
        for (const auto& variant : saxpy::variants()) {
            if (variant.backend != backend || variant.name == "cuda_one_block") continue;
            if (device.is_cpu && variant.name == "opencl_grid_stride") continue; // half a second a run there
            INFO(variant.name << " on " << device.name);
            gpulab::poison(c);
            variant.run(p, c, once);
            CHECK(saxpy::compare(p, reference, c).message == "");
        }
    }
}
} // namespace

TEST_CASE("CPU variants are right past 2^24 elements", "[cpu]") { check_large(Backend::cpu); }
TEST_CASE("OpenCL variants are right past 2^24 elements", "[opencl]") { check_large(Backend::opencl); }
TEST_CASE("CUDA variants are right past 2^24 elements", "[cuda]") { check_large(Backend::cuda); }

TEST_CASE("distances come out right on the CPU", "[cpu]") { check_distances(Backend::cpu, small_sizes()); }
TEST_CASE("distances come out right on OpenCL devices", "[opencl]") {
    check_distances(Backend::opencl, straddling_sizes());
}
TEST_CASE("distances come out right on CUDA devices", "[cuda]") { check_distances(Backend::cuda, straddling_sizes()); }

#if defined(GPULAB_WITH_OPENCL)
TEST_CASE("the kernels of the studies are right on OpenCL devices", "[opencl]") {
    check_studies(Backend::opencl, saxpy::opencl_block_size, saxpy::opencl_strided, saxpy::opencl_divergence,
                  {0, 1, 33, 1025, 100003});
}
TEST_CASE("every OpenCL kernel at small sizes, for oclgrind", "[.oclgrind]") {
    check_all(Backend::opencl, small_sizes());
    check_distances(Backend::opencl, {1, 257});
    check_studies(Backend::opencl, saxpy::opencl_block_size, saxpy::opencl_strided, saxpy::opencl_divergence, {33});
}
#endif

#if defined(GPULAB_WITH_CUDA)
TEST_CASE("the kernels of the studies are right on CUDA devices", "[cuda]") {
    check_studies(Backend::cuda, saxpy::cuda_block_size, saxpy::cuda_strided, saxpy::cuda_divergence,
                  {0, 1, 33, 1025, 100003});
}

TEST_CASE("one block refuses what does not fit it and says so", "[cuda]") {
    for (const Device& device : devices_or_skip(Backend::cuda)) {
        gpulab::use(device);
        const saxpy::Problem p = saxpy::make_problem(one_block_holds + 1, gpulab::testing::seed);
        saxpy::Output c(p.size());
        gpulab::Stopwatch once;
        CHECK_THROWS_AS(saxpy::cuda_one_block(p, c, once), gpulab::Unsupported);
    }
}
#endif

TEST_CASE("the input is random: no element of a or b is zero or equal to its neighbour") {
    const saxpy::Problem p = saxpy::make_problem(10000, gpulab::testing::seed);
    REQUIRE(p.size() == 10000);
    for (std::size_t i = 1; i < p.size(); ++i) {
        REQUIRE((p.a[i] != 0 && p.b[i] != 0));
        REQUIRE((p.a[i] != p.a[i - 1] || p.b[i] != p.b[i - 1]));
    }
}
