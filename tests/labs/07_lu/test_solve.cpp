// A X = B: every solver, the check that judges them, and the estimate of the condition.
#include <catch2/catch_test_macros.hpp>

#include "rungs.hpp"
#include "solve_checks.hpp"

using gpulab::Backend;
using gpulab::testing::Faults;
using gpulab::testing::VariantCases;
using namespace lu;
using namespace lu::testing;

namespace {

Solver solver_of(const gpulab::Variant<SolveRun>& v) { return {v.run, v.backend, refines(v.name), v.baseline}; }

const VariantCases cases(solve_variants(), "solves", "", [](const auto& v, Faults& faults) {
    Solver solver = solver_of(v);
    check_solver(solver, faults);
});

/// Two blocks of unknowns and a ragged edge, once.
void check_small(const gpulab::Variant<SolveRun>& v, Faults& faults, std::size_t n) {
    faults.check("small sizes", [&] {
        for (const std::size_t count : {1, 9}) {
            Solution expected;
            const auto p = exact_system(n, count, expected);
            if (solved_by(v.run, p) != expected) return std::string("another solution");
        }
        return std::string();
    });
}

const VariantCases oclgrind(
    solve_variants(), "under oclgrind", "[.oclgrind]",
    [](const auto& v, Faults& faults) { check_small(v, faults, 67); }, gpulab::testing::only_on<Backend::opencl>);

#if defined(GPULAB_WITH_CUDA)
const VariantCases sanitizer(
    solve_variants(), "under compute-sanitizer", "[.sanitizer]",
    [](const auto& v, Faults& faults) { check_small(v, faults, 131); }, gpulab::testing::own_cuda);
#endif

/// The factors by cpu_right_looking_pivot.
Factors factors_of(const Problem& p) { return factorised_by(cpu_right_looking_pivot, p); }

/// norm(A) norm(A^-1) in the 1-norm, column by column of the inverse.
double condition(const Problem& p) {
    std::vector<double> identity(p.n * p.n);
    for (std::size_t i = 0; i < p.n; ++i) identity[i * p.n + i] = 1;
    const Solution inverse = solved_by(cpu_solve_rows, make_solve_problem(p, factors_of(p), identity, p.n));
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
    const auto p = make_solve_problem(make_problem(50, 3), 3, 4);
    const Solution x = solved_by(cpu_solve_refined, p);
    REQUIRE(compare(p, x, true).passed);
    Solution wrong = x;
    wrong[70] *= 1 + 1e-9;
    CHECK_FALSE(compare(p, wrong, true).passed);
    CHECK_FALSE(compare(p, wrong, false).passed);
    wrong = x;
    std::swap(wrong[0], wrong[1]);
    CHECK_FALSE(compare(p, wrong, true).passed);
    for (const std::size_t at : {0, 1, 2, 147, 148, 149}) { // in any right-hand side
        wrong = x;
        wrong[at] = std::numeric_limits<double>::quiet_NaN();
        CHECK_FALSE(compare(p, wrong, true).passed);
    }
    wrong.pop_back();
    CHECK_FALSE(compare(p, wrong, true).passed);
}

TEST_CASE("the operations of the solution are counted as its loops do them") {
    for (const std::size_t n : {1, 2, 7, 40}) {
        double count = 0;
        for (std::size_t i = 0; i < n; ++i)
            for (std::size_t j = 0; j < n; ++j) count += j == i ? 1 : 2; // a division; a product and a difference
        const SolveProblem p{n, 3, {}, {}, {}};
        CHECK(p.flops() == 3 * count);
        CHECK(p.bytes() == 8.0 * static_cast<double>(n * n + 3 * n + 3 * n));
        CHECK(work(p).flops == p.flops());
        CHECK(work(p).bytes == p.bytes());
    }
}

TEST_CASE("backward error and tolerance of a 2 x 2 system, by hand") {
    const double epsilon = std::numeric_limits<double>::epsilon(), wrong = std::ldexp(1.0, -40);
    const Factors identity = factors_of(2, {1, 0, 0, 1}, {0, 1});
    const auto p = make_solve_problem({2, {1, 0, 0, 1}}, identity, {4, 0, 0, 8}, 2); // B = (4 0; 0 8)
    const Solution x = {4 + wrong, 0, 0, 8}; // the first right-hand side is the worst one
    CHECK(backward_error(p, x) == wrong / (2 * epsilon * (4 + wrong + 4)));
    CHECK(compare(p, x, false).tolerance == 1.5);
    CHECK(compare(p, x, true).tolerance == 1);
}

TEST_CASE("right solutions of random systems are within a tenth of the tolerance, wrong ones are rejected") {
    for (const std::size_t n : {65, 1000}) {
        INFO("n = " << n);
        const auto p = make_solve_problem(make_problem(n, seed), 2, 4);
        Solution x;
        for (const bool refined : {false, true}) {
            x = solved_by(refined ? cpu_solve_refined : cpu_solve_rows, p);
            const auto c = compare(p, x, refined);
            CHECK(c.error < c.tolerance / 10);
            CHECK(c.tolerance < 2);
            Solution wrong = x;
            wrong[n] *= 1 + 1e-8;
            CHECK_FALSE(compare(p, wrong, refined).passed);
        }
        const double of_row = lambda / 2 / std::sqrt(static_cast<double>(n));
        CHECK(compare(p, x, true).tolerance == of_row);
        CHECK(compare(p, x, false).tolerance == 3 * of_row * random_growth(p.factors) / norm(p.a, n));
    }
}

TEST_CASE("refinement makes up for factors without pivoting") {
    const Example e = growing(100, 1e-8);
    const auto system = make_solve_problem(e.problem, e.factors, gpulab::random_vector<double>(100, 5), 1);
    CHECK(backward_error(system, solved_by(cpu_solve_blocked, system)) > 100);
    CHECK(backward_error(system, solved_by(cpu_solve_refined, system)) < 1);
}

TEST_CASE("the condition estimate is at most the condition number, and near it") {
    // The climb stops at the first unit vector; the guess with alternating signs finds the large inverse.
    constexpr double a = 0.5 + 0x1p-11, b = 0.5 - 0x1p-11;
    const Problem misleading{4, {0.5, 0, 0, 0, 0, 1, 0, 0, 0, 0, a, b, 0, 0, b, a}};
    for (const Problem& p : {misleading, make_problem(1, 3), make_problem(30, 3), make_problem(70, 5), hilbert(6),
                             wilkinson(20).problem}) {
        const double exact = condition(p), estimate = condition_estimate(p, factors_of(p));
        CHECK(estimate <= exact * (1 + 1e-6));
        CHECK(estimate >= exact / 3);
    }
    CHECK(condition_estimate({2, {1, 0, 0, 1}}, factors_of({2, {1, 0, 0, 1}})) == 1);
    const Problem upper{3, {1, 1, 1, 0, 1, 0, 0, 0, 1}}; // the largest column sum is 2, also of the inverse
    CHECK(condition_estimate(upper, factors_of(upper)) == 4);
    CHECK(std::isinf(condition_estimate({1, {1e-320}}, factors_of({1, {1e-320}})))); // 1e320 is no double
    CHECK(std::isinf(condition_estimate({1, {0}}, factors_of(1, {0}, {0}))));
    const double of_hilbert = condition_estimate(hilbert(10), factors_of(hilbert(10)));
    CHECK((of_hilbert > 1e13 && of_hilbert < 1e14)); // 3.5e13 (Higham, table 28.1)
}
