// P A = L U: every variant, and the check that judges them.
#include <array>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "checks.hpp"
#include "gpulab/options.hpp"
#include "rungs.hpp"
#include "studies.hpp"

using gpulab::Backend;
using gpulab::Device;
using gpulab::testing::devices_or_skip;
using gpulab::testing::Faults;
using gpulab::testing::VariantCases;
using lu::Factors;
using lu::Problem;
using lu::testing::Rung;

namespace {

Rung rung_of(const gpulab::Variant<lu::Run>& v) {
    bool on_gpu = v.backend == Backend::cuda;
    if (v.backend == Backend::opencl)
        for (const Device& device : gpulab::devices(Backend::opencl)) on_gpu = on_gpu || !device.is_cpu;
    return {v.run, v.backend, lu::pivots(v.name), v.baseline, on_gpu};
}

const VariantCases cases(lu::variants(), "factorises", "", [](const auto& v, Faults& faults) {
    Rung rung = rung_of(v);
    for (const auto& check : lu::testing::checks()) faults.check(check.name, [&] { return check.fault(rung); });
});

#if defined(GPULAB_WITH_OPENCL)
const VariantCases oclgrind(
    lu::variants(), "under oclgrind", "[.oclgrind]",
    [](const auto& v, Faults& faults) {
        faults.check("small sizes", [&] { return lu::testing::fault_under_tools(rung_of(v), {1, 2, 33, 37}); });
    },
    gpulab::testing::only_on<Backend::opencl>);
#endif

#if defined(GPULAB_WITH_CUDA)
const VariantCases sanitizer(
    lu::variants(), "under compute-sanitizer", "[.sanitizer]",
    [](const auto& v, Faults& faults) {
        // 260: two blocks of a cluster.
        const bool cluster = v.needs.compute_capability >= 90;
        const std::vector<std::size_t> sizes =
            cluster ? std::vector<std::size_t>{1, 2, 70, 135, 260} : std::vector<std::size_t>{1, 2, 70, 135};
        faults.check("small sizes", [&] { return lu::testing::fault_under_tools(rung_of(v), sizes); });
    },
    gpulab::testing::own_cuda);

/// Panels too tall for the registers of a cluster: cut in two and in four, and given to other kernels.
const VariantCases tall(
    lu::variants(), "factorises with tall panels", "",
    [](const auto& v, Faults& faults) {
        for (const std::size_t n : {4101, 8200}) // rows that begin between two multiples of 16 bytes, and others
            faults.check("n = " + std::to_string(n),
                         [&] { return lu::testing::residual_fault(rung_of(v), lu::testing::random_problem(n, true)); });
        for (const std::size_t n : {4100, 8200}) // a thread has two rows, or four
            faults.check("equal candidates, n = " + std::to_string(n),
                         [&] { return lu::testing::first_of_equals_fault(rung_of(v), n, 70); });
    },
    [](std::string_view name, Backend) {
        return name == "cuda_cluster_pivot" || name == "cuda_look_ahead_pivot" || name == "cuda_critical_path_pivot";
    });

const VariantCases taller(
    lu::variants(), "factorises panels that no cluster holds", "[large]",
    [](const auto& v, Faults& faults) {
        faults.check("n = 16400",
                     [&] { return lu::testing::residual_fault(rung_of(v), lu::testing::random_problem(16400, true)); });
    },
    [](std::string_view name, Backend) { return name == "cuda_cluster_pivot" || name == "cuda_critical_path_pivot"; });

/// A kernel of the study `block`.
Rung of_width(void (*run)(const Problem&, Factors&, gpulab::Stopwatch&, int), int width, Backend backend) {
    return {[=](const Problem& p, Factors& f, gpulab::Stopwatch& watch) { run(p, f, watch, width); }, backend, true,
            false, backend == Backend::cuda};
}

TEST_CASE("the CUDA rungs factorise with panels of any width", "[cuda]") {
    for (const Device& device : devices_or_skip(Backend::cuda)) {
        gpulab::use(device);
        for (const int width : {1, 8, 24, 33, 48}) {
            INFO("panels of " << width << " columns on " << device.name);
            CHECK(lu::testing::fault_at(of_width(lu::cuda_blocked_of_width, width, Backend::cuda),
                                        {1, 23, 24, 25, 49, 130}) == "");
            if (device.compute_capability >= 90)
                CHECK(lu::testing::fault_at(of_width(lu::cuda_cluster_of_width, width, Backend::cuda),
                                            {1, 23, 24, 25, 49, 130, 300}) == "");
        }
    }
}

namespace {
/// C = A22 - A21 A12 on tensor cores, where A11 has `width` rows and columns of n, against loops on the CPU.
std::string tensor_update_fault(std::size_t n, int width) {
    const Problem p = lu::testing::random_problem(n, false);
    const auto w = static_cast<std::size_t>(width), m = n - w;
    std::vector<double> c(m * m, std::numeric_limits<double>::quiet_NaN());
    gpulab::Stopwatch once;
    lu::cuda_update_tensor(p, c, once, width);
    for (std::size_t i = 0; i < m; ++i)
        for (std::size_t j = 0; j < m; ++j) {
            double exact = p.a[(w + i) * n + w + j], size = std::abs(exact);
            for (std::size_t k = 0; k < w; ++k) {
                const double product = p.a[(w + i) * n + k] * p.a[k * n + w + j];
                exact -= product;
                size += std::abs(product);
            }
            const double bound = 2 * static_cast<double>(width + 1) * std::numeric_limits<double>::epsilon() * size;
            if (!(std::abs(c[i * m + j] - exact) <= bound))
                return "element " + std::to_string(i) + ", " + std::to_string(j) + " of " + std::to_string(m);
        }
    return "";
}

void check_tensor_updates(const std::vector<std::pair<std::size_t, int>>& sizes) { // n and width
    for (const Device& device : devices_or_skip(Backend::cuda)) {
        if (device.compute_capability < 80) continue;
        gpulab::use(device);
        for (const auto& [n, width] : sizes) {
            INFO("n = " << n << ", " << width << " columns on " << device.name);
            gpulab::testing::in_turn([&, n = n, width = width] { CHECK(tensor_update_fault(n, width) == ""); });
        }
    }
}
} // namespace

// 64 columns fit into the shared memory of a block. An odd n: rows that begin between two multiples of 16 bytes.
TEST_CASE("the update on tensor cores takes more columns than fit", "[cuda]") {
    check_tensor_updates({{65, 64},
                          {66, 65},
                          {200, 65},
                          {261, 128},
                          {330, 130},
                          {401, 192},
                          {400, 256},
                          {400, 100},
                          {471, 130},
                          {600, 256}});
}
TEST_CASE("the update of 130 columns under compute-sanitizer", "[.sanitizer]") {
    check_tensor_updates({{201, 130}, {270, 130}, {390, 130}});
}

TEST_CASE("the time of figure 3.10 holds the kernels and the copy to the host", "[cuda]") {
    // In a second run the body is left out: the device has the matrix again, and the host still the factors of the
    // first.
    static constexpr gpulab::TestHooks hooks{.leave_out_last_body = true};
    for (const Device& device : devices_or_skip(Backend::cuda)) {
        gpulab::use(device);
        for (lu::Run* const run : {lu::cuda_kernels_and_copy_16, lu::cuda_kernels_and_copy_32})
            for (const std::size_t n : {1, 2, 33, 130}) {
                INFO("n = " << n << " on " << device.name);
                const Problem p = lu::testing::random_problem(n, false);
                Factors f(n);
                lu::poison(f);
                gpulab::Stopwatch watch(0, 2);
                watch.hooks = &hooks;
                gpulab::testing::in_turn([&] { run(p, f, watch); });
                CHECK(lu::compare(p, f, false).message == "");
            }
    }
}
#endif

/// The factors of a small matrix, right.
Factors right_factors(const Problem& p) {
    Factors f(p.n);
    gpulab::Stopwatch once;
    lu::cpu_right_looking_pivot(p, f, once);
    return f;
}

} // namespace

