#include <catch2/catch_test_macros.hpp>
#include <optional>
#include <vector>

#include "checks.hpp"
#include "gpulab_testing/environment.hpp"
#include "rungs.hpp"

using namespace gpulab::testing;
using namespace reduction::testing;
using gpulab::Backend;
using reduction::Prefixes;
using reduction::Scan;

#if defined(GPULAB_WITH_CUDA)
namespace perturbed { // in perturbed_scan.cu
reduction::ScanRun<int> scan_with_blocks_reversed, scan_with_late_blocks, duties_with_late_blocks;
}
#endif

namespace {

template <class T> using Variant = gpulab::Variant<reduction::ScanRun<T>>;

template <class T> std::string fault_by_hand(reduction::ScanRun<T>* run) {
    struct Case {
        Scan kind;
        std::vector<T> a;
        Prefixes<T> expected;
    };
    std::vector<Case> cases = {
        {Scan::inclusive, {}, {}},
        {Scan::exclusive, {}, {}},
        {Scan::inclusive, {7}, {7}},
        {Scan::exclusive, {7}, {0}},
        {Scan::inclusive, {3, 1, 4, 1, 5}, {3, 4, 8, 9, 14}},
        {Scan::exclusive, {3, 1, 4, 1, 5}, {0, 3, 4, 8, 9}},
    };
    constexpr int many = 1 << 24;
    if constexpr (!std::is_same_v<T, float>) // more than 24 bits
        cases.push_back({Scan::inclusive, {many, 1, 1 << 29}, {many, many + 1, many + 1 + (1 << 29)}});
    for (const Case& c : cases) {
        Prefixes<T> out(c.a.size(), T{-1});
        gpulab::Stopwatch once;
        in_turn([&] { run({c.kind, c.a}, out, once); });
        const auto comparison = gpulab::compare(c.expected, out, 0);
        if (!comparison.passed) return comparison.message;
    }
    return "";
}

/// The tiles that a variant names; and what it should have done beside its answer, or "".
template <class T> std::string contract(const Variant<T>& v, std::vector<gpulab::Tile>& tiles) {
    const auto p = reduction::make_scan_problem<T>(Scan::inclusive, 1000, seed);
    return contract_violation(v, p, Prefixes<T>(1000), tiles);
}

template <class T> void check_scan(const Variant<T>& v, Faults& faults) {
    faults.check("by hand", [&] { return fault_by_hand<T>(v.run); });
    faults.check("every size",
                 [&] { return first_scan_fault(v.run, v.backend, sizes_for(v.name, straddling_sizes())); });
    std::vector<gpulab::Tile> tiles;
    faults.check("contract", [&] { return contract<T>(v, tiles); });
    faults.check("sizes next to its tiles", [&] {
        const std::size_t largest = std::min<std::size_t>(largest_near_tile(v.backend), 1 << 22);
        return first_scan_fault(v.run, v.backend, sizes_for(v.name, sizes_next_to(tiles, largest)), whole_numbers);
    });
    if constexpr (std::is_floating_point_v<T>) {
        faults.check("NaN and infinities at every place", [&] {
            return first_in(sizes_for(v.name, special_sizes(tiles, 100'000)), [&](std::size_t n) {
                const bool every_place = std::is_same_v<T, float> && n > 2000 && n < 3000; // two small tiles
                const std::size_t most = every_place ? n : n < 2000 ? 64 : 200;
                return special_scan_fault(v.run, n, tiles, most);
            });
        });
        if (sizes_for(v.name, {100'003}).size() == 1)
            faults.check("NaN and infinities among 100003", [&] { return special_scan_fault(v.run, 100'003); });
        if (keeps_denormals<T>(v.backend))
            faults.check("denormals", [&] {
                return first_in(sizes_for(v.name, {1, 1000, 100'003}),
                                [&](std::size_t n) { return denormal_scan_fault(v.run, n); });
            });
    }
    if (sizes_for(v.name, {1 << 24}).empty()) {
        const auto p = reduction::make_scan_problem<T>(Scan::inclusive, 1025, seed);
        faults.check("more than a block has threads",
                     [&] { return refusal_fault(v.run, p, Prefixes<T>(1025), "1025 elements"); });
        return;
    }
    faults.check("2^24 + 8 elements",
                 [&] { return first_scan_fault(v.run, v.backend, {(1 << 24) + 8}, whole_numbers); });
    if (v.backend == Backend::cuda && !std::is_same_v<T, double>)
        faults.check("16777259 elements", [&] { return first_scan_fault(v.run, v.backend, {16'777'259}); });
}

/// For oclgrind: a ragged group, and, with one type, two tiles of 1024 elements with a ragged one behind.
template <class T> void check_small(const Variant<T>& v, Faults& faults) {
    const Sizes sizes = std::is_same_v<T, int> ? Sizes{2 * 1024 + 5} : Sizes{33};
    faults.check("small sizes", [&] { return first_scan_fault(v.run, v.backend, sizes, whole_numbers); });
}

/// For compute-sanitizer: a tile that is not full, and two tiles with a ragged one behind. Tiles of a million elements,
/// at which the sums of the blocks are scanned in two levels, with one type: under racecheck each run took 5 to 12 s.
template <class T> void check_sanitized(const Variant<T>& v, Faults& faults) {
    // initcheck does not see what a bulk copy stores, and takes it for unset. What it overwrites is set: to poison.
    std::optional<Environment> poisoned;
    if (v.name == "cuda_scan_warp_duties") poisoned.emplace("GPULAB_POISON", "1");
    std::vector<gpulab::Tile> tiles;
    faults.check("contract", [&] { return contract<T>(v, tiles); });
    Sizes sizes = {0, 1, 1000};
    for (const gpulab::Tile& tile : tiles)
        if (tile.size < 100'000 || std::is_same_v<T, int>) sizes.push_back(2 * tile.size + 5);
    faults.check("small sizes",
                 [&] { return first_scan_fault(v.run, v.backend, sizes_for(v.name, sizes), whole_numbers); });
}

template <class T> bool add_cases(const std::string& numbers) {
    const auto scans = reduction::scan_variants<T>();
    VariantCases(scans, "scans " + numbers, "", check_scan<T>);
    VariantCases(scans, "scans " + numbers + " under oclgrind", "[.oclgrind]", check_small<T>,
                 only_on<Backend::opencl>);
    VariantCases(scans, "scans " + numbers + " under compute-sanitizer", "[.sanitizer]", check_sanitized<T>, own_cuda);
    return true;
}
const bool added[] = {add_cases<float>("floats"), add_cases<double>("doubles"), add_cases<int>("whole numbers")};

#if defined(GPULAB_WITH_CUDA)
// 700 tiles of cuda_scan_look_back, 1556 of cuda_scan_warp_duties: more than there are blocks on the device at a time.
constexpr Variant<int> reversed[] = {{"cuda_scan_look_back", "", Backend::cuda, perturbed::scan_with_blocks_reversed}},
                       waiting[] = {{"cuda_scan_look_back", "", Backend::cuda, perturbed::scan_with_late_blocks},
                                    {"cuda_scan_warp_duties", "", Backend::cuda, perturbed::duties_with_late_blocks}};
void check_perturbed(const Variant<int>& v, Faults& faults) {
    faults.check("700 tiles", [&] { return first_scan_fault(v.run, v.backend, {700 * 20480 - 5}, whole_numbers); });
}
const VariantCases in_another_order(reversed, "scans whole numbers with blocks in another order", "", check_perturbed);
const VariantCases perturbed_blocks(waiting, "scans whole numbers with perturbed blocks", "", check_perturbed);
#endif

} // namespace
