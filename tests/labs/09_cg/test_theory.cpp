// What the theory of the method promises.
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <numbers>

#include "checks.hpp"
#include "scalars.hpp"

using namespace cg;
using namespace cg::testing;

TEST_CASE("p . q below the normal numbers ends the iteration when the residual is rounding only") {
    const auto c = generated<double>("laplace2d:3", settings(0, 10));
    for (const bool rounding : {true, false}) {
        Output<double> out;
        Scalars<double> scalars(c.problem, out);
        scalars.begin(1, 1);
        REQUIRE(scalars.accepts(1e-300));
        scalars.next(rounding ? 1e-40 : 1e-20, 1e-40); // the squares of the norms
        CHECK(scalars.accepts(1e-300));
        CHECK(scalars.accepts(1e-310) == !rounding);
        CHECK(scalars.wants_more() == !rounding);
        if (rounding) CHECK(out.end == End::exhausted);
    }
}

TEST_CASE("a system of n unknowns is solved after n iterations") {
    for (const std::size_t n : {1u, 2u, 3u, 5u, 8u, 12u}) {
        const auto c = system<double>("", random_spd<double>(n, 2), settings(1e-9, n));
        INFO(n << " unknowns: " << describe_end(c.problem, solved(c.problem)));
        CHECK(solved(c.problem).end == End::converged);
    }
}

TEST_CASE("as many iterations are enough as there are different eigenvalues") {
    SymmetricMatrix<double> m(300);
    for (std::size_t i = 0; i < 300; ++i) m.add(i, i, std::vector<double>{1, 4, 20}[i % 3]);
    const auto c = system<double>("", m.matrix(), settings(1e-10, 50));
    CHECK(solved(c.problem).iterations() == 3);
}

TEST_CASE("the residuals of the 2-D Laplacian stay below the bound by its condition number") {
    for (const std::size_t side : {10u, 31u, 64u}) {
        const auto c = generated<double>(fmt::format("laplace2d:{}", side), settings(1e-9, 2000));
        const Output<double> out = solved(c.problem);
        REQUIRE(out.end == End::converged);
        // Eigenvalues 4 (sin^2 + sin^2): the condition number is cot^2(pi / (2 side + 2)).
        const double root = 1 / std::tan(std::numbers::pi / (2.0 * static_cast<double>(side) + 2));
        const double factor = (root - 1) / (root + 1);
        // The error in the norm of A falls by 2 factor^k (Saad, Iterative Methods, 2003, theorem 6.29); between that
        // norm and the residual's lies a factor of at most the root of the condition number.
        for (std::size_t k = 0; k <= out.iterations(); ++k)
            CHECK(out.history[k] <= 2 * root * std::pow(factor, static_cast<double>(k)) * out.history[0]);
        CHECK(out.iterations() > side); // news travels one point per iteration
    }
}

TEST_CASE("steepest descent needs many more iterations, and Jacobi helps where the diagonal varies") {
    const auto count = [](const std::string& what, bool jacobi, bool steepest) {
        return solved(generated<double>(what, settings(1e-6, 100000, jacobi, steepest)).problem).iterations();
    };
    CHECK(count("laplace2d:20", false, true) > 10 * count("laplace2d:20", false, false));
    SymmetricMatrix<double> m(200);
    for (std::size_t i = 0; i < 200; ++i) {
        m.add(i, i, std::pow(1.3, static_cast<double>(i % 40)));
        if (i > 0) m.add(i, i - 1, 0.1);
    }
    const auto plain = system<double>("", m.matrix(), settings(1e-8, 5000));
    const auto jacobi = system<double>("", m.matrix(), settings(1e-8, 5000, true));
    CHECK(solved(jacobi.problem).iterations() * 2 < solved(plain.problem).iterations());
}

TEST_CASE("with Jacobi on a constant diagonal the history is the same") {
    const Problem<double> plain = generated<double>("laplace2d:15", settings(1e-8, 500)).problem;
    const auto jacobi = solved(generated<double>("laplace2d:15", settings(1e-8, 500, true)).problem);
    const gpulab::Comparison c = compare(plain, make_reference(plain), jacobi); // but for rounding
    INFO(c.message);
    CHECK(c.passed);
    CHECK(solved(plain).iterations() == jacobi.iterations());
}