TEST_CASE("cpu_blocked_pivot factorises with panels of any width", "[cpu]") {
    for (const int width : {1, 3, 48, 256}) {
        INFO(width);
        const Rung rung{[=](const Problem& p, Factors& f, gpulab::Stopwatch& watch) {
                            lu::cpu_blocked_of_width(p, f, watch, width);
                        },
                        Backend::cpu, true};
        CHECK(lu::testing::fault_at(rung, {1, 2, 47, 48, 49, 130, 257}) == "");
    }
}

TEST_CASE("the operations are counted as the three loops do them") {
    for (const std::size_t n : {0, 1, 2, 7, 40}) {
        double count = 0;
        for (std::size_t i = 0; i < n; ++i)
            for (std::size_t j = i + 1; j < n; ++j) {
                ++count;
                for (std::size_t k = i + 1; k < n; ++k) count += 2;
            }
        CHECK(Problem{n, {}}.flops() == count);
    }
}

TEST_CASE("the bytes are A read once and the factors written once") {
    CHECK(Problem{7, {}}.bytes() == 2 * 8 * 7 * 7);
    CHECK(lu::work(Problem{7, {}}).bytes == 2 * 8 * 7 * 7);
    CHECK(lu::work(Problem{7, {}}).flops == Problem{7, {}}.flops());
}

