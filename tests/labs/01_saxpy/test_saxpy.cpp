#include <catch2/catch_test_macros.hpp>
#include <set>
#include <vector>
#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/lsan_interface.h>
#endif

#include "checks.hpp"
#include "distances.hpp"
#include "gpulab/input.hpp"
#include "studies.hpp"
#if defined(GPULAB_WITH_OPENCL)
#include "gpulab/opencl/context.hpp"
#endif

using gpulab::Backend;
using gpulab::Device;
using gpulab::testing::devices_or_skip;
using gpulab::testing::Faults;
using gpulab::testing::sizes_next_to;
using gpulab::testing::small_sizes;
using gpulab::testing::straddling_sizes;
using gpulab::testing::VariantCases;

namespace {

constexpr std::size_t one_block_holds = 1024;

/// The sizes that a variant accepts. Another test checks that it refuses the others.
std::vector<std::size_t> sizes_for(std::string_view variant, std::vector<std::size_t> sizes) {
    if (variant == "cuda_one_block") std::erase_if(sizes, [](std::size_t n) { return n > one_block_holds; });
    return sizes;
}

/// On a GPU fewer sizes for opencl_raw: each of its runs makes a context, which takes half a second on an H200, and all
/// other programs wait for the driver meanwhile. Its kernel is that of opencl_one_item, which takes all sizes there,
/// too.
std::vector<std::size_t> without_many_contexts([[maybe_unused]] std::string_view variant,
                                               std::vector<std::size_t> sizes) {
    [[maybe_unused]] static const std::set<std::size_t> few = {0, 1, 2, 33, 255, 256, 257, 511, 512, 513, 1025, 100003};
#if defined(GPULAB_WITH_OPENCL)
    if (variant == "opencl_raw" && !gpulab::opencl().description().is_cpu)
        std::erase_if(sizes, [](std::size_t n) { return !few.contains(n); });
#endif
    return sizes;
}

/// All checks of one variant, on the current device.
void check_variant(const gpulab::Variant<saxpy::Run>& v, Faults& faults) {
    const bool one_block = v.name == "cuda_one_block";
    if (v.name == "opencl_raw") gpulab::testing::leave_turns(); // it hardly uses the GPU: see without_many_contexts()
    faults.check("three elements by hand", [&] { return saxpy::testing::fault_by_hand(v.run); });
    const auto sizes_of = [&](const std::vector<std::size_t>& sizes) {
        return without_many_contexts(v.name, sizes_for(v.name, sizes));
    };
    faults.check("every size", [&] { return saxpy::testing::first_fault(v.run, sizes_of(straddling_sizes())); });
    std::vector<gpulab::Tile> tiles;
    faults.check("contract", [&] { return saxpy::testing::contract_violation(v, tiles); });
    faults.check("sizes next to its tile", [&] {
        const std::size_t largest = gpulab::testing::largest_near_tile(v.backend);
        return saxpy::testing::first_fault(v.run, sizes_of(sizes_next_to(tiles, largest)));
    });
    faults.check("NaN, infinities and denormals",
                 [&] { return saxpy::testing::special_fault(v.run, one_block ? 1000 : 100003, !v.baseline); });
    if (!one_block) // beyond 2^24 a float no longer holds every integer, and a 16-bit number of groups has overflowed
        faults.check("2^24 + 8 elements", [&] { return saxpy::testing::first_fault(v.run, {(1 << 24) + 8}); });
}

void check_distances(const gpulab::Variant<saxpy::DistanceRun>& v, Faults& faults,
                     const std::vector<std::size_t>& sizes) {
    gpulab::Stopwatch once;
    // From (1, 1, 1) to (1, 1, 1), (4, 5, 1) and (2, 3, 3).
    const saxpy::DistanceProblem tiny{{1, 1, 1}, {{1, 1, 1}, {4, 5, 1}, {2, 3, 3}}};
    faults.check("three distances by hand", [&] {
        saxpy::Distances d(3);
        gpulab::testing::in_turn_noting_tiles(once, "elements", [&] { v.run(tiny, d, once); });
        return saxpy::compare({0, 5, 3}, d).message;
    });
    faults.check("contract", [&] {
        const std::string fault = gpulab::testing::contract_violation(v.backend, v.baseline, once);
        const auto run = [&](saxpy::Distances& d, gpulab::Stopwatch& watch) { v.run(tiny, d, watch); };
        return fault.empty() ? gpulab::testing::reset_fault(run, saxpy::Distances(3)) : fault;
    });
    faults.check("every size", [&] {
        std::vector<std::size_t> all = sizes;
        for (const std::size_t n : sizes_next_to(once.tiles(), sizes.back())) all.push_back(n);
        return saxpy::testing::first_distance_fault(v.run, all);
    });
    faults.check("NaN and infinities", [&] { return saxpy::testing::special_distance_fault(v.run); });
}

/// The same at small sizes, for tools that are a thousand times slower than the device: two tiles and a partial one.
[[maybe_unused]] void check_small(const gpulab::Variant<saxpy::Run>& v, Faults& faults) {
    std::vector<gpulab::Tile> tiles;
    faults.check("contract", [&] { return saxpy::testing::contract_violation(v, tiles); });
    std::vector<std::size_t> sizes = small_sizes();
    for (const gpulab::Tile& tile : tiles) sizes.push_back(2 * tile.size + 5);
    faults.check("small sizes", [&] { return saxpy::testing::first_fault(v.run, sizes_for(v.name, sizes)); });
}

/// For the kernels of the studies. 8193: with a stride of 32, one element more than 256 rows hold.
[[maybe_unused]] std::vector<std::size_t> sizes_of_studies() { return {0, 1, 33, 1025, 8193, 100003}; }

/// Checks SAXPY with its copies: each run copies both inputs, and the whole result.
[[maybe_unused]] void check_copies(Backend backend, saxpy::Run* run, const std::vector<std::size_t>& sizes) {
    for (const Device& device : devices_or_skip(backend)) {
        gpulab::use(device);
        for (const std::size_t n : sizes) {
            INFO("n = " << n << " on " << device.name);
            const saxpy::Problem p = saxpy::make_problem(n, gpulab::testing::seed);
            saxpy::Output reference(n), c(n);
            gpulab::Stopwatch once;
            saxpy::cpu_sequential(p, reference, once);
            CHECK(gpulab::testing::fault_of(run, p, c, [&] { return saxpy::compare(p, reference, c); }) == "");
        }
    }
}

/// Checks the kernels of the studies. @param divergence may be null: then the others only
[[maybe_unused]] void check_studies(Backend backend, saxpy::BlockSizeRun* block_size, saxpy::StridedRun* strided,
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
            for (const unsigned threads : {32u, 256u}) { // some OpenCL devices allow no more
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
                if (divergence == nullptr) continue;
                saxpy::Mixed expected(n), mixed(n);
                saxpy::cpu_divergence(branch, expected, once);
                const auto run = [&](saxpy::Branch b, saxpy::Mixed& o, saxpy::Stopwatch& w) { divergence(b, o, w); };
                CHECK(gpulab::testing::fault_of(run, branch, mixed,
                                                [&] { return gpulab::compare(expected, mixed, 0); }) == "");
            }
        }
    }
}

