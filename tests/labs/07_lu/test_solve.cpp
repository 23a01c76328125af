// A X = B: every solver, the check that judges them, and the estimate of the condition.
#include <catch2/catch_test_macros.hpp>

#include "rungs.hpp"
#include "solve_checks.hpp"

using gpulab::Backend;
using gpulab::testing::Faults;
using gpulab::testing::VariantCases;
using lu::Factors;
using lu::Problem;
using lu::Solution;
using lu::testing::Solver;

namespace {

Solver solver_of(const gpulab::Variant<lu::SolveRun>& v) { return {v.run, v.backend, lu::refines(v.name), v.baseline}; }

const VariantCases cases(lu::solve_variants(), "solves", "", [](const auto& v, Faults& faults) {
    Solver solver = solver_of(v);
    for (const auto& check : lu::testing::solver_checks())
        faults.check(check.name, [&] { return check.fault(solver); });
});

/// Two blocks of unknowns and a ragged edge, once.
void check_small(const gpulab::Variant<lu::SolveRun>& v, Faults& faults, std::size_t n) {
    faults.check("small sizes", [&] {
        for (const std::size_t count : {1, 9}) {
            Solution expected, x(n * count);
            const auto p = lu::testing::exact_system(n, count, expected);
            gpulab::Stopwatch once;
            v.run(p, x, once);
            if (x != expected) return std::string("another solution");
        }
        return std::string();
    });
}

#if defined(GPULAB_WITH_OPENCL)
const VariantCases oclgrind(
    lu::solve_variants(), "under oclgrind", "[.oclgrind]",
    [](const auto& v, Faults& faults) { check_small(v, faults, 67); }, gpulab::testing::only_on<Backend::opencl>);
#endif

#if defined(GPULAB_WITH_CUDA)
const VariantCases sanitizer(
    lu::solve_variants(), "under compute-sanitizer", "[.sanitizer]",
    [](const auto& v, Faults& faults) { check_small(v, faults, 131); }, gpulab::testing::own_cuda);
#endif

/// The factors by cpu_right_looking_pivot.
Factors factors_of(const Problem& p) {
    Factors f(p.n);
    gpulab::Stopwatch once;
    lu::cpu_right_looking_pivot(p, f, once);
    return f;
}

/// norm(A) norm(A^-1) in the 1-norm, column by column of the inverse.
double condition(const Problem& p) {
    std::vector<double> identity(p.n * p.n);
    for (std::size_t i = 0; i < p.n; ++i) identity[i * p.n + i] = 1;
    Solution inverse(p.n * p.n);
    gpulab::Stopwatch once;
    lu::cpu_solve_rows(lu::make_solve_problem(p, factors_of(p), identity, p.n), inverse, once);
    double of_a = 0, of_inverse = 0;
    for (std::size_t j = 0; j < p.n; ++j) {
        double a = 0, b = 0;
        for (std::size_t i = 0; i < p.n; ++i) {
            a += std::abs(p.a[i * p.n + j]);
            b += std::abs(inverse[i * p.n + j]);
        }
        of_a = std::max(of_a, a);
        of_inverse = std::max(of_inverse, b);
    }
    return of_a * of_inverse;
}

} // namespace

TEST_CASE("the comparison of solutions sees a lost digit, another right-hand side and NaN") {
    const auto p = lu::make_solve_problem(lu::make_problem(50, 3), 3, 4);
    Solution x(150);
    gpulab::Stopwatch once;
    lu::cpu_solve_refined(p, x, once);
    REQUIRE(lu::compare(p, x, true).passed);
    Solution wrong = x;
    wrong[70] *= 1 + 1e-9;
    CHECK_FALSE(lu::compare(p, wrong, true).passed);
    CHECK_FALSE(lu::compare(p, wrong, false).passed);
    wrong = x;
    std::swap(wrong[0], wrong[1]);
    CHECK_FALSE(lu::compare(p, wrong, true).passed);
    for (const std::size_t at : {0, 1, 2, 147, 148, 149}) { // in any right-hand side
        wrong = x;
        wrong[at] = std::numeric_limits<double>::quiet_NaN();
        CHECK_FALSE(lu::compare(p, wrong, true).passed);
    }
    wrong.pop_back();
    CHECK_FALSE(lu::compare(p, wrong, true).passed);
}

TEST_CASE("the operations of the solution are counted as its loops do them") {
    for (const std::size_t n : {1, 2, 7, 40}) {
        double count = 0;
        for (std::size_t i = 0; i < n; ++i)
            for (std::size_t j = 0; j < n; ++j) count += j == i ? 1 : 2; // a division; a product and a difference
        const lu::SolveProblem p{n, 3, {}, {}, {}};
        CHECK(p.flops() == 3 * count);
        CHECK(p.bytes() == 8.0 * static_cast<double>(n * n + 3 * n + 3 * n));
        CHECK(lu::work(p).flops == p.flops());
        CHECK(lu::work(p).bytes == p.bytes());
    }
}