TEST_CASE("the work of an update is counted as its loops do it") {
    constexpr std::size_t m = 5, width = 3;
    double flops = 0;
    for (std::size_t element = 0; element < m * m; ++element)
        for (std::size_t k = 0; k < width; ++k) flops += 2;
    const gpulab::Work work = lu::update_work(m, width);
    CHECK(work.flops == flops);
    CHECK(work.bytes == 8 * (m * m + m * m + m * width + width * m)); // A22 read, c written, A21 and A12 read
    CHECK(work.arithmetic == gpulab::Arithmetic::fp64);
}

TEST_CASE("a result has its percentage of the library on the same device, with pivoting as it has") {
    lu::PercentOfLibrary percent;
    const auto of = [&](int device, double ms, bool library, bool pivoting) {
        gpulab::Result result;
        result.device.backend = Backend::cuda;
        result.device.index = device;
        result.kernel = {ms, ms, ms, ms > 0 ? 5 : 0};
        percent.add_to(result, library, pivoting);
        if (result.extra.empty()) return -1.0;
        CHECK(result.extra.size() == 1);
        CHECK(result.extra[0].name == "percent_of_library");
        return std::get<double>(result.extra[0].value);
    };
    CHECK(of(0, 2, false, false) == -1); // no library yet
    CHECK(of(0, 3, true, false) == 100);
    CHECK(of(0, 6, false, false) == 50); // twice as long
    CHECK(of(0, 2, false, false) == 150);
    CHECK(of(0, 6, false, true) == -1);
    CHECK(of(1, 6, false, false) == -1);
    CHECK(of(0, 12, true, true) == 100);
    CHECK(of(0, 6, false, true) == 200);
    CHECK(of(0, 0, false, false) == -1); // it did not run
}

TEST_CASE("the norm is that of the rows; NaN stays") {
    CHECK(lu::norm({1, -2, 3, 4}, 2) == 7);
    CHECK(lu::norm({-4, 3, 1, 1}, 2) == 7);
    CHECK(std::isnan(lu::norm({std::nan(""), 0, 1, 1}, 2)));
}

TEST_CASE("pivots that make no permutation give no order of the rows") {
    CHECK(lu::row_order(lu::testing::factors_of(3, {}, {2, 1, 2})) == std::vector<std::size_t>{2, 1, 0});
    for (const std::vector<std::int32_t>& pivots : {std::vector<std::int32_t>{1, 0, 2}, {0, 3, 2}, {-1, 1, 2}})
        CHECK(lu::row_order(lu::testing::factors_of(3, {}, pivots)).empty());
}

TEST_CASE("error and tolerance of a 2 x 2 matrix, by hand") {
    const double epsilon = std::numeric_limits<double>::epsilon(), wrong = std::ldexp(1.0, -40);
    // A = (2 1; 4 3) = (1 0; 2 1) (2 1; 0 1); norm(A) = 7. The last element of U is wrong.
    const auto c = lu::compare({2, {2, 1, 4, 3}}, lu::testing::factors_of(2, {2, 1, 2, 1 + wrong}, {0, 1}), false);
    CHECK(c.error == wrong / (2 * epsilon * 7));
    CHECK(c.tolerance == (7 + wrong) / 7); // norm(|L| |U|) / norm(A)
    const auto cancels = lu::compare({2, {2, 1, 4, 1}}, lu::testing::factors_of(2, {2, 1, 2, -1}, {0, 1}), false);
    CHECK(cancels.tolerance == 7.0 / 5); // |L| |U| = (2 1; 4 3)
}

TEST_CASE("the growth factor compares U, not L, with A") {
    const lu::Problem p{2, {0.001, 1, -2, 1}};
    lu::Factors f(2);
    f.lu = {0.001, 1, -2000, 2001};
    CHECK(lu::growth_factor(p, f) == 1000.5);
    f.lu[2] = 5000; // an element of L
    CHECK(lu::growth_factor(p, f) == 1000.5);
    f.lu[0] = std::nan("");
    CHECK(std::isnan(lu::growth_factor(p, f)));
}