/// Checks the kernels of study memories: tables in which every word counts, and in which each word shows its place.
[[maybe_unused]] void check_memories(Backend backend, saxpy::LookUpRun* look_up,
                                     const std::vector<std::size_t>& sizes) {
    for (const Device& device : devices_or_skip(backend)) {
        gpulab::use(device);
        REQUIRE(look_up != nullptr);
        saxpy::Mixed table(saxpy::table_size);
        for (unsigned j = 0; j < saxpy::table_size; ++j)
            table[j] = static_cast<std::uint32_t>(gpulab::random_bits(gpulab::testing::seed, j));
        for (const std::size_t n : sizes)
            for (const unsigned apart : {0u, 1u, 8u}) {
                INFO("n = " << n << ", words " << apart << " apart on " << device.name);
                saxpy::Mixed expected(n), out(n);
                gpulab::Stopwatch once;
                saxpy::cpu_look_up(apart, table, expected, once);
                for (const saxpy::Memory memory :
                     {saxpy::Memory::global, saxpy::Memory::constant, saxpy::Memory::texture, saxpy::Memory::shared}) {
                    const bool textures = backend == Backend::cuda && !device.emulated;
                    if (memory == saxpy::Memory::texture && !textures) continue;
                    const auto run = [&](const saxpy::Mixed& words, saxpy::Mixed& o, saxpy::Stopwatch& w) {
                        look_up(memory, apart, words, o, w);
                    };
                    CHECK(gpulab::testing::fault_of(run, table, out,
                                                    [&] { return gpulab::compare(expected, out, 0); }) == "");
                }
            }
    }
}