TEST_CASE("backward error and tolerance of a 2 x 2 system, by hand") {
    const double epsilon = std::numeric_limits<double>::epsilon(), wrong = std::ldexp(1.0, -40);
    const Factors identity = lu::testing::factors_of(2, {1, 0, 0, 1}, {0, 1});
    const auto p = lu::make_solve_problem({2, {1, 0, 0, 1}}, identity, {4, 0, 0, 8}, 2); // B = (4 0; 0 8)
    const Solution x = {4 + wrong, 0, 0, 8}; // the first right-hand side is the worst one
    CHECK(lu::backward_error(p, x) == wrong / (2 * epsilon * (4 + wrong + 4)));
    CHECK(lu::compare(p, x, false).tolerance == 1.5);
    CHECK(lu::compare(p, x, true).tolerance == 1);
}

TEST_CASE("right solutions of random systems are within a tenth of the tolerance, wrong ones are rejected") {
    for (const std::size_t n : {65, 1000}) {
        INFO("n = " << n);
        const auto p = lu::make_solve_problem(lu::make_problem(n, gpulab::testing::seed), 2, 4);
        Solution x(2 * n);
        gpulab::Stopwatch once;
        for (const bool refined : {false, true}) {
            (refined ? lu::cpu_solve_refined : lu::cpu_solve_rows)(p, x, once);
            const auto c = lu::compare(p, x, refined);
            CHECK(c.error < c.tolerance / 10);
            CHECK(c.tolerance < 2);
            Solution wrong = x;
            wrong[n] *= 1 + 1e-8;
            CHECK_FALSE(lu::compare(p, wrong, refined).passed);
        }
        const double of_row = lu::lambda / 2 / std::sqrt(static_cast<double>(n));
        CHECK(lu::compare(p, x, true).tolerance == of_row);
        CHECK(lu::compare(p, x, false).tolerance == 3 * of_row * lu::random_growth(p.factors) / lu::norm(p.a, n));
    }
}

TEST_CASE("refinement makes up for factors without pivoting") {
    Problem p = lu::make_problem(100, 8);
    p.a[0] = 1e-8; // without pivoting, growth of about 10^8
    Factors f(p.n);
    gpulab::Stopwatch once;
    lu::cpu_blocked(p, f, once);
    const auto system = lu::make_solve_problem(p, f, gpulab::random_vector<double>(p.n, 5), 1);
    Solution plain(p.n), refined(p.n);
    lu::cpu_solve_blocked(system, plain, once);
    lu::cpu_solve_refined(system, refined, once);
    CHECK(lu::backward_error(system, plain) > 100);
    CHECK(lu::backward_error(system, refined) < 1);
}

TEST_CASE("the condition estimate is at most the condition number, and near it") {
    // The climb stops at the first unit vector; the guess with alternating signs finds the large inverse.
    constexpr double a = 0.5 + 0x1p-11, b = 0.5 - 0x1p-11;
    const Problem misleading{4, {0.5, 0, 0, 0, 0, 1, 0, 0, 0, 0, a, b, 0, 0, b, a}};
    for (const Problem& p : {misleading, lu::make_problem(1, 3), lu::make_problem(30, 3), lu::make_problem(70, 5),
                             lu::testing::hilbert(6), lu::testing::wilkinson(20).problem}) {
        const double exact = condition(p), estimate = lu::condition_estimate(p, factors_of(p));
        CHECK(estimate <= exact * (1 + 1e-6));
        CHECK(estimate >= exact / 3);
    }
    CHECK(lu::condition_estimate({2, {1, 0, 0, 1}}, factors_of({2, {1, 0, 0, 1}})) == 1);
    const Problem upper{3, {1, 1, 1, 0, 1, 0, 0, 0, 1}}; // the largest column sum is 2, also of the inverse
    CHECK(lu::condition_estimate(upper, factors_of(upper)) == 4);
    CHECK(std::isinf(lu::condition_estimate({1, {1e-320}}, factors_of({1, {1e-320}})))); // 1e320 is no double
    CHECK(std::isinf(lu::condition_estimate({1, {0}}, lu::testing::factors_of(1, {0}, {0}))));
    const double of_hilbert = lu::condition_estimate(lu::testing::hilbert(10), factors_of(lu::testing::hilbert(10)));
    CHECK((of_hilbert > 1e13 && of_hilbert < 1e14)); // 3.5e13 (Higham, table 28.1)
}
