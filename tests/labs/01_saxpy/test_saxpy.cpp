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

using namespace gpulab::testing;
using namespace saxpy::testing;
using gpulab::Backend;
using gpulab::Device;
using gpulab::Stopwatch;
using Sizes = std::vector<std::size_t>;

namespace {

constexpr std::size_t one_block_holds = 1024;

/// The sizes that a variant accepts.
Sizes sizes_for(std::string_view variant, Sizes sizes) {
    if (variant == "cuda_one_block") std::erase_if(sizes, [](std::size_t n) { return n > one_block_holds; });
    return sizes;
}

/// On a GPU fewer sizes for opencl_raw: each of its runs makes a context, which takes half a second on an H200, and all
/// other programs wait for the driver meanwhile. Its kernel is that of opencl_one_item, which takes all sizes there,
/// too.
Sizes without_many_contexts([[maybe_unused]] std::string_view variant, Sizes sizes) {
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
    if (v.name == "opencl_raw") leave_turns(); // it hardly uses the GPU: see without_many_contexts()
    faults.check("three elements by hand", [&] { return fault_by_hand(v.run); });
    const auto sizes_of = [&](const Sizes& sizes) { return without_many_contexts(v.name, sizes_for(v.name, sizes)); };
    faults.check("every size", [&] { return first_fault(v.run, sizes_of(straddling_sizes())); });
    std::vector<gpulab::Tile> tiles;
    const auto contract = [&] {
        return contract_violation(v, saxpy::make_problem(100, seed), saxpy::Output(100), tiles);
    };
    faults.check("contract", contract);
    faults.check("sizes next to its tile",
                 [&] { return first_fault(v.run, sizes_of(sizes_next_to(tiles, largest_near_tile(v.backend)))); });
    faults.check("NaN, infinities and denormals",
                 [&] { return special_fault(v.run, one_block ? 1000 : 100003, !v.baseline); });
    const std::size_t more = one_block_holds + 1;
    if (one_block)
        faults.check("more elements than a block has threads", [&] {
            return refusal_fault(v.run, saxpy::make_problem(more, seed), saxpy::Output(more), "1025 elements");
        });
    else // beyond 2^24 a float no longer holds every integer, and a 16-bit number of groups has overflowed
        faults.check("2^24 + 8 elements", [&] { return first_fault(v.run, {(1 << 24) + 8}); });
}

void check_distances(const gpulab::Variant<saxpy::DistanceRun>& v, Faults& faults, Sizes sizes) {
    // From (1, 1, 1) to (1, 1, 1), (4, 5, 1) and (2, 3, 3).
    const saxpy::DistanceProblem tiny{{1, 1, 1}, {{1, 1, 1}, {4, 5, 1}, {2, 3, 3}}};
    faults.check("three distances by hand", [&] {
        saxpy::Distances d(3);
        Stopwatch once;
        in_turn([&] { v.run(tiny, d, once); });
        return saxpy::compare({0, 5, 3}, d).message;
    });
    std::vector<gpulab::Tile> tiles;
    faults.check("contract", [&] { return contract_violation(v, tiny, saxpy::Distances(3), tiles); });
    faults.check("every size", [&] {
        for (const std::size_t n : sizes_next_to(tiles, sizes.back())) sizes.push_back(n);
        return first_distance_fault(v.run, sizes);
    });
    faults.check("NaN and infinities", [&] { return special_distance_fault(v.run); });
}

/// The same at small sizes, for tools that are a thousand times slower than the device: two tiles and a partial one.
void check_small(const gpulab::Variant<saxpy::Run>& v, Faults& faults) {
    std::vector<gpulab::Tile> tiles;
    const auto contract = [&] {
        return contract_violation(v, saxpy::make_problem(100, seed), saxpy::Output(100), tiles);
    };
    faults.check("contract", contract);
    Sizes sizes = small_sizes();
    for (const gpulab::Tile& tile : tiles) sizes.push_back(2 * tile.size + 5);
    faults.check("small sizes", [&] { return first_fault(v.run, sizes_for(v.name, sizes)); });
}

/// The sizes for the kernels of the studies.
struct StudySizes {
    Sizes strided, divergence, copies, memories;
};
/// 8193: with a stride of 32, one element more than 256 rows hold.
const Sizes few_sizes = {0, 1, 33, 1025, 8193, 100003};
const StudySizes usual_sizes = {few_sizes, few_sizes, {1, 255, 256, 257, 100003}, {0, 1, 255, 256, 257, 1025}};

/// Checks the kernels of the studies on the devices of a back end.
/// @param copies SAXPY with its copies: each run copies both inputs, and the whole result
void check_studies(Backend backend, saxpy::Run* copies, const StudySizes& sizes) {
    using saxpy::Memory, saxpy::Mixed, saxpy::Output, saxpy::Problem;
    const saxpy::StudyKernels kernels = saxpy::study_kernels();
    Mixed table(saxpy::table_size); // of study memories: every word counts, and each shows its place
    for (unsigned j = 0; j < saxpy::table_size; ++j)
        table[j] = static_cast<std::uint32_t>(gpulab::random_bits(seed, j));
    Stopwatch once;
    for (const Device& device : devices_or_skip(backend)) {
        gpulab::use(device);
        const auto check = [&](const Sizes& all, const auto& fault) {
            for (const std::size_t n : all) {
                INFO("n = " << n << " on " << device.name);
                CHECK(fault(n) == "");
            }
        };
        for (const unsigned threads : {32u, 256u}) // some OpenCL devices allow no more
            check(sizes.strided, [&](std::size_t n) {
                const auto run = [&](const Problem& p, Output& c, Stopwatch& watch) {
                    kernels.block_size.on(device)(p, c, watch, threads);
                };
                return fault_at(run, saxpy::make_problem(n, seed));
            });
        for (const unsigned stride : {1u, 3u, 32u})
            check(sizes.strided, [&](std::size_t n) {
                const auto run = [&](const Problem& p, Output& c, Stopwatch& watch) {
                    kernels.strided.on(device)(p, c, watch, stride);
                };
                return fault_at(run, saxpy::make_problem(n, seed));
            });
        for (const saxpy::Branch branch : {saxpy::Branch::even_odd, saxpy::Branch::warp_aligned})
            check(sizes.divergence, [&](std::size_t n) {
                Mixed expected(n), mixed(n);
                saxpy::cpu_divergence(branch, expected, once);
                return fault_of(kernels.divergence.on(device), branch, mixed,
                                [&] { return gpulab::compare(expected, mixed, 0); });
            });
        check(sizes.copies, [&](std::size_t n) { return fault_at(copies, saxpy::make_problem(n, seed)); });
        for (const Memory memory : {Memory::global, Memory::constant, Memory::texture, Memory::shared})
            for (const unsigned apart : {0u, 1u, 8u}) {
                if (memory == Memory::texture && (backend != Backend::cuda || device.emulated)) continue;
                INFO("words " << apart << " apart");
                check(sizes.memories, [&](std::size_t n) {
                    Mixed expected(n), out(n);
                    saxpy::cpu_look_up(apart, table, expected, once);
                    const auto run = [&](const Mixed& words, Mixed& o, Stopwatch& watch) {
                        kernels.look_up.on(device)(memory, apart, words, o, watch);
                    };
                    return fault_of(run, table, out, [&] { return gpulab::compare(expected, out, 0); });
                });
            }
    }
}

TEST_CASE("the reference of study memories is right by hand") {
    saxpy::Mixed table(saxpy::table_size, 0), out(3);
    table[saxpy::table_size - 1] = 7; // the last word that element 0 reads, element 1 one read earlier
    Stopwatch once;
    saxpy::cpu_look_up(1, table, out, once);
    CHECK(out == saxpy::Mixed{7, 35, 175});
    saxpy::cpu_look_up(0, table, out, once);
    CHECK(out == saxpy::Mixed{7, 7, 7});
}

const VariantCases variants(saxpy::variants(), "computes k a + b", "", check_variant);
const VariantCases distances(saxpy::distance_variants(), "computes distances", "",
                             [](const auto& v, Faults& faults) { check_distances(v, faults, straddling_sizes()); });

// For tools: small sizes, two groups or tiles and a partial one among them.
const auto check_few_distances = [](const auto& v, Faults& faults) { check_distances(v, faults, {1, 2 * 256 + 5}); };
const VariantCases oclgrind(saxpy::variants(), "under oclgrind", "[.oclgrind]", check_small, only_on<Backend::opencl>);
const VariantCases oclgrind_distances(saxpy::distance_variants(), "under oclgrind", "[.oclgrind]", check_few_distances,
                                      only_on<Backend::opencl>);
const VariantCases sanitizer(saxpy::variants(), "under compute-sanitizer", "[.sanitizer]", check_small,
                             only_on<Backend::cuda>);
const VariantCases sanitizer_distances(saxpy::distance_variants(), "under compute-sanitizer", "[.sanitizer]",
                                       check_few_distances, only_on<Backend::cuda>);
} // namespace