TEST_CASE("the reference of study memories is right by hand") {
    saxpy::Mixed table(saxpy::table_size, 0), out(3);
    table[saxpy::table_size - 1] = 7; // the last word that element 0 reads, element 1 one read earlier
    gpulab::Stopwatch once;
    saxpy::cpu_look_up(1, table, out, once);
    CHECK(out == saxpy::Mixed{7, 35, 175});
    saxpy::cpu_look_up(0, table, out, once);
    CHECK(out == saxpy::Mixed{7, 7, 7});
}

const VariantCases variants(saxpy::variants(), "computes k a + b", "", check_variant);
const VariantCases distances(saxpy::distance_variants(), "computes distances", "",
                             [](const auto& v, Faults& faults) { check_distances(v, faults, straddling_sizes()); });
} // namespace

#if defined(GPULAB_WITH_OPENCL)
TEST_CASE("the kernels of the studies give right results on OpenCL devices", "[opencl]") {
    check_studies(Backend::opencl, saxpy::opencl_block_size, saxpy::opencl_strided, saxpy::opencl_divergence,
                  sizes_of_studies());
    check_copies(Backend::opencl, saxpy::opencl_copies_and_kernel, {1, 255, 256, 257, 100003});
    check_memories(Backend::opencl, saxpy::opencl_look_up, {0, 1, 255, 256, 257, 1025});
}

namespace saxpy {
void misspelt_raw(const Problem& p, Output& c, Stopwatch& watch); // opencl_raw with misspelt/01_raw.cl
}
TEST_CASE("opencl_raw reports a kernel that does not compile as the later rungs do, by its file and line", "[opencl]") {
    for (const Device& device : devices_or_skip(Backend::opencl)) {
        gpulab::use(device);
        saxpy::Output c(3);
        gpulab::Stopwatch once;
        std::string message = "it compiles";
#if defined(__SANITIZE_ADDRESS__)
        const __lsan::ScopedDisabler leaks; // after an error it releases nothing, as its opening comment says
#endif
        try {
            saxpy::misspelt_raw({2, {1, 2, 3}, {10, 20, 30}}, c, once);
        } catch (const gpulab::BuildError& e) {
            message = e.what();
        }
        INFO(message);
        CHECK(message.starts_with("an OpenCL kernel does not compile for " + device.name + ":\n"));
        CHECK(message.find("tests/labs/01_saxpy/misspelt/01_raw.cl:4:") != std::string::npos);
    }
}

namespace {
// For oclgrind: small sizes, two groups and a partial one among them.
const VariantCases oclgrind_variants(saxpy::variants(), "under oclgrind", "[.oclgrind]", check_small,
                                     gpulab::testing::only_on<Backend::opencl>);
const VariantCases oclgrind_distances(
    saxpy::distance_variants(), "under oclgrind", "[.oclgrind]",
    [](const auto& v, Faults& faults) {
        check_distances(v, faults, {1, 2 * 256 + 5});
    },
    gpulab::testing::only_on<Backend::opencl>);
} // namespace
TEST_CASE("the OpenCL kernels of the studies under oclgrind", "[.oclgrind]") {
    check_studies(Backend::opencl, saxpy::opencl_block_size, saxpy::opencl_strided, saxpy::opencl_divergence, {33});
    // Without the thousands of steps of opencl_divergence, which would take 40 seconds.
    check_studies(Backend::opencl, saxpy::opencl_block_size, saxpy::opencl_strided, nullptr, {2 * 256 + 5});
    check_copies(Backend::opencl, saxpy::opencl_copies_and_kernel, {2 * 256 + 5});
    check_memories(Backend::opencl, saxpy::opencl_look_up, {33});
}
#endif