TEST_CASE("the comparison sees every kind of wrong factors") {
    const Problem p = lu::make_problem(60, gpulab::testing::seed);
    const Factors right = right_factors(p);
    REQUIRE(lu::compare(p, right, true).passed);
    CHECK(lu::compare(p, right, true).error < 1);

    Factors wrong = right;
    wrong.lu[60 * 30 + 45] += 1e-9; // one element of U
    CHECK_FALSE(lu::compare(p, wrong, true).passed);
    wrong = right;
    wrong.lu[60 * 59 + 3] += 1e-9; // one of L
    CHECK_FALSE(lu::compare(p, wrong, true).passed);
    wrong = right;
    wrong.lu.back() = std::numeric_limits<double>::quiet_NaN();
    CHECK_FALSE(lu::compare(p, wrong, true).passed);
    wrong = right;
    lu::poison(wrong);
    CHECK_FALSE(lu::compare(p, wrong, true).passed);

    for (const std::int32_t pivot : {-1, 60, 4}) { // of step 5
        wrong = right;
        wrong.pivots[5] = pivot;
        const auto c = lu::compare(p, wrong, true);
        CHECK_FALSE(c.passed);
        CHECK(c.message.find("no permutation") != std::string::npos);
    }
    wrong = right;
    wrong.pivots[0] = wrong.pivots[0] == 0 ? 1 : 0; // a permutation, but of another matrix
    CHECK_FALSE(lu::compare(p, wrong, true).passed);

    CHECK_FALSE(lu::compare(p, right, false).passed); // a variant without pivoting exchanges nothing
    const Problem small{2, {1e-3, 1, 1, 1}};          // right factors, but not those of the largest pivot
    const Factors unstable = lu::testing::factors_of(2, {1e-3, 1, 1e3, -999}, {0, 1});
    CHECK(lu::compare(small, unstable, false).passed);
    const auto c = lu::compare(small, unstable, true);
    CHECK_FALSE(c.passed);
    CHECK(c.message.find("larger than 1") != std::string::npos);
}

TEST_CASE("with pivoting no element of L is larger than 1, except by the rounding of a reciprocal") {
    constexpr double epsilon = std::numeric_limits<double>::epsilon();
    for (const double l : {1.0, -1.0, 1 + epsilon, -1 - epsilon, 1 + 2 * epsilon, 1.25, -1.25}) {
        // Right factors in each case, of (4 0; 4 l 1) and, in the last row, of (4 0 0; 0 4 0; 4 l 0 1).
        const Problem two{2, {4, 0, 4 * l, 1}}, three{3, {4, 0, 0, 0, 4, 0, 4 * l, 0, 1}};
        const Factors of_two = lu::testing::factors_of(2, {4, 0, l, 1}, {0, 1});
        const Factors of_three = lu::testing::factors_of(3, {4, 0, 0, 0, 4, 0, l, 0, 1}, {0, 1, 2});
        INFO("l = 1 + " << std::abs(l) - 1);
        CHECK(lu::compare(two, of_two, false).passed);
        CHECK(lu::compare(three, of_three, false).passed);
        CHECK(lu::compare(two, of_two, true).passed == (std::abs(l) <= 1 + epsilon));
        CHECK(lu::compare(three, of_three, true).passed == (std::abs(l) <= 1 + epsilon));
    }
}

TEST_CASE("NaN in any element of the factors is found, also when later rows are right") {
    for (const std::size_t n : {4, 1030}) {
        Problem p = lu::testing::random_problem(n, false);
        Factors f(n);
        gpulab::Stopwatch once;
        lu::cpu_threads(p, f, once);
        REQUIRE(lu::compare(p, f, false).passed);
        for (const std::size_t at : {std::size_t{0}, n, n + 1, 2 * n + 1, n * n - 2, n * n - 1}) {
            Factors wrong = f;
            wrong.lu[at] = std::numeric_limits<double>::quiet_NaN();
            INFO("n = " << n << ", element " << at);
            CHECK_FALSE(lu::compare(p, wrong, false).passed);
        }
    }
}

TEST_CASE("the comparison of large matrices, by samples, sees a single wrong element") {
    const Problem p = lu::make_problem(1100, gpulab::testing::seed);
    Factors f(p.n);
    gpulab::Stopwatch once;
    lu::cpu_threads_pivot(p, f, once);
    REQUIRE(lu::compare(p, f, true).passed);
    CHECK(lu::compare(p, f, true).error < 1);
    for (const std::size_t at : {std::size_t{0}, 1100 * 700 + std::size_t{800}, 1100 * 1099 + std::size_t{2}}) {
        Factors wrong = f;
        wrong.lu[at] += 1e-6;
        CHECK_FALSE(lu::compare(p, wrong, true).passed);
        wrong.lu[at] = std::numeric_limits<double>::quiet_NaN();
        CHECK_FALSE(lu::compare(p, wrong, true).passed);
    }
}