TEST_CASE("the kernels of the studies give right results on OpenCL devices", "[opencl]") {
    check_studies(Backend::opencl, GPULAB_IF_OPENCL(saxpy::opencl_copies_and_kernel), usual_sizes);
}
TEST_CASE("the kernels of the studies give right results on CUDA devices", "[cuda]") {
    check_studies(Backend::cuda, GPULAB_IF_CUDA(saxpy::cuda_copies_and_kernel), usual_sizes);
}
TEST_CASE("the OpenCL kernels of the studies under oclgrind", "[.oclgrind]") {
    // The thousands of steps of opencl_divergence at one size only: another would take 40 seconds.
    const std::size_t ragged = 2 * 256 + 5;
    check_studies(Backend::opencl, GPULAB_IF_OPENCL(saxpy::opencl_copies_and_kernel),
                  {{33, ragged}, {33}, {ragged}, {33}});
}
TEST_CASE("the CUDA kernels of the studies under compute-sanitizer", "[.sanitizer]") {
    check_studies(Backend::cuda, GPULAB_IF_CUDA(saxpy::cuda_copies_and_kernel),
                  {{33, 1029}, {33, 1029}, {517}, {33, 517}});
}

#if defined(GPULAB_WITH_OPENCL)
namespace saxpy {
void misspelt_raw(const Problem& p, Output& c, Stopwatch& watch); // opencl_raw with misspelt/01_raw.cl
}
TEST_CASE("opencl_raw reports a kernel that does not compile as the later rungs do, by its file and line", "[opencl]") {
    for (const Device& device : devices_or_skip(Backend::opencl)) {
        gpulab::use(device);
        saxpy::Output c(3);
        Stopwatch once;
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
#endif

TEST_CASE("cpu_divergence: even elements, or every other 32, take the first branch", "[cpu]") {
    for (const saxpy::Branch branch : {saxpy::Branch::even_odd, saxpy::Branch::warp_aligned}) {
        saxpy::Mixed out(70);
        Stopwatch once;
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
    const saxpy::Problem p = saxpy::make_problem(10000, seed);
    REQUIRE(p.size() == 10000);
    for (std::size_t i = 1; i < p.size(); ++i) {
        REQUIRE((p.a[i] != 0 && p.b[i] != 0));
        REQUIRE((p.a[i] != p.a[i - 1] || p.b[i] != p.b[i - 1]));
    }
}
