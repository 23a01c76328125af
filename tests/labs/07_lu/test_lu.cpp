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
using gpulab::testing::message_of;
using gpulab::testing::VariantCases;
using namespace lu;
using namespace lu::testing;

namespace {

Rung rung_of(const gpulab::Variant<Run>& v) {
    bool on_gpu = v.backend == Backend::cuda;
    if (v.backend == Backend::opencl)
        for (const Device& device : gpulab::devices(Backend::opencl)) on_gpu = on_gpu || !device.is_cpu;
    return {v.run, v.backend, pivots(v.name), v.baseline, on_gpu};
}

/// A kernel of the study `block`.
Rung of_width(void (*run)(const Problem&, Factors&, gpulab::Stopwatch&, int), int width, Backend backend) {
    return {[=](const Problem& p, Factors& f, gpulab::Stopwatch& watch) { run(p, f, watch, width); }, backend, true,
            false, backend == Backend::cuda};
}

const VariantCases cases(variants(), "factorises", "", [](const auto& v, Faults& faults) {
    Rung rung = rung_of(v);
    check_rung(rung, faults);
});

const VariantCases oclgrind(
    variants(), "under oclgrind", "[.oclgrind]",
    [](const auto& v, Faults& faults) {
        faults.check("small sizes", [&] { return fault_under_tools(rung_of(v), {1, 2, 33, 37}); });
    },
    gpulab::testing::only_on<Backend::opencl>);

#if defined(GPULAB_WITH_CUDA)
const VariantCases sanitizer(
    variants(), "under compute-sanitizer", "[.sanitizer]",
    [](const auto& v, Faults& faults) {
        // 260: two blocks of a cluster
        std::vector<std::size_t> sizes = {1, 2, 70, 135};
        if (v.needs.compute_capability >= 90) sizes.push_back(260);
        faults.check("small sizes", [&] { return fault_under_tools(rung_of(v), sizes); });
    },
    gpulab::testing::own_cuda);

/// Panels too tall for the registers of a cluster: cut in two and in four, and given to other kernels.
const VariantCases tall(
    variants(), "factorises with tall panels", "",
    [](const auto& v, Faults& faults) {
        for (const std::size_t n : {4101, 8200}) // rows that begin between two multiples of 16 bytes, and others
            faults.check("n = " + std::to_string(n),
                         [&] { return residual_fault(rung_of(v), random_problem(n, true)); });
        for (const std::size_t n : {4100, 8200}) // a thread has two rows, or four
            faults.check("equal candidates, n = " + std::to_string(n),
                         [&] { return first_of_equals_fault(rung_of(v), n, 70); });
    },
    [](std::string_view name, Backend) {
        return name == "cuda_cluster_pivot" || name == "cuda_look_ahead_pivot" || name == "cuda_critical_path_pivot";
    });

const VariantCases taller(
    variants(), "factorises panels that no cluster holds", "[large]",
    [](const auto& v, Faults& faults) {
        faults.check("n = 16400", [&] { return residual_fault(rung_of(v), random_problem(16400, true)); });
    },
    [](std::string_view name, Backend) { return name == "cuda_cluster_pivot" || name == "cuda_critical_path_pivot"; });

TEST_CASE("the CUDA rungs factorise with panels of any width", "[cuda]") {
    for (const Device& device : devices_or_skip(Backend::cuda)) {
        gpulab::use(device);
        for (const int width : {1, 8, 24, 33, 48}) {
            INFO("panels of " << width << " columns on " << device.name);
            CHECK(fault_at(of_width(cuda_blocked_of_width, width, Backend::cuda), {1, 23, 24, 25, 49, 130}) == "");
            if (device.compute_capability >= 90)
                CHECK(fault_at(of_width(cuda_cluster_of_width, width, Backend::cuda), {1, 23, 24, 25, 49, 130, 300}) ==
                      "");
        }
    }
}

namespace {
/// C = A22 - A21 A12 on tensor cores, where A11 has `width` rows and columns of n, against loops on the CPU.
std::string tensor_update_fault(std::size_t n, int width) {
    const Problem p = random_problem(n, false);
    const auto w = static_cast<std::size_t>(width), m = n - w;
    std::vector<double> c(m * m, std::numeric_limits<double>::quiet_NaN());
    gpulab::Stopwatch once;
    cuda_update_tensor(p, c, once, width);
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
            in_turn([&, n = n, width = width] { CHECK(tensor_update_fault(n, width) == ""); });
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
        for (Run* const run : {cuda_kernels_and_copy_16, cuda_kernels_and_copy_32})
            for (const std::size_t n : {1, 2, 33, 130}) {
                INFO("n = " << n << " on " << device.name);
                const Problem p = random_problem(n, false);
                Factors f(n);
                poison(f);
                gpulab::Stopwatch watch(0, 2);
                watch.hooks = &hooks;
                in_turn([&] { run(p, f, watch); });
                CHECK(compare(p, f, false).message == "");
            }
    }
}
#endif

/// Whether the comparison rejects right factors after a change.
bool rejects(const Problem& p, Factors f, const std::function<void(Factors&)>& change, bool pivoting = true) {
    change(f);
    return !compare(p, f, pivoting).passed;
}
} // namespace