#if defined(GPULAB_WITH_CUDA)
TEST_CASE("the kernels of the studies give right results on CUDA devices", "[cuda]") {
    check_studies(Backend::cuda, saxpy::cuda_block_size, saxpy::cuda_strided, saxpy::cuda_divergence,
                  sizes_of_studies());
    check_copies(Backend::cuda, saxpy::cuda_copies_and_kernel, {1, 255, 256, 257, 100003});
    check_memories(Backend::cuda, saxpy::cuda_look_up, {0, 1, 255, 256, 257, 1025});
}

namespace {
// For compute-sanitizer: small sizes, two tiles and a partial one among them.
const VariantCases sanitizer_variants(saxpy::variants(), "under compute-sanitizer", "[.sanitizer]", check_small,
                                      gpulab::testing::only_on<Backend::cuda>);
const VariantCases sanitizer_distances(
    saxpy::distance_variants(), "under compute-sanitizer", "[.sanitizer]",
    [](const auto& v, Faults& faults) {
        check_distances(v, faults, {1, 2 * 256 + 5});
    },
    gpulab::testing::only_on<Backend::cuda>);
} // namespace
TEST_CASE("the CUDA kernels of the studies under compute-sanitizer", "[.sanitizer]") {
    check_studies(Backend::cuda, saxpy::cuda_block_size, saxpy::cuda_strided, saxpy::cuda_divergence, {33, 1029});
    check_copies(Backend::cuda, saxpy::cuda_copies_and_kernel, {517});
    check_memories(Backend::cuda, saxpy::cuda_look_up, {33, 517});
}

TEST_CASE("cuda_one_block refuses more elements than a block has threads", "[cuda]") {
    for (const Device& device : devices_or_skip(Backend::cuda)) {
        gpulab::use(device);
        const saxpy::Problem p = saxpy::make_problem(one_block_holds + 1, gpulab::testing::seed);
        saxpy::Output c(p.size());
        gpulab::Stopwatch once;
        CHECK_THROWS_AS(saxpy::cuda_one_block(p, c, once), gpulab::Unsupported);
    }
}
#endif

TEST_CASE("cpu_divergence: even elements, or every other 32, take the first branch", "[cpu]") {
    for (const saxpy::Branch branch : {saxpy::Branch::even_odd, saxpy::Branch::warp_aligned}) {
        saxpy::Mixed out(70);
        gpulab::Stopwatch once;
        saxpy::cpu_divergence(branch, out, once);
        for (std::uint32_t i = 0; i < out.size(); ++i) {
            INFO("element " << i);
            const bool first = (i & (branch == saxpy::Branch::even_odd ? 1u : 32u)) == 0;
            std::uint32_t x = i + 1;
            for (unsigned round = 0; round < saxpy::mixing_rounds; ++round) {
                x ^= first ? x >> 13 : x << 13;
                x ^= first ? x << 17 : x >> 17;
                x ^= first ? x >> 5 : x << 5;
            }
            CHECK(out[i] == x);
        }
    }
}

TEST_CASE("the input is random: no element of a or b is zero or equal to its neighbour") {
    const saxpy::Problem p = saxpy::make_problem(10000, gpulab::testing::seed);
    REQUIRE(p.size() == 10000);
    for (std::size_t i = 1; i < p.size(); ++i) {
        REQUIRE((p.a[i] != 0 && p.b[i] != 0));
        REQUIRE((p.a[i] != p.a[i - 1] || p.b[i] != p.b[i - 1]));
    }
}
