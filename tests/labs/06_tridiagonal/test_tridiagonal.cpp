#include <array>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers.hpp>
#include <cmath>
#include <limits>
#include <set>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "checks.hpp"
#include "gpulab/options.hpp"
#include "lane.hpp"
#include "layouts.hpp"
#include "rungs.hpp"

using gpulab::Backend;
using gpulab::testing::Faults;
using gpulab::testing::VariantCases;
using namespace tridiagonal;
using namespace tridiagonal::testing;

namespace {

/// Around every power of two at which a warp or a block ends, one system and several.
Shapes all_shapes() {
    Shapes shapes;
    for (const std::size_t n :
         {1,   2,   3,   4,   5,   7,   8,   9,   15,  16,  17,  31,   32,   33,   63,   64,   65,
          127, 128, 129, 200, 255, 256, 257, 511, 512, 513, 777, 1000, 1023, 1024, 1025, 2048, 4097})
        for (const std::size_t systems : {1, 7}) shapes.push_back({n, systems});
    for (const std::size_t systems : {31, 32, 33, 100, 257}) shapes.push_back({19, systems});
    shapes.push_back({64, 70}); // two and more squares of 32 x 32, whole in one direction
    shapes.push_back({70, 64});
    shapes.push_back({4, 4099}); // more systems than unknowns, and than any group or block has items
    return shapes;
}

// Enough work for all threads at a time, and a prime.
const Shapes large_shapes = {{4097, 40}, {100003, 1}};

// 66: a last chunk of two equations, for opencl_partition.
const Shapes special_shapes = {{1, 3},   {2, 3},    {3, 1},    {5, 4},    {8, 3},     {16, 5},
                               {33, 3},  {64, 3},   {65, 1},   {66, 3},   {100, 40},  {257, 3},
                               {520, 1}, {1000, 2}, {1100, 2}, {2100, 2}, {140000, 1}};

/// All that every variant must do, on the current device.
template <class T> void check(const gpulab::Variant<Run<T>>& variant, Faults& faults) {
    const Candidate<T> v{variant.run, variant.name};
    const Shapes shapes = all_shapes();
    faults.check("equations by hand", [&] { return fault_by_hand(v); });
    faults.check("every shape", [&] { return first_fault(v, shapes, matrix_kinds); });
    faults.check("large shapes", [&] { // once, with the kind in which errors travel farthest
        Shapes taken = large_shapes;
        std::erase_if(taken, [&](const Shape& shape) { return may_refuse(v.name, shape); });
        return taken.empty() ? "" : first_fault(v, taken, {"spd"});
    });
    faults.check("a known solution", [&] { return poisson_fault(v, shapes); });

    std::vector<gpulab::Tile> tiles; // of a shape that no variant refuses, and of some with several systems
    faults.check("contract", [&]() -> std::string {
        for (const Shape& shape : {Shape{900, 1}, Shape{40, 9}, Shape{700, 3}}) {
            if (may_refuse(v.name, shape)) continue;
            const Problem<T> p = whole_numbers<T>(shape.n, shape.systems);
            Output<T> out(shape.n, shape.systems);
            Stopwatch watch;
            try {
                gpulab::testing::in_turn([&] { v.run(p, out, watch); });
            } catch (const gpulab::WrongResult& e) {
                return e.what();
            }
            tiles.insert(tiles.end(), watch.tiles().begin(), watch.tiles().end());
            const std::string fault =
                gpulab::testing::contract_violation(variant.backend, variant.baseline, watch, {"unknowns", "systems"});
            if (!fault.empty()) return fault;
        }
        return "";
    });
    faults.check("sizes next to its tiles", [&]() -> std::string {
        const std::size_t largest =
            gpulab::testing::largest_near_tile(variant.backend) > 1 << 21 ? std::size_t{1} << 21 : 1 << 16;
        Shapes near;
        for (const std::size_t n : gpulab::testing::sizes_next_to(tiles, largest, "unknowns"))
            if (n > 0)
                for (const std::size_t systems : {1, 3})
                    if (n * systems <= largest || systems == 1) near.push_back({n, systems});
        for (const std::size_t systems : gpulab::testing::sizes_next_to(tiles, largest / 16, "systems"))
            if (systems > 0) near.push_back({5, systems});
        return near.empty() ? "" : first_fault(v, near, {});
    });
    if (variant.baseline) return; // a library may do as it likes with NaN, and reports no zero pivot
    // 65535 is the most blocks that a grid has in its y and z directions.
    faults.check("more than 65535 systems", [&] {
        return may_refuse(v.name, {2, 2}) ? "" : fault_with(v, whole_numbers<T>(2, 65'601), true);
    });
    faults.check("limits of shared memory", [&] { return memory_limit_fault(v); });
    Shapes special = special_shapes;
    std::erase_if(special, [&](const Shape& shape) { return too_large_for_rows(v.name, shape); });
    faults.check("NaN", [&] { return nan_fault(v, special); });
    faults.check("zero pivots", [&] { return zero_pivot_fault(v, special); });
    faults.check("pivots that are zero in some orders", [&] {
        return solvable_fault(v, {{2, 3}, {33, 3}, {520, 1}, {1026, 2}});
    });
    faults.check("the lowest zero pivot", [&] { return lowest_zero_fault(v, special); });
    faults.check("a zero pivot of the last level", [&] {
        return v.name.ends_with("_partition") ? zero_pivot_fault(v, {{66'000, 1}}, row_of_last_level) : "";
    });
    faults.check("a zero pivot in the last step", [&] { return last_zero_fault(v, {{64, 3}, {100, 2}, {1024, 3}}); });
    faults.check("scales", [&] { return scale_fault(v, variant.backend); });
    faults.check("what an earlier kernel left behind", [&] { return leftovers_fault(v, variant.backend); });
    faults.check("options in pairs", [&] { return pairs_fault(v); });
}

const VariantCases in_double(variants<double>(), "solves in double", "", check<double>);
const VariantCases in_float(variants<float>(), "solves in float", "", check<float>);

// For oclgrind, a thousand times slower than the device: ragged groups and chunks, and several systems.
template <class T> void check_small(const gpulab::Variant<Run<T>>& v, Faults& faults) {
    Shapes shapes = {{1, 1}, {2, 3}, {5, 2}, {33, 2}, {130, 1}};
    if (!v.name.ends_with("cr")) shapes.push_back({3, 70}); // these have a group for each system, the others for 64
    faults.check("small systems", [&] { return first_fault<T>({v.run, v.name}, shapes, {}); });
    faults.check("a zero pivot in the last step", [&] { return last_zero_fault<T>({v.run, v.name}, {{64, 1}}); });
    if (v.name.ends_with("_partition"))
        faults.check("three levels", [&] { return first_fault<T>({v.run, v.name}, {{2049, 1}}, {}); });
}
const VariantCases oclgrind_double(variants<double>(), "in double under oclgrind", "[.oclgrind]", check_small<double>,
                                   gpulab::testing::only_on<Backend::opencl>);
} // namespace

#if defined(GPULAB_WITH_CUDA)
namespace {
// For compute-sanitizer: one warp and several, several systems in a warp, three levels; of whole numbers alone, because
// the accesses do not depend on the numbers.
template <class T> void check_tools(const gpulab::Variant<Run<T>>& v, Faults& faults) {
    faults.check("small systems", [&] {
        return first_fault<T>({v.run, v.name}, {{1, 1}, {3, 40}, {33, 5}, {130, 3}, {600, 2}, {1024, 1}}, {});
    });
    faults.check("zero pivots", [&] { return zero_pivot_fault<T>({v.run, v.name}, {{33, 3}, {300, 1}}, thin_rows); });
    faults.check("a zero pivot in the last step", [&] { return last_zero_fault<T>({v.run, v.name}, {{128, 1}}); });
    if (v.name.ends_with("_partition"))
        faults.check("three levels", [&] { return first_fault<T>({v.run, v.name}, {{131500, 1}}, {}); });
}
const VariantCases sanitizer_double(variants<double>(), "in double under compute-sanitizer", "[.sanitizer]",
                                    check_tools<double>, gpulab::testing::own_cuda);
const VariantCases sanitizer_float(variants<float>(), "in float under compute-sanitizer", "[.sanitizer]",
                                   check_tools<float>, gpulab::testing::own_cuda);

// A thread of a GPU takes seconds for such a system.
const VariantCases too_long(
    variants<float>(), "refuses a system too long for one thread", "",
    [](const auto& v, Faults& faults) {
        faults.check("2^20 + 1 unknowns", [&]() -> std::string {
            const std::size_t n = max_for_one_thread + 1;
            const auto p = make_problem<float>("dominant", n, 1, seed);
            Output<float> out(n, 1);
            Stopwatch once(0, 1);
            const std::string why = gpulab::testing::message_of<gpulab::Unsupported>([&] { v.run(p, out, once); });
            return why.find("1048577 unknowns") != std::string::npos ? "" : "it says: " + why;
        });
    },
    [](std::string_view name, Backend backend) {
        return backend == Backend::cuda && name.find("_thomas") != std::string_view::npos;
    });

// Above 256 unknowns these have a block for each system.
const VariantCases blocks(
    variants<float>(), "solves more than 65535 systems with a block for each", "[large]",
    [](const auto& v, Faults& faults) {
        faults.check("65601 systems of 257 unknowns", [&] {
            return fault_with<float>({v.run, v.name}, whole_numbers<float>(257, 65'601), true);
        });
    },
    [](std::string_view name, Backend) { return name == "cuda_registers" || name == "cuda_hybrid"; });

// One system for which the coarse systems of the partition method have several levels.
const VariantCases million(
    variants<double>(), "solves one system of 20 million", "[large]",
    [](const auto& v, Faults& faults) {
        faults.check("20 million unknowns", [&] {
            return first_fault<double>({v.run, v.name}, {{20'000'003, 1}}, {"dominant"});
        });
    },
    [](std::string_view name, Backend backend) { return backend == Backend::cuda && name.ends_with("_partition"); });
} // namespace
#endif

TEST_CASE("the reference solves what is known") {
    const auto p = make_problem<double>("poisson", 1000, 9, 1);
    const auto reference = make_reference(p);
    for (std::size_t k = 0; k < p.size(); ++k)
        REQUIRE(std::abs(reference.out.x[k] - poisson_solution<double>(1000, k / 1000, k % 1000)) <=
                1e-12 * reference.out.x[k]);
    CHECK(poisson_solution<double>(3, 0, 0) == 1.5); // 2 * 1.5 - 2 = 1
    CHECK(poisson_solution<double>(3, 1, 1) == 4);   // 2 * 4 - 2 * 3 = 2
    CHECK(relative_residual(p, reference.out) < 1e-15);
}

TEST_CASE("the matrices are what they are called") {
    const auto dominant = make_problem<double>("dominant", 50, 4, 7);
    std::size_t negative = 0;
    for (std::size_t k = 0; k < dominant.size(); ++k) {
        CHECK(std::abs(dominant.b[k]) > std::abs(dominant.a[k]) + std::abs(dominant.c[k]));
        negative += dominant.b[k] < 0;
    }
    CHECK(negative > 50); // of 200
    CHECK(negative < 150);
    const auto spd = make_problem<double>("spd", 50, 4, 7);
    bool ever_not_dominant = false;
    for (std::size_t k = 0; k < spd.size(); ++k) {
        if (k % 50 + 1 < 50) CHECK(spd.c[k] == spd.a[k + 1]);
        const double left = k % 50 == 0 ? 0 : std::abs(spd.a[k]), right = k % 50 == 49 ? 0 : std::abs(spd.c[k]);
        ever_not_dominant = ever_not_dominant || spd.b[k] < left + right;
    }
    CHECK(ever_not_dominant);
    const auto reference = make_reference(spd);
    CHECK(reference.scale.size() == spd.size()); // the bound holds for it
    CHECK(dominant.a[0] != 0);                   // what has no meaning is not zero by chance
    CHECK(dominant.c[49] != 0);
    CHECK_THROWS_AS(make_problem<double>("hilbert", 3, 1, 1), gpulab::UsageError);
    CHECK_THROWS_AS(make_problem<double>("spd", 0, 1, 1), gpulab::UsageError);
}

TEST_CASE("the check sees one wrong unknown, a NaN, a zero pivot, what was never written and another length") {
    const auto p = make_problem<double>("dominant", 300, 4, 3);
    const auto reference = make_reference(p);
    Output<double> out = reference.out;
    REQUIRE(compare(p, reference, out).passed);
    std::string expected;
    SECTION("off in the twelfth digit") { out.x[777] *= 1 + 1e-12; }
    SECTION("zero") { out.x[1199] = 0; }
    SECTION("NaN") { out.x[0] = std::nan(""); }
    SECTION("two systems exchanged") { std::swap_ranges(out.x.begin(), out.x.begin() + 300, out.x.begin() + 300); }
    SECTION("a zero pivot") {
        out.zero_pivot[2] = 17;
        expected = "zero pivot in system 2, row 17";
    }
    SECTION("unwritten") {
        gpulab::poison(out.zero_pivot);
        expected = "nobody wrote whether system 0 has a zero pivot";
    }
    SECTION("fewer unknowns") {
        out.x.pop_back();
        expected = "expected 1200 unknowns, got 1199";
    }
    SECTION("more unknowns") {
        out.x.push_back(0);
        expected = "expected 1200 unknowns, got 1201";
    }
    SECTION("fewer zero pivots") {
        out.zero_pivot.pop_back();
        expected = "zero pivots of another length";
    }
    const auto comparison = compare(p, reference, out);
    CHECK_FALSE(comparison.passed);
    if (!expected.empty()) CHECK(comparison.message == expected);
}

TEST_CASE("the tolerance is what the hand-out says") {
    CHECK(tolerance<double>(1) == 2 * std::numeric_limits<double>::epsilon());
    CHECK(tolerance<double>(1024) == 22 * std::numeric_limits<double>::epsilon());
    CHECK(tolerance<float>(8) == 8 * double{std::numeric_limits<float>::epsilon()});
    // 4 x = 8: M s = |A| |x| + |d| is 4 s = 16. And 2 1 | 1 2 with x = 1, 2: 2 s - t = 8, 2 t - s = 10.
    CHECK(make_reference<double>({1, 1, {0}, {4}, {0}, {8}}).scale == std::vector<double>{4});
    const auto two = make_reference<double>({2, 1, {0, 1}, {2, 2}, {1, 0}, {4, 5}}).scale;
    REQUIRE(two.size() == 2);
    CHECK(std::abs(two[0] - 26.0 / 3) < 1e-14);
    CHECK(std::abs(two[1] - 28.0 / 3) < 1e-14);
}

TEST_CASE("every row of every system counts in the residual") {
    const auto p = whole_numbers<double>(6, 3);
    const auto reference = make_reference(p);
    CHECK(relative_residual(p, reference.out) == 0);
    for (std::size_t k = 0; k < p.size(); ++k) {
        auto changed = p; // one equation has another right-hand side: only its row shows it
        changed.d[k] += 1;
        CHECK(relative_residual(changed, reference.out) > 0.01);
        changed.d[k] = std::nan("");
        CHECK(std::isnan(relative_residual(changed, reference.out)));
    }
    // 4 x = 8 with x = 3: |12 - 8| / (4 * 3 + 8)
    Output<double> out(1, 1);
    out.x[0] = 3;
    out.zero_pivot[0] = no_zero_pivot;
    CHECK(relative_residual<double>({1, 1, {0}, {4}, {0}, {8}}, out) == 0.2);
}

TEST_CASE("where the scale proves nothing the residual alone judges") {
    // 1 2 | 2 1: regular, no zero pivot, but neither dominant nor positive definite.
    const Problem<double> p{2, 1, {0, 2}, {1, 1}, {2, 0}, {5, 4}};
    const auto reference = make_reference(p);
    CHECK(reference.scale.empty());
    CHECK(reference.out.x == std::vector<double>{1, 2});
    Output<double> out = reference.out;
    CHECK(compare(p, reference, out).passed);
    out.x[1] += 1e-14;
    CHECK_FALSE(compare(p, reference, out).passed);
}

TEST_CASE("whole numbers show a change at the far end of a system") {
    // Along every run of equations without a gap the answer changes as a whole.
    auto p = whole_numbers<double>(1000, 1);
    const auto before = make_reference(p).out.x;
    p.d[0] += 1;
    p.d[999] += 1;
    const auto after = make_reference(p).out.x;
    CHECK(before[0] != after[0]);
    CHECK(before[999] != after[999]);
}

TEST_CASE("each pivot of a lane that is zero is reported with its place") {
    for (int at = 0; at < run_length; ++at) { // an empty equation
        LaneRun<double> run{};
        for (double& b : run.b) b = 1;
        run.b[at] = 0;
        int zero = -1;
        eliminate(run, zero);
        CHECK(zero == at);
    }
    const Unit<double> alone{0, 0, 1}, to_before{1, 0, 1}, to_after{0, 1, 1};
    const auto merged = [](const Stretch<double>& left, const Stretch<double>& right) {
        int zero = -1;
        merge(left, right, zero);
        return zero;
    };
    CHECK(merged({alone, alone}, {alone, alone}) == -1);
    CHECK(merged({to_after, to_before}, {alone, alone}) == 0); // first and last of the left stretch are equal
    CHECK(merged({alone, to_after}, {to_before, alone}) == 1); // the two where they meet are equal
    CHECK(merged({alone, alone}, {to_after, to_before}) == 2); // first and last of the right stretch are equal
    int of_join = -1, of_reduce = -1;
    join(to_after, to_before, alone, of_join);
    reduce(to_before, to_after, alone, of_reduce);
    CHECK(of_join == run_length - 1);
    CHECK(of_reduce == run_length - 1);
}

TEST_CASE("the interleaved layout has row 0 of all systems first, and leads back") {
    const std::vector<double> two_of_three = {1, 2, 3, 4, 5, 6};
    CHECK(interleave(two_of_three, 3, 2) == std::vector<double>{1, 4, 2, 5, 3, 6});
    CHECK(separate(interleave(two_of_three, 3, 2), 3, 2) == two_of_three);
}

namespace {
std::vector<Layout> layouts_seen;

/// Thomas, which notes the layout of each run, and is wrong when it has to transpose.
void watched_interleaved(const Problem<double>& p, Output<double>& out, gpulab::Stopwatch& watch) {
    layouts_seen.push_back(p.layout);
    cpu_thomas<double>(p, out, watch);
    if (p.layout == Layout::separate && p.systems == 2) out.x[0] += 1;
}
} // namespace

TEST_CASE("a variant for interleaved data is measured with both layouts") {
    gpulab::Options options("tridiagonal", "");
    REQUIRE(options.parse(3, std::array{"tridiagonal", "--repeat", "1"}.data()));
    gpulab::Job<Run<double>> job{
        {"cpu_interleaved", "", gpulab::Backend::cpu, watched_interleaved}, {gpulab::Device{}}, ""};
    const auto measured = [&](std::size_t systems, Layout layout) {
        Problem<double> p = make_problem<double>("dominant", 5, systems, 1);
        p.layout = layout;
        const auto reference = make_reference(p);
        Output<double> out(5, systems);
        layouts_seen.clear();
        gpulab::Result result;
        result.status = gpulab::Result::Status::passed;
        measure_other_layout<double>(
            options, job, p, out, [&] { return compare(p, reference, out); }, result);
        CHECK(p.layout == layout);
        return result;
    };
    const gpulab::Result without = measured(3, Layout::separate);
    REQUIRE(without.extra.size() == 1);
    CHECK(without.extra[0].name == "interleaved_ms");
    CHECK(std::get<double>(without.extra[0].value) > 0);
    CHECK(std::set(layouts_seen.begin(), layouts_seen.end()) == std::set{Layout::interleaved});
    const gpulab::Result with = measured(3, Layout::interleaved);
    REQUIRE(with.extra.size() == 1);
    CHECK(with.extra[0].name == "separate_ms");
    CHECK(std::set(layouts_seen.begin(), layouts_seen.end()) == std::set{Layout::separate});
    CHECK(with.status == gpulab::Result::Status::passed);

    const gpulab::Result wrong = measured(2, Layout::interleaved);
    CHECK(wrong.status == gpulab::Result::Status::failed);
    CHECK(wrong.reason.starts_with("with the other layout: "));

    job.variant.name = "cpu_thomas"; // reads one system after the other, whatever the layout
    CHECK(measured(3, Layout::separate).extra.empty());
    CHECK(layouts_seen.empty());
}

TEST_CASE("a user's system with a zero pivot is refused with system and row, also by what reports none") {
    const Problem<double> p{2, 2, {0, 1, 0, 1}, {2, 2, 0, 0}, {1, 0, 1, 0}, {1, 1, 1, 1}}; // x + 2 y; y, x
    const auto reference = make_reference(p);
    Output<double> out(2, 2);
    out.x = {1.0 / 3, 1.0 / 3, 1, 1};
    const auto refusal = [&](bool reports) {
        return gpulab::testing::message_of<gpulab::Unsupported>([&] { compare_given(p, reference, out, reports); });
    };
    out.zero_pivot = {-1, 0};
    CHECK(refusal(true) == "zero pivot in system 1, row 0: this method does not exchange rows");
    CHECK(refusal(false) == "zero pivot in system 1, row 0: this method does not exchange rows");
    for (const double nonsense : {1.0, std::nan(""), HUGE_VAL}) {
        out.zero_pivot = {-1, -1};
        out.x[2] = nonsense;
        CHECK(refusal(false) == "zero pivot in system 1, row 0: this variant does not report it");
    }

    // Thomas solves it, and a library meets a zero pivot because it eliminates in another order.
    const Problem<double> identity{3, 1, {0, 0, 0}, {1, 1, 1}, {0, 0, 0}, {1, 2, 3}};
    const auto known = make_reference(identity);
    Output<double> x = known.out;
    CHECK(compare_given(identity, known, x, false).passed);
    x.x[2] = 4;
    CHECK_FALSE(compare_given(identity, known, x, false).passed);
    x.x[1] = HUGE_VAL;
    CHECK_THROWS_WITH(compare_given(identity, known, x, false),
                      "x of system 0, row 1 is inf: this variant reports no zero pivots");
    CHECK_FALSE(compare_given(identity, known, x, true).passed);
    poison(x);
    x.zero_pivot = {-1};
    CHECK_FALSE(compare_given(identity, known, x, false).passed); // nobody wrote it: wrong, not refused
}

TEST_CASE("the variants that report no zero pivots are the library's") {
    for (const auto& v : variants<double>()) {
        INFO(v.name);
        CHECK(v.baseline == (v.name.find("cusparse") != std::string_view::npos));
    }
}

TEST_CASE("a solution that its type does not hold is no reference") {
    Problem<float> p{2, 2, {0, 0, 0, 0}, {1, 1, 1, 1e-30F}, {0, 0, 0, 0}, {1, 1, 1, 1e30F}};
    CHECK_THROWS_WITH(check_fits(p, make_reference(p)),
                      "the solution is larger than a float holds: x of system 1, row 1");
    p.b[3] = 0; // a zero pivot is another fault
    CHECK_NOTHROW(check_fits(p, make_reference(p)));
    p.b[3] = 1;
    CHECK_NOTHROW(check_fits(p, make_reference(p)));
}
