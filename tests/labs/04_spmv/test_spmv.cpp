#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <limits>
#include <vector>

#include "checks.hpp"
#include "gpulab/sparse/convert.hpp"
#include "gpulab/sparse/generate.hpp"

using gpulab::Backend;
using gpulab::Device;
using gpulab::testing::devices_or_skip;

namespace {

/// Every variant of a back end, on every device of it that can do T, on all matrices.
template <class T>
void check_all(Backend backend, const std::vector<spmv::testing::Case<T>>& cases, bool baselines = true) {
    int checked = 0, without_double = 0;
    for (const Device& device : devices_or_skip(backend)) {
        if (std::is_same_v<T, double> && !device.fp64) {
            ++without_double;
            continue;
        }
        gpulab::use(device);
        for (const auto& variant : spmv::variants<T>()) {
            if (variant.backend != backend || (variant.baseline && !baselines)) continue;
            INFO(variant.name << " on " << device.name);
            REQUIRE(variant.run != nullptr);
            CHECK(spmv::testing::first_fault<T>(variant.run, cases) == "");
            ++checked;
        }
    }
    CHECK((checked >= 3 || without_double > 0));
}

/// The lecture's matrix times (1, 2, 3, 4): (8, 22, 5), exact in every arithmetic.
template <class T> void check_by_hand(Backend backend) {
    const spmv::Problem<T> p{gpulab::lecture_example<T>(), {1, 2, 3, 4}};
    for (const Device& device : devices_or_skip(backend)) {
        if (std::is_same_v<T, double> && !device.fp64) continue;
        gpulab::use(device);
        for (const auto& variant : spmv::variants<T>()) {
            if (variant.backend != backend) continue;
            INFO(variant.name << " on " << device.name);
            spmv::Output<T> y(3);
            gpulab::Stopwatch once;
            variant.run(p, y, once);
            CHECK(y == spmv::Output<T>{8, 22, 5});
        }
    }
}

/// Infinity and NaN come through where an entry meets them, and nowhere else: not in rows beside it, not where a format
/// or a warp fills up with padding, and a stored 0 times infinity is NaN. Entries at the same place add up. Without the
/// libraries, which may do as they like.
template <class T> void check_specials(Backend backend) {
    constexpr T inf = std::numeric_limits<T>::infinity(), nan = std::numeric_limits<T>::quiet_NaN();
    gpulab::Csr<T> m; // 1 2 3 | . 4 . | . . . | . . 5 | (stored 0) . . | . 6 7
    m.rows = 6, m.columns = 3;
    m.row_start = {0, 3, 4, 4, 5, 6, 8};
    m.column = {0, 1, 2, 1, 2, 0, 1, 2};
    m.value = {1, 2, 3, 4, 5, 0, 6, 7};
    gpulab::Csr<T> infinite = m, twice;
    infinite.value[7] = inf;
    twice.rows = 2, twice.columns = 3;
    twice.row_start = {0, 3, 4};
    twice.column = {1, 1, 1, 0};
    twice.value = {1, 2, 4, 8};
    struct Special {
        gpulab::Csr<T> matrix;
        std::vector<T> x, y;
    };
    const std::vector<Special> specials = {
        {m, {inf, 1, 1}, {inf, 4, 0, 5, nan, 13}},   {m, {1, 1, inf}, {inf, 4, 0, inf, 0, inf}},
        {m, {nan, 1, 1}, {nan, 4, 0, 5, nan, 13}},   {m, {1, -inf, 1}, {-inf, -inf, 0, 5, 0, -inf}},
        {infinite, {1, 1, 0}, {3, 4, 0, 0, 0, nan}}, {twice, {1, 1, 1}, {7, 8}},
    };
    for (const Device& device : devices_or_skip(backend)) {
        if (std::is_same_v<T, double> && !device.fp64) continue;
        gpulab::use(device);
        for (const auto& variant : spmv::variants<T>()) {
            if (variant.backend != backend || variant.baseline) continue;
            for (const Special& s : specials) {
                spmv::Output<T> y(s.y.size(), T{-7}); // neither a right answer nor a NaN
                gpulab::Stopwatch once;
                variant.run({s.matrix, s.x}, y, once);
                for (std::size_t i = 0; i < y.size(); ++i) {
                    INFO(variant.name << " on " << device.name << ", case " << &s - specials.data() << ", row " << i);
                    CHECK((std::isnan(s.y[i]) ? std::isnan(y[i]) : y[i] == s.y[i]));
                }
            }
        }
    }
}

} // namespace

