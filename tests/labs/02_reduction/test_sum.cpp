#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <iostream>
#include <numeric>
#include <vector>

#include "checks.hpp"
#include "compensated.hpp"
#include "groups.hpp"
#include "optional_sums.hpp"
#include "rungs.hpp"
#include "studies.hpp"

using namespace gpulab::testing;
using namespace reduction::testing;
using gpulab::Backend;
using gpulab::Device;
using reduction::Scalar;
using reduction::SumProblem;

namespace {

template <class T> using Variant = gpulab::Variant<reduction::SumRun<T>>;

/// Small whole numbers add up exactly in every order.
template <class T> std::string fault_by_hand(reduction::SumRun<T>* run) {
    std::vector<T> ones_to_hundred(100), ones_to_thousand(1000);
    std::iota(ones_to_hundred.begin(), ones_to_hundred.end(), T{1});
    std::iota(ones_to_thousand.begin(), ones_to_thousand.end(), T{1});
    const std::vector<std::pair<std::vector<T>, T>> sums = {{{}, 0},
                                                            {{7}, 7},
                                                            {{1, 2, 3, 4, 5}, 15},
                                                            {{1, -1, 2, -2, 3, -3}, 0},
                                                            {ones_to_hundred, 5050},
                                                            {std::vector<T>(1000, T{1}), 1000},
                                                            {ones_to_thousand, 500'500}};
    return first_in(sums, [&](const auto& pair) {
        const auto& [numbers, expected] = pair;
        const T sum = value_of(run, {numbers});
        return sum == expected ? "" : fmt::format("{} numbers should be {}, got {}", numbers.size(), expected, sum);
    });
}

/// CPU variants add in double. A float stops at 2^24, and cannot hold 6e38 on the way to 3e38.
std::string float_accumulator_fault(reduction::SumRun<float>* run) {
    const float four_more = value_of(run, {{16'777'216, 1, 1, 1, 1}});
    if (four_more != 16'777'220) return fmt::format("2^24 + 1 + 1 + 1 + 1 should be 16777220, got {}", four_more);
    const float large = value_of(run, {{3e38f, 3e38f, -3e38f}});
    return large == 3e38f ? "" : fmt::format("3e38 + 3e38 - 3e38 should be 3e38, got {}", large);
}

/// The tiles that a variant names; and what it should have done beside its answer, or "".
template <class T> std::string contract(const Variant<T>& v, std::vector<gpulab::Tile>& tiles) {
    return contract_violation(v, reduction::make_sum_problem<T>(1000, seed), Scalar<T>(1), tiles);
}

/// All that one variant must do, on the current device.
template <class T> void check_sum(const Variant<T>& v, Faults& faults) {
    const bool any_n = v.name != "cuda_one_block";
    faults.check("by hand", [&] { return fault_by_hand<T>(v.run); });
    faults.check("every size", [&] { return first_fault(v.run, v.backend, sizes_for(v.name, straddling_sizes())); });
    std::vector<gpulab::Tile> tiles;
    faults.check("contract", [&] { return contract<T>(v, tiles); });
    faults.check("sizes next to its tiles", [&] {
        const auto sizes = sizes_for(v.name, sizes_next_to(tiles, largest_near_tile(v.backend)));
        return first_fault(v.run, v.backend, sizes, whole_numbers);
    });
    faults.check("NaN and infinities", [&] {
        return first_in(sizes_for(v.name, special_sizes(tiles, 1'000'000)),
                        [&](std::size_t n) { return special_fault(v.run, n, tiles); });
    });
    if (keeps_denormals<T>(v.backend))
        faults.check("denormals", [&] {
            // An atomic addition of floats to global memory takes denormals for 0: the blocks' sums must be larger.
            const bool atomics = v.name == "cuda_atomics";
            const T unit = atomics ? large_denormal<T> : smallest<T>;
            const std::size_t few = atomics ? 100 : 1;
            return first_in(sizes_for(v.name, {few, 1000, 100'003}),
                            [&](std::size_t n) { return denormal_fault(v.run, n, unit); });
        });
    if (any_n) // past 2^24, where a float no longer counts every integer
        faults.check("2^24 + 8 elements",
                     [&] { return first_fault(v.run, v.backend, {(1 << 24) + 8}, whole_numbers); });
    else
        faults.check("more than a block has threads", [&] {
            return refusal_fault(v.run, reduction::make_sum_problem<T>(1025, seed), Scalar<T>(1), "1025 elements");
        });
    if (any_n && v.backend == Backend::cuda) // a grid-stride loop goes round several times
        faults.check("16777259 elements", [&] { return first_fault(v.run, v.backend, {16'777'259}); });
    if constexpr (std::is_same_v<T, float>)
        if (v.backend == Backend::cpu) faults.check("in double", [&] { return float_accumulator_fault(v.run); });
}

/// Fewer and more groups than a group has items; and few groups, so that small sizes too end in the middle of a round
/// of several loads.
template <class T> void check_groups(const Variant<T>& v, Faults& faults) {
    for (const std::size_t groups : {1, 3, 255, 256, 257, 1000}) {
        const Groups requested(groups);
        faults.check(fmt::format("{} groups", groups), [&] {
            return first_fault(v.run, v.backend, {1023, 4099, 300'007});
        });
    }
    for (const std::size_t groups : {1, 2, 3}) {
        const Groups requested(groups);
        faults.check(fmt::format("{} groups, every size", groups),
                     [&] { return first_fault(v.run, v.backend, straddling_sizes(), whole_numbers); });
        faults.check(fmt::format("{} groups, sizes next to its tiles", groups), [&] {
            std::vector<gpulab::Tile> tiles;
            const std::string fault = contract<T>(v, tiles);
            if (!fault.empty()) return fault;
            return first_fault(v.run, v.backend, sizes_next_to(tiles, 1 << 20), whole_numbers);
        });
    }
}

/// For oclgrind: a ragged group, then two tiles, a group and a tail that fills no vector. The tile of the second round
/// of a tree, 65536 elements, would take it too long.
template <class T> void check_small(const Variant<T>& v, Faults& faults) {
    faults.check("one group", [&] { return first_fault(v.run, v.backend, {1, 33}, whole_numbers); });
    const Groups requested(2);
    faults.check("several rounds", [&] {
        std::vector<gpulab::Tile> tiles;
        const std::string fault = contract<T>(v, tiles);
        if (!fault.empty()) return fault;
        std::size_t largest = 0;
        for (const gpulab::Tile& tile : tiles)
            if (tile.size < 10'000) largest = std::max(largest, tile.size);
        return first_fault(v.run, v.backend, {2 * largest + 263}, whole_numbers);
    });
}

/// For compute-sanitizer: a block that is not full, two tiles and a ragged one, and a grid that goes round.
template <class T> void check_sanitized(const Variant<T>& v, Faults& faults) {
    std::vector<gpulab::Tile> tiles;
    faults.check("contract", [&] { return contract<T>(v, tiles); });
    Sizes sizes = {0, 1, 1000};
    for (const gpulab::Tile& tile : tiles) // all but the tile of the third round of a tree
        if (tile.size < 1 << 24) sizes.push_back(2 * tile.size + 5);
    faults.check("small sizes", [&] { return first_fault(v.run, v.backend, sizes_for(v.name, sizes), whole_numbers); });
}

/// Whether the current device can run a sum that needs what OpenCL 3.0 leaves to the device. Where no device here can,
/// the test case is skipped.
template <class T> bool able(const Variant<T>& v) {
    const auto why_not = [&] { return message_of<gpulab::Unsupported>([&] { (void)value_of(v.run, {}); }); };
    const std::string why = why_not();
    if (why.empty()) return true;
    for (const Device& device : devices_or_skip(v.backend)) {
        if (!gpulab::unmet_need(v.needs, device).empty()) continue;
        gpulab::use(device);
        if (why_not().empty()) return false;
    }
    std::cout << "skipped: " << why << std::endl; // also where devices are required: none has what is optional
    SKIP(why);
    return false;
}

/// @param floats the name of the type
template <class T> bool add_cases(const std::string& floats) {
    const auto sums = reduction::sum_variants<T>();
    VariantCases(sums, "adds up " + floats + "s", "", check_sum<T>);
    VariantCases(sums, "joins the " + floats + " sums of any number of groups", "", check_groups<T>,
                 only_on<Backend::opencl>);
    VariantCases(sums, "adds up " + floats + "s under oclgrind", "[.oclgrind]", check_small<T>,
                 only_on<Backend::opencl>);
    VariantCases(sums, "adds up " + floats + "s under compute-sanitizer", "[.sanitizer]", check_sanitized<T>, own_cuda);
    VariantCases(reduction::optional_sum_variants<T>(), "adds up " + floats + "s", "",
                 [](const auto& v, Faults& faults) {
                     if (!able<T>(v)) return;
                     check_sum<T>(v, faults);
                     check_groups<T>(v, faults);
                 });
    return true;
}
const bool added[] = {add_cases<float>("float"), add_cases<double>("double")};

} // namespace

#if defined(GPULAB_WITH_CUDA)
TEST_CASE("cuda_single_pass gives the same bits every time", "[cuda]") {
    for (const Device& device : devices_or_skip(Backend::cuda)) {
        gpulab::use(device);
        const auto p = reduction::make_sum_problem<float>(1000003, seed);
        const float first = value_of(reduction::cuda_single_pass<float>, p);
        for (int i = 0; i < 5; ++i) CHECK(value_of(reduction::cuda_single_pass<float>, p) == first);
    }
}
#endif

TEST_CASE("the reference keeps what plain additions lose") {
    // 1 + 2^100 - 2^100 added in order: a double forgets the 1, Kahan's own formula too, Neumaier's does not.
    const SumProblem<double> p{{1, 0x1p100, 1, -0x1p100}};
    CHECK(reduction::expected_sum(p).value[0] == 2);
    double plain = 0;
    for (const double x : p.a) plain += x;
    CHECK(plain == 0);
    // Ten million tenths: plain additions are off in the ninth digit.
    reduction::CompensatedSum tenths;
    for (int i = 0; i < 10'000'000; ++i) tenths.add(0.1);
    CHECK(tenths.value() == 1'000'000);
}

TEST_CASE("cpu_kahan keeps what plain additions lose", "[cpu]") {
    CHECK(value_of<double>(reduction::cpu_kahan<double>, {{1, 0x1p100, 1, -0x1p100}}) == 2);
}

namespace {
/// Checks the additions of study lost-update on every device: atomic ones lose none, unprotected ones leave 1 to n.
void check_count(Backend backend, reduction::CountRun* count) {
    for (const Device& device : devices_or_skip(backend)) {
        gpulab::use(device);
        for (const std::size_t n : {1, 255, 256, 257, 100'003}) {
            INFO("n = " << n << " on " << device.name);
            const reduction::Count expected(1, static_cast<std::uint32_t>(n));
            reduction::Count found(1);
            const auto fault = [&](reduction::Addition addition, double tolerance) {
                const auto run = [&](std::size_t additions, reduction::Count& c, gpulab::Stopwatch& watch) {
                    count(additions, addition, c, watch);
                };
                return fault_of(run, n, found, [&] { return gpulab::compare(expected, found, tolerance); });
            };
            CHECK(fault(reduction::Addition::atomic, 0) == "");
            CHECK(fault(reduction::Addition::unprotected, static_cast<double>(n - 1)) == "");
            CHECK(found[0] <= n);
        }
    }
}
} // namespace
TEST_CASE("CPU threads lose no atomic addition", "[cpu]") { check_count(Backend::cpu, reduction::cpu_count); }
#if defined(GPULAB_WITH_OPENCL)
TEST_CASE("OpenCL items lose no atomic addition", "[opencl]") { check_count(Backend::opencl, reduction::opencl_count); }
#endif
#if defined(GPULAB_WITH_CUDA)
TEST_CASE("CUDA threads lose no atomic addition", "[cuda]") { check_count(Backend::cuda, reduction::cuda_count); }
#endif

TEST_CASE("a float accumulator stops at 2^24") { // so that the check of the CPU variants means something
    float stuck = 16'777'216;
    for (int i = 0; i < 4; ++i) stuck += 1;
    CHECK(stuck == 16'777'216);
}

TEST_CASE("the tolerance is tight enough to see one block of 256 missing among a million") {
    constexpr std::size_t n = 1'000'003;
    CHECK(reduction::tolerance<float>(Backend::cuda, n) < 256.0 / n);
    CHECK(reduction::tolerance<double>(Backend::cuda, n) < 1e-12);
    CHECK(reduction::tolerance<float>(Backend::cpu, n) < 1.0 / n);
}

TEST_CASE("the input is random: no element is zero or equal to its neighbour") {
    const auto p = reduction::make_sum_problem<float>(10000, seed);
    REQUIRE(p.size() == 10000);
    for (std::size_t i = 1; i < p.size(); ++i) REQUIRE((p.a[i] > 0 && p.a[i] < 1 && p.a[i] != p.a[i - 1]));
}