TEMPLATE_TEST_CASE("bad systems are refused with the numbers", "", float, double) {
    using T = TestType;
    const auto refusal = [](const gpulab::Csr<T>& a, const std::vector<T>& b, const std::vector<T>& start,
                            bool jacobi) {
        return gpulab::testing::message_of([&] { make_problem<T>(a, b, start, settings(1e-6, 10, jacobi), "A.mtx"); });
    };
    SymmetricMatrix<T> m(3);
    m.add(0, 0, 2);
    m.add(1, 1, 2);
    m.add(2, 2, 2);
    m.add(0, 2, 1);
    const gpulab::Csr<T> good = m.matrix();
    const std::vector<T> b = {1, 2, 3};
    REQUIRE(refusal(good, b, {}, true) == "");
    gpulab::Csr<T> wide = good, skew = good, lost = good, zero = good, unfinished = good;
    wide.columns = 4;
    CHECK(refusal(wide, b, {}, false) == "A.mtx is not square: 3 rows, 4 columns");
    skew.value[1] = 3;
    CHECK(refusal(skew, b, {}, false) == "A.mtx is not symmetric: element (1, 3) is 3, element (3, 1) is 1");
    constexpr T epsilon = std::numeric_limits<T>::epsilon();
    skew.value[1] = 1 + 4 * epsilon; // the last bits may differ, as they do after sums in another order
    CHECK(refusal(skew, b, {}, false) == "");
    skew.value[1] = 1 + 6 * epsilon;
    CHECK(refusal(skew, b, {}, false).starts_with("A.mtx is not symmetric: element (1, 3) is 1.00000"));
    lost = gpulab::Csr<T>{3, 3, {0, 2, 3, 4}, {0, 2, 1, 2}, {2, 1, 2, 2}};
    CHECK(refusal(lost, b, {}, false) == "A.mtx is not symmetric: element (1, 3) is 1, element (3, 1) is 0");
    zero.value[2] = 0; // (2, 2)
    CHECK(refusal(zero, b, {}, false) == "");
    CHECK(refusal(zero, b, {}, true).starts_with("A.mtx: diagonal element 2 is 0; the Jacobi preconditioner"));
    zero.value[2] = -1;
    CHECK(refusal(zero, b, {}, true).starts_with("A.mtx: diagonal element 2 is -1"));
    zero.value[2] = std::numeric_limits<T>::denorm_min();
    CHECK(refusal(zero, b, {}, true).ends_with("so it must be positive, and so large that 1 divided by it is finite"));
    CHECK(refusal(good, {1, 2}, {}, false) == "the right-hand side has 2 numbers, A.mtx has 3 rows");
    CHECK(refusal(good, b, {1}, false) == "the start has 1 numbers, A.mtx has 3 rows");
    CHECK(refusal(good, {1, std::numeric_limits<T>::quiet_NaN(), 3}, {}, false) ==
          "the right-hand side: number 2 is nan");
    // The square of the norm of b would be zero, and the iteration would end as converged before it begins.
    const T least = std::sqrt(std::numeric_limits<T>::min());
    CHECK(refusal(good, {least / 100, 0, least / 100}, {}, false).starts_with("the right-hand side has a norm of "));
    CHECK(refusal(good, {2 * least, 0, 0}, {}, false) == "");
    CHECK(refusal(good, {0, 0, 0}, {}, false) == "");
    CHECK(refusal(good, b, {1, 2, std::numeric_limits<T>::infinity()}, false) == "the start: number 3 is inf");
    unfinished.value[0] = std::numeric_limits<T>::quiet_NaN();
    CHECK(refusal(unfinished, b, {}, false) ==
          "A.mtx: the value in row 1, column 1 is nan: only finite values can be used");
    unfinished = good;
    unfinished.value.back() = std::numeric_limits<T>::infinity();
    CHECK(refusal(unfinished, b, {}, false) ==
          "A.mtx: the value in row 3, column 3 is inf: only finite values can be used");
}

TEST_CASE("columns in any order, and entries at one place, are taken") {
    gpulab::Csr<double> a{2, 2, {0, 3, 5}, {1, 0, 0, 1, 0}, {1, 2, 2, 3, 1}};
    const auto p = make_problem<double>(a, {1, 2}, {}, settings(1e-12, 5));
    CHECK(p.matrix.value == std::vector<double>{4, 1, 1, 3});
    const Output<double> out = solved(p);
    CHECK(std::abs(out.x[0] - 1.0 / 11) < 1e-14);
}