TEST_CASE("cpu_blocked_pivot factorises with panels of any width", "[cpu]") {
    for (const int width : {1, 3, 48, 256}) {
        INFO(width);
        CHECK(fault_at(of_width(cpu_blocked_of_width, width, Backend::cpu), {1, 2, 47, 48, 49, 130, 257}) == "");
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
    CHECK(work(Problem{7, {}}).bytes == 2 * 8 * 7 * 7);
    CHECK(work(Problem{7, {}}).flops == Problem{7, {}}.flops());
}

TEST_CASE("the work of an update is counted as its loops do it") {
    constexpr std::size_t m = 5, width = 3;
    double flops = 0;
    for (std::size_t element = 0; element < m * m; ++element)
        for (std::size_t k = 0; k < width; ++k) flops += 2;
    const gpulab::Work work = update_work(m, width);
    CHECK(work.flops == flops);
    CHECK(work.bytes == 8 * (m * m + m * m + m * width + width * m)); // A22 read, c written, A21 and A12 read
    CHECK(work.arithmetic == gpulab::Arithmetic::fp64);
}

TEST_CASE("a result has its percentage of the library on the same device, with pivoting as it has") {
    PercentOfLibrary percent;
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
    CHECK(norm({1, -2, 3, 4}, 2) == 7);
    CHECK(norm({-4, 3, 1, 1}, 2) == 7);
    CHECK(std::isnan(norm({std::nan(""), 0, 1, 1}, 2)));
}

TEST_CASE("pivots that make no permutation give no order of the rows") {
    CHECK(row_order(factors_of(3, {}, {2, 1, 2})) == std::vector<std::size_t>{2, 1, 0});
    for (const std::vector<std::int32_t>& pivots : {std::vector<std::int32_t>{1, 0, 2}, {0, 3, 2}, {-1, 1, 2}})
        CHECK(row_order(factors_of(3, {}, pivots)).empty());
}

TEST_CASE("error and tolerance of a 2 x 2 matrix, by hand") {
    const double epsilon = std::numeric_limits<double>::epsilon(), wrong = std::ldexp(1.0, -40);
    // A = (2 1; 4 3) = (1 0; 2 1) (2 1; 0 1); norm(A) = 7. The last element of U is wrong.
    const auto c = compare({2, {2, 1, 4, 3}}, factors_of(2, {2, 1, 2, 1 + wrong}, {0, 1}), false);
    CHECK(c.error == wrong / (2 * epsilon * 7));
    CHECK(c.tolerance == (7 + wrong) / 7); // norm(|L| |U|) / norm(A)
    const auto cancels = compare({2, {2, 1, 4, 1}}, factors_of(2, {2, 1, 2, -1}, {0, 1}), false);
    CHECK(cancels.tolerance == 7.0 / 5); // |L| |U| = (2 1; 4 3)
}

TEST_CASE("the growth factor compares U, not L, with A") {
    const Problem p{2, {0.001, 1, -2, 1}};
    Factors f(2);
    f.lu = {0.001, 1, -2000, 2001};
    CHECK(growth_factor(p, f) == 1000.5);
    f.lu[2] = 5000; // an element of L
    CHECK(growth_factor(p, f) == 1000.5);
    f.lu[0] = std::nan("");
    CHECK(std::isnan(growth_factor(p, f)));
}

TEST_CASE("the comparison sees every kind of wrong factors") {
    const Problem p = make_problem(60, seed);
    const Factors right = factorised_by(cpu_right_looking_pivot, p);
    REQUIRE(compare(p, right, true).passed);
    CHECK(compare(p, right, true).error < 1);

    CHECK(rejects(p, right, [](Factors& f) { f.lu[60 * 30 + 45] += 1e-9; })); // one element of U
    CHECK(rejects(p, right, [](Factors& f) { f.lu[60 * 59 + 3] += 1e-9; }));  // one of L
    CHECK(rejects(p, right, [](Factors& f) { f.lu.back() = std::numeric_limits<double>::quiet_NaN(); }));
    CHECK(rejects(p, right, [](Factors& f) { poison(f); }));
    for (const std::int32_t pivot : {-1, 60, 4}) { // of step 5
        Factors wrong = right;
        wrong.pivots[5] = pivot;
        const auto c = compare(p, wrong, true);
        CHECK_FALSE(c.passed);
        CHECK(c.message.find("no permutation") != std::string::npos);
    }
    // A permutation, but of another matrix.
    CHECK(rejects(p, right, [](Factors& f) { f.pivots[0] = f.pivots[0] == 0 ? 1 : 0; }));

    CHECK_FALSE(compare(p, right, false).passed); // a variant without pivoting exchanges nothing
    const Problem small{2, {1e-3, 1, 1, 1}};      // right factors, but not those of the largest pivot
    const Factors unstable = factors_of(2, {1e-3, 1, 1e3, -999}, {0, 1});
    CHECK(compare(small, unstable, false).passed);
    const auto c = compare(small, unstable, true);
    CHECK_FALSE(c.passed);
    CHECK(c.message.find("larger than 1") != std::string::npos);
}

TEST_CASE("with pivoting no element of L is larger than 1, except by the rounding of a reciprocal") {
    constexpr double epsilon = std::numeric_limits<double>::epsilon();
    for (const double l : {1.0, -1.0, 1 + epsilon, -1 - epsilon, 1 + 2 * epsilon, 1.25, -1.25}) {
        // Right factors in each case, of (4 0; 4 l 1) and, in the last row, of (4 0 0; 0 4 0; 4 l 0 1).
        const Problem two{2, {4, 0, 4 * l, 1}}, three{3, {4, 0, 0, 0, 4, 0, 4 * l, 0, 1}};
        const Factors of_two = factors_of(2, {4, 0, l, 1}, {0, 1});
        const Factors of_three = factors_of(3, {4, 0, 0, 0, 4, 0, l, 0, 1}, {0, 1, 2});
        INFO("l = 1 + " << std::abs(l) - 1);
        CHECK(compare(two, of_two, false).passed);
        CHECK(compare(three, of_three, false).passed);
        CHECK(compare(two, of_two, true).passed == (std::abs(l) <= 1 + epsilon));
        CHECK(compare(three, of_three, true).passed == (std::abs(l) <= 1 + epsilon));
    }
}

TEST_CASE("NaN in any element of the factors is found, also when later rows are right") {
    for (const std::size_t n : {4, 1030}) {
        const Problem p = random_problem(n, false);
        const Factors f = factorised_by(cpu_threads, p);
        REQUIRE(compare(p, f, false).passed);
        for (const std::size_t at : {std::size_t{0}, n, n + 1, 2 * n + 1, n * n - 2, n * n - 1}) {
            INFO("n = " << n << ", element " << at);
            CHECK(rejects(
                p, f, [&](Factors& wrong) { wrong.lu[at] = std::numeric_limits<double>::quiet_NaN(); }, false));
        }
    }
}

TEST_CASE("the comparison of large matrices, by samples, sees a single wrong element") {
    const Problem p = make_problem(1100, seed);
    const Factors f = factorised_by(cpu_threads_pivot, p);
    REQUIRE(compare(p, f, true).passed);
    CHECK(compare(p, f, true).error < 1);
    for (const std::size_t at : {std::size_t{0}, 1100 * 700 + std::size_t{800}, 1100 * 1099 + std::size_t{2}}) {
        CHECK(rejects(p, f, [&](Factors& wrong) { wrong.lu[at] += 1e-6; }));
        CHECK(rejects(p, f, [&](Factors& wrong) { wrong.lu[at] = std::numeric_limits<double>::quiet_NaN(); }));
    }
}

TEST_CASE("for a random matrix with pivoting the tolerance is that of random rounding errors, by hand") {
    Problem p{2, {4, 2, 2, 4}};
    const Factors f = factors_of(2, {4, 2, 0.5, 3}, {0, 1});
    CHECK(random_growth(f) == std::sqrt(20.0)); // (L o L) (U o U) = (16 4; 4 10): row sums of 20 and 14
    CHECK(compare(p, f, true).tolerance == 1);
    p.a = {4, 2, 2, 40}; // another norm
    const double random = lambda / 2 * std::sqrt(20.0) / 42;
    CHECK(compare(p, f, true).tolerance == 6.0 / 42); // no matrix of make_problem(): the worst case
    p.random = true;
    CHECK(compare(p, f, true).tolerance == 6.0 / 42); // smaller than `random`
    CHECK(random > 6.0 / 42);
    CHECK(make_problem(2, 1).random);

    const Problem drawn = random_problem(1025, true); // judged by samples
    Problem given = drawn;
    given.random = false;
    const Factors factors = factorised_by(cpu_right_looking_pivot, drawn);
    const double size = norm(drawn.a, 1025);
    CHECK(compare(drawn, factors, true).tolerance ==
          lambda / 2 * (3 / std::sqrt(1025.0)) * random_growth(factors) / size);
    CHECK(compare(given, factors, true).tolerance == growth_norm(factors) / size);
}

TEST_CASE("right factors of random matrices are within a tenth of the tolerance, wrong by 1e-8 they are rejected") {
    for (const std::size_t n : {65, 1000, 2000}) {
        INFO("n = " << n);
        const Problem p = make_problem(n, seed);
        const Factors right = factorised_by(cpu_threads_pivot, p);
        const auto c = compare(p, right, true);
        CHECK(c.error < c.tolerance / 10);
        CHECK(c.tolerance < 10);

        // An element of L; the largest of A is 1.
        CHECK(rejects(p, right, [&](Factors& f) { f.lu[(n - 1) * n + n / 2] += 1e-8; }));
        // An element of the trailing matrix, which all later steps use: the factors of a matrix with this element.
        const std::vector<std::size_t> order = row_order(right);
        Problem other = p;
        other.a[order[n - 1] * n + n - 2] += 1e-8;
        CHECK_FALSE(compare(p, factorised_by(cpu_threads_pivot, other), true).passed);
    }
}

TEST_CASE("without pivoting a small pivot costs digits, which the error shows and the tolerance allows") {
    const Problem p{2, {1e-12, 1, 1, 1}};
    const Factors with = factorised_by(cpu_right_looking_pivot, p), without = factorised_by(cpu_right_looking, p);
    CHECK(compare(p, without, false).passed);
    CHECK(compare(p, without, false).tolerance > 1e11);
    CHECK(compare(p, with, true).tolerance < 10);
}

TEST_CASE("a zero pivot without pivoting advises pivoting; a singular matrix is named with its column") {
    CHECK(message_of<gpulab::Unsupported>([] {
              factorised_by(cpu_two_stage, {2, {0, 1, 1, 0}});
          }).find("_pivot") != std::string::npos);
    CHECK(message_of<gpulab::Error>([] {
              factorised_by(cpu_two_stage_pivot, {2, {1, 2, 2, 4}});
          }).find("singular: column 2") != std::string::npos);
}

TEST_CASE("a CPU is not asked for factorisations that take minutes") {
    gpulab::Options options("lu", "");
    options.variants(variants());
    REQUIRE(options.parse(3, std::array{"lu", "--variant", "cpu_threads"}.data()));
    Device cpu, gpu;
    gpu.backend = Backend::cuda;
    CHECK(too_slow(options, "cpu_blocked", cpu, 1e9) == "");
    CHECK(too_slow(options, "cpu_blocked", cpu, 1e10) ==
          "1e+10 operations take long on a CPU; --variant cpu_blocked runs it anyway");
    CHECK(too_slow(options, "cpu_threads", cpu, 1e10) == ""); // asked for by name
    CHECK(too_slow(options, "cuda_coalesced", gpu, 1e12) == "");
}