TEMPLATE_TEST_CASE("infinity and NaN stay in their rows in every CPU variant, and repeated entries add up", "[cpu]",
                   float, double) {
    check_specials<TestType>(Backend::cpu);
}
TEMPLATE_TEST_CASE("infinity and NaN stay in their rows in every OpenCL variant, and repeated entries add up",
                   "[opencl]", float, double) {
    check_specials<TestType>(Backend::opencl);
}
TEMPLATE_TEST_CASE("infinity and NaN stay in their rows in every CUDA variant, and repeated entries add up", "[cuda]",
                   float, double) {
    check_specials<TestType>(Backend::cuda);
}

TEMPLATE_TEST_CASE("every CPU variant multiplies the lecture's matrix by hand", "[cpu]", float, double) {
    check_by_hand<TestType>(Backend::cpu);
}
TEMPLATE_TEST_CASE("every OpenCL variant multiplies the lecture's matrix by hand", "[opencl]", float, double) {
    check_by_hand<TestType>(Backend::opencl);
}
TEMPLATE_TEST_CASE("every CUDA variant multiplies the lecture's matrix by hand", "[cuda]", float, double) {
    check_by_hand<TestType>(Backend::cuda);
}

TEMPLATE_TEST_CASE("every CPU variant multiplies matrices of every shape", "[cpu]", float, double) {
    check_all<TestType>(Backend::cpu, spmv::testing::all_cases<TestType>());
}
TEMPLATE_TEST_CASE("every OpenCL variant multiplies matrices of every shape", "[opencl]", float, double) {
    check_all<TestType>(Backend::opencl, spmv::testing::all_cases<TestType>());
}
TEMPLATE_TEST_CASE("every CUDA variant multiplies matrices of every shape", "[cuda]", float, double) {
    check_all<TestType>(Backend::cuda, spmv::testing::all_cases<TestType>());
}

#if defined(GPULAB_WITH_OPENCL)
TEST_CASE("every OpenCL kernel on small matrices, for oclgrind", "[.oclgrind]") {
    check_all<float>(Backend::opencl, spmv::testing::small_cases<float>({2, 33})); // a thousand times slower there
    check_all<double>(Backend::opencl, {{"lecture", gpulab::lecture_example<double>()},
                                        {"two rows of three empty", spmv::testing::mostly_empty<double>(40, 30, 9)}});
}
#endif

TEMPLATE_TEST_CASE("the CPU's COO product takes entries in any order", "[cpu]", float, double) {
    CHECK(spmv::testing::first_coo_fault<TestType>(spmv::cpu_multiply_coo<TestType>,
                                                   spmv::testing::all_cases<TestType>()) == "");
}
#if defined(GPULAB_WITH_CUDA)
TEMPLATE_TEST_CASE("CUDA's COO product takes entries in any order", "[cuda]", float, double) {
    for (const Device& device : devices_or_skip(Backend::cuda)) {
        gpulab::use(device);
        CHECK(spmv::testing::first_coo_fault<TestType>(spmv::cuda_multiply_coo<TestType>,
                                                       spmv::testing::all_cases<TestType>()) == "");
    }
}
#endif

