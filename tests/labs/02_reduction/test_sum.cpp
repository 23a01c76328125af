#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <vector>

#include "checks.hpp"
#include "compensated.hpp"
#include "studies.hpp"
#if defined(GPULAB_WITH_OPENCL)
#include "groups.hpp"
#include "rungs.hpp"
#endif

using gpulab::Backend;
using gpulab::Device;
using gpulab::testing::devices_or_skip;
using gpulab::testing::Faults;
using gpulab::testing::largest_near_tile;
using gpulab::testing::only_on;
using gpulab::testing::sizes_next_to;
using gpulab::testing::straddling_sizes;
using gpulab::testing::VariantCases;
using reduction::Scalar;
using reduction::SumProblem;
using reduction::testing::first_fault;
using reduction::testing::sizes_for;
using reduction::testing::whole_numbers;

namespace {

template <class T> using Variant = gpulab::Variant<reduction::SumRun<T>>;

/// Small whole numbers add up exactly in every order.
template <class T> std::string fault_by_hand(reduction::SumRun<T>* run) {
    std::vector<T> ones_to_hundred(100);
    for (std::size_t i = 0; i < 100; ++i) ones_to_hundred[i] = static_cast<T>(i + 1);
    const std::vector<std::pair<std::vector<T>, T>> sums = {{{}, 0},
                                                            {{7}, 7},
                                                            {{1, 2, 3, 4, 5}, 15},
                                                            {{1, -1, 2, -2, 3, -3}, 0},
                                                            {ones_to_hundred, 5050},
                                                            {std::vector<T>(1000, T{1}), 1000}};
    for (const auto& [numbers, expected] : sums) {
        Scalar<T> sum(1, T{-1});
        gpulab::Stopwatch once;
        gpulab::testing::in_turn([&] { run({numbers}, sum, once); });
        if (sum[0] != expected) return fmt::format("{} numbers should be {}, got {}", numbers.size(), expected, sum[0]);
    }
    return "";
}

/// CPU variants add in double. A float stops at 2^24, and cannot hold 6e38 on the way to 3e38.
std::string float_accumulator_fault(reduction::SumRun<float>* run) {
    Scalar<float> sum(1);
    gpulab::Stopwatch once;
    gpulab::testing::in_turn([&] { run({{16'777'216, 1, 1, 1, 1}}, sum, once); });
    if (sum[0] != 16'777'220) return fmt::format("2^24 + 1 + 1 + 1 + 1 should be 16777220, got {}", sum[0]);
    gpulab::testing::in_turn([&] { run({{3e38f, 3e38f, -3e38f}}, sum, once); });
    if (sum[0] != 3e38f) return fmt::format("3e38 + 3e38 - 3e38 should be 3e38, got {}", sum[0]);
    return "";
}

/// The tiles that a variant names; and what it should have done beside its answer, or "".
template <class T> std::string contract_violation(const Variant<T>& v, std::vector<gpulab::Tile>& tiles) {
    const auto p = reduction::make_sum_problem<T>(1000, gpulab::testing::seed);
    return reduction::testing::contract_violation(v, p, Scalar<T>(1), tiles);
}

/// All that one variant must do, on the current device.
template <class T> void check_sum(const Variant<T>& v, Faults& faults) {
    const bool any_n = v.name != "cuda_one_block";
    faults.check("by hand", [&] { return fault_by_hand<T>(v.run); });
    faults.check("every size", [&] { return first_fault(v.run, v.backend, sizes_for(v.name, straddling_sizes())); });
    std::vector<gpulab::Tile> tiles;
    faults.check("contract", [&] { return contract_violation<T>(v, tiles); });
    faults.check("sizes next to its tiles", [&] {
        const auto sizes = sizes_for(v.name, sizes_next_to(tiles, largest_near_tile(v.backend)));
        return first_fault(v.run, v.backend, sizes, whole_numbers);
    });
    faults.check("NaN and infinities", [&]() -> std::string {
        for (const std::size_t n : sizes_for(v.name, reduction::testing::special_sizes(tiles, 1'000'000)))
            if (const std::string fault = reduction::testing::special_fault(v.run, n, tiles); !fault.empty())
                return fault;
        return "";
    });
    if (reduction::testing::keeps_denormals<T>(v.backend))
        faults.check("denormals", [&]() -> std::string {
            // An atomic addition of floats to global memory takes denormals for 0: the blocks' sums must be larger.
            const bool atomics = v.name == "cuda_atomics";
            const T unit = atomics ? reduction::testing::large_denormal<T> : reduction::testing::smallest<T>;
            const std::size_t few = atomics ? 100 : 1;
            for (const std::size_t n : sizes_for(v.name, {few, 1000, 100'003}))
                if (const std::string fault = reduction::testing::denormal_fault(v.run, n, unit); !fault.empty())
                    return fault;
            return "";
        });
    if (any_n) // past 2^24, where a float no longer counts every integer
        faults.check("2^24 + 8 elements",
                     [&] { return first_fault(v.run, v.backend, {(1 << 24) + 8}, whole_numbers); });
    if (any_n && v.backend == Backend::cuda) // a grid-stride loop goes round several times
        faults.check("16777259 elements", [&] { return first_fault(v.run, v.backend, {16'777'259}); });
    if constexpr (std::is_same_v<T, float>)
        if (v.backend == Backend::cpu) faults.check("in double", [&] { return float_accumulator_fault(v.run); });
}

const VariantCases floats(reduction::sum_variants<float>(), "adds up floats", "", check_sum<float>);
const VariantCases doubles(reduction::sum_variants<double>(), "adds up doubles", "", check_sum<double>);

} // namespace

#if defined(GPULAB_WITH_OPENCL)
namespace {

/// Fewer and more groups than a group has items; and few groups, so that small sizes too end in the middle of a round
/// of several loads.
template <class T> void check_groups(const Variant<T>& v, Faults& faults) {
    for (const std::size_t groups : {1, 255, 256, 257, 1000}) {
        const reduction::testing::Groups requested(groups);
        faults.check(fmt::format("{} groups", groups), [&] { return first_fault(v.run, v.backend, {1023, 300'007}); });
    }
    for (const std::size_t groups : {1, 2, 3}) {
        const reduction::testing::Groups requested(groups);
        faults.check(fmt::format("{} groups, every size", groups),
                     [&] { return first_fault(v.run, v.backend, straddling_sizes(), whole_numbers); });
        faults.check(fmt::format("{} groups, sizes next to its tiles", groups), [&] {
            std::vector<gpulab::Tile> tiles;
            const std::string fault = contract_violation<T>(v, tiles);
            if (!fault.empty()) return fault;
            return first_fault(v.run, v.backend, sizes_next_to(tiles, 1 << 20), whole_numbers);
        });
    }
}

const VariantCases float_groups(reduction::sum_variants<float>(), "joins the float sums of any number of groups", "",
                                check_groups<float>, only_on<Backend::opencl>);
const VariantCases double_groups(reduction::sum_variants<double>(), "joins the double sums of any number of groups", "",
                                 check_groups<double>, only_on<Backend::opencl>);

/// For oclgrind: a ragged group, then two tiles, a group and a tail that fills no vector. The tile of the second round
/// of a tree, 65536 elements, would take it too long.
template <class T> void check_small(const Variant<T>& v, Faults& faults) {
    faults.check("one group", [&] { return first_fault(v.run, v.backend, {1, 33}, whole_numbers); });
    const reduction::testing::Groups requested(2);
    faults.check("several rounds", [&] {
        std::vector<gpulab::Tile> tiles;
        const std::string fault = contract_violation<T>(v, tiles);
        if (!fault.empty()) return fault;
        std::size_t largest = 0;
        for (const gpulab::Tile& tile : tiles)
            if (tile.size < 10'000) largest = std::max(largest, tile.size);
        return first_fault(v.run, v.backend, {2 * largest + 263}, whole_numbers);
    });
}

const VariantCases oclgrind_floats(reduction::sum_variants<float>(), "adds up floats under oclgrind", "[.oclgrind]",
                                   check_small<float>, only_on<Backend::opencl>);
const VariantCases oclgrind_doubles(reduction::sum_variants<double>(), "adds up doubles under oclgrind", "[.oclgrind]",
                                    check_small<double>, only_on<Backend::opencl>);

} // namespace
#endif

#if defined(GPULAB_WITH_CUDA)
namespace {

/// For compute-sanitizer: a block that is not full, two tiles and a ragged one, and a grid that goes round.
template <class T> void check_sanitized(const Variant<T>& v, Faults& faults) {
    std::vector<gpulab::Tile> tiles;
    faults.check("contract", [&] { return contract_violation<T>(v, tiles); });
    reduction::testing::Sizes sizes = {0, 1, 1000};
    for (const gpulab::Tile& tile : tiles) // all but the tile of the third round of a tree
        if (tile.size < 1 << 24) sizes.push_back(2 * tile.size + 5);
    faults.check("small sizes", [&] { return first_fault(v.run, v.backend, sizes_for(v.name, sizes), whole_numbers); });
}

const VariantCases sanitizer_floats(reduction::sum_variants<float>(), "adds up floats under compute-sanitizer",
                                    "[.sanitizer]", check_sanitized<float>, gpulab::testing::own_cuda);
const VariantCases sanitizer_doubles(reduction::sum_variants<double>(), "adds up doubles under compute-sanitizer",
                                     "[.sanitizer]", check_sanitized<double>, gpulab::testing::own_cuda);

} // namespace

TEST_CASE("cuda_one_block refuses more than 1024 elements", "[cuda]") {
    for (const Device& device : devices_or_skip(Backend::cuda)) {
        gpulab::use(device);
        const auto p = reduction::make_sum_problem<float>(1025, gpulab::testing::seed);
        Scalar<float> sum(1);
        gpulab::Stopwatch once;
        CHECK_THROWS_AS(reduction::cuda_one_block(p, sum, once), gpulab::Unsupported);
    }
}

TEST_CASE("cuda_single_pass gives the same bits every time", "[cuda]") {
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
    double plain = 0;
    for (const double x : p.a) plain += x;
    CHECK(plain == 0);
    // Ten million tenths: plain additions are off in the ninth digit.
    reduction::CompensatedSum tenths;
    for (int i = 0; i < 10'000'000; ++i) tenths.add(0.1);
    CHECK(tenths.value() == 1'000'000);
}

TEST_CASE("cpu_kahan keeps what plain additions lose", "[cpu]") {
    Scalar<double> kahan(1);
    gpulab::Stopwatch once;
    reduction::cpu_kahan<double>({{1, 0x1p100, 1, -0x1p100}}, kahan, once);
    CHECK(kahan[0] == 2);
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
                return gpulab::testing::fault_of(run, n, found,
                                                 [&] { return gpulab::compare(expected, found, tolerance); });
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
    const auto p = reduction::make_sum_problem<float>(10000, gpulab::testing::seed);
    REQUIRE(p.size() == 10000);
    for (std::size_t i = 1; i < p.size(); ++i) REQUIRE((p.a[i] > 0 && p.a[i] < 1 && p.a[i] != p.a[i - 1]));
}