TEST_CASE("for a random matrix with pivoting the tolerance is that of random rounding errors, by hand") {
    Problem p{2, {4, 2, 2, 4}};
    const Factors f = lu::testing::factors_of(2, {4, 2, 0.5, 3}, {0, 1});
    CHECK(lu::random_growth(f) == std::sqrt(20.0)); // (L o L) (U o U) = (16 4; 4 10): row sums of 20 and 14
    CHECK(lu::compare(p, f, true).tolerance == 1);
    p.a = {4, 2, 2, 40}; // another norm
    const double random = lu::lambda / 2 * std::sqrt(20.0) / 42;
    CHECK(lu::compare(p, f, true).tolerance == 6.0 / 42); // no matrix of make_problem(): the worst case
    p.random = true;
    CHECK(lu::compare(p, f, true).tolerance == 6.0 / 42); // smaller than `random`
    CHECK(random > 6.0 / 42);
    CHECK(lu::make_problem(2, 1).random);

    const Problem drawn = lu::testing::random_problem(1025, true); // judged by samples
    Problem given = drawn;
    given.random = false;
    const Factors factors = right_factors(drawn);
    const double size = lu::norm(drawn.a, 1025);
    CHECK(lu::compare(drawn, factors, true).tolerance ==
          lu::lambda / 2 * (3 / std::sqrt(1025.0)) * lu::random_growth(factors) / size);
    CHECK(lu::compare(given, factors, true).tolerance == lu::growth_norm(factors) / size);
}

TEST_CASE("right factors of random matrices are within a tenth of the tolerance, wrong by 1e-8 they are rejected") {
    for (const std::size_t n : {65, 1000, 2000}) {
        INFO("n = " << n);
        const Problem p = lu::make_problem(n, gpulab::testing::seed);
        gpulab::Stopwatch once;
        Factors right(n), wrong(n);
        lu::cpu_threads_pivot(p, right, once);
        const auto c = lu::compare(p, right, true);
        CHECK(c.error < c.tolerance / 10);
        CHECK(c.tolerance < 10);

        wrong = right;
        wrong.lu[(n - 1) * n + n / 2] += 1e-8; // an element of L; the largest of A is 1
        CHECK_FALSE(lu::compare(p, wrong, true).passed);
        // An element of the trailing matrix, which all later steps use: the factors of a matrix with this element.
        const std::vector<std::size_t> order = lu::row_order(right);
        Problem other = p;
        other.a[order[n - 1] * n + n - 2] += 1e-8;
        lu::cpu_threads_pivot(other, wrong, once);
        CHECK_FALSE(lu::compare(p, wrong, true).passed);
    }
}

TEST_CASE("without pivoting a small pivot costs digits, which the error shows and the tolerance allows") {
    const Problem p{2, {1e-12, 1, 1, 1}};
    gpulab::Stopwatch once;
    Factors with(2), without(2);
    lu::cpu_right_looking(p, without, once);
    lu::cpu_right_looking_pivot(p, with, once);
    CHECK(lu::compare(p, without, false).passed);
    CHECK(lu::compare(p, without, false).tolerance > 1e11);
    CHECK(lu::compare(p, with, true).tolerance < 10);
}

TEST_CASE("a zero pivot without pivoting advises pivoting; a singular matrix is named with its column") {
    gpulab::Stopwatch once;
    Factors f(2);
    try {
        lu::cpu_two_stage({2, {0, 1, 1, 0}}, f, once);
        FAIL("nothing was reported");
    } catch (const gpulab::Unsupported& e) {
        CHECK(std::string(e.what()).find("_pivot") != std::string::npos);
    }
    try {
        lu::cpu_two_stage_pivot({2, {1, 2, 2, 4}}, f, once);
        FAIL("nothing was reported");
    } catch (const gpulab::Error& e) {
        CHECK(std::string(e.what()).find("singular: column 2") != std::string::npos);
    }
}

TEST_CASE("a CPU is not asked for factorisations that take minutes") {
    gpulab::Options options("lu", "");
    options.variants(lu::variants());
    REQUIRE(options.parse(3, std::array{"lu", "--variant", "cpu_threads"}.data()));
    Device cpu, gpu;
    gpu.backend = Backend::cuda;
    CHECK(lu::too_slow(options, "cpu_blocked", cpu, 1e9) == "");
    CHECK(lu::too_slow(options, "cpu_blocked", cpu, 1e10) ==
          "1e+10 operations take long on a CPU; --variant cpu_blocked runs it anyway");
    CHECK(lu::too_slow(options, "cpu_threads", cpu, 1e10) == ""); // asked for by name
    CHECK(lu::too_slow(options, "cuda_coalesced", gpu, 1e12) == "");
}