#if defined(GPULAB_WITH_CUDA)
TEST_CASE("bins hold more rows than all multiprocessors together have sums for", "[cuda][large]") {
    gpulab::use(devices_or_skip(Backend::cuda).front());
    const auto third = [](std::size_t i) { return i % 3; };
    CHECK(spmv::testing::first_fault<float>(
              spmv::cuda_bins<float>,
              {{"12 million rows of 0 to 2", gpulab::random_rows<float>(12000000, 3000, third, 7)}}) == "");
}
#endif

// Without the vendor's kernels: compute-sanitizer's racecheck reports hazards inside cuSPARSE, which are not ours to
// mend.
TEMPLATE_TEST_CASE("every CUDA kernel of ours on small matrices, for the sanitizers", "[.sanitizer]", float, double) {
    auto cases = spmv::testing::small_cases<TestType>();
    cases.push_back({"power law", gpulab::power_law_rows<TestType>(3001, 3001, 8, 1.9, 5)});
    cases.push_back({"one dense row of 5003", spmv::testing::one_dense_row<TestType>(5003)});
    cases.push_back({"laplace2d:31x29", gpulab::laplace_2d<TestType>(31, 29)});
    check_all<TestType>(Backend::cuda, cases, false);
}

TEST_CASE("ELL variants refuse a matrix that would explode, and say why") {
    const spmv::Problem<float> p = spmv::make_problem(spmv::testing::one_dense_row<float>(20011), 1);
    spmv::Output<float> y(p.matrix.rows);
    gpulab::Stopwatch once;
    CHECK_THROWS_AS(spmv::cpu_ell(p, y, once), gpulab::Unsupported);
}

TEST_CASE("more non-zeros than 32-bit offsets reach are refused in words") {
    gpulab::Csr<float> m; // as far as narrow_offsets() looks
    m.rows = 1;
    m.row_start = {0, spmv::most_csr_nonzeros};
    CHECK(spmv::narrow_offsets(m) == std::vector<std::int32_t>{0, 2147482623});
    m.row_start = {0, spmv::most_csr_nonzeros + 1};
    CHECK_THROWS_AS(spmv::narrow_offsets(m), gpulab::Unsupported);
    m.row_start = {0, std::int64_t{1} << 32}; // would be 0 in 32 bits
    CHECK_THROWS_AS(spmv::narrow_offsets(m), gpulab::Unsupported);
}

TEST_CASE("whole numbers show a single lost entry of a row of 20000, which the tolerance of random ones hides") {
    const auto m = gpulab::random_rows<float>(
        1, 20011, [](std::size_t) { return std::size_t{20011}; }, 1);
    const spmv::Problem<float> whole = spmv::testing::whole_numbers(m), random = spmv::make_problem(m, 1);
    const auto without = [](const spmv::Problem<float>& p, std::size_t k) {
        return spmv::Output<float>{spmv::make_reference(p).y[0] - p.matrix.value[k] * p.x[k]};
    };
    std::size_t least = 0; // the smallest product
    for (std::size_t k = 0; k < m.nonzeros(); ++k)
        if (std::abs(random.matrix.value[k] * random.x[k]) < std::abs(random.matrix.value[least] * random.x[least]))
            least = k;
    CHECK(spmv::compare(spmv::make_reference(random), without(random, least)).passed);
    for (const std::size_t k : {std::size_t{0}, least, std::size_t{20010}})
        CHECK_FALSE(gpulab::compare(spmv::make_reference(whole).y, without(whole, k), 0.0).passed);
}

TEST_CASE("the check sees one wrong entry, one missing row and one NaN") {
    const spmv::Problem<float> p = spmv::make_problem(gpulab::laplace_2d<float>(20, 20), 3);
    const auto reference = spmv::make_reference(p);
    spmv::Output<float> y = reference.y;
    REQUIRE(spmv::compare(reference, y).passed);
    SECTION("off by a millionth of the row") { y[7] += 1e-5f; }
    SECTION("unwritten") { y[399] = gpulab::poison_value<float>(); }
    SECTION("zero") { y[0] = 0; }
    CHECK_FALSE(spmv::compare(reference, y).passed);
}
