// The sparse formats, their conversions and the generators.
#include <algorithm>
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <cstdlib>
#include <new>
#include <set>

#include "checks.hpp"
#include "gpulab/sparse/convert.hpp"
#include "gpulab/sparse/generate.hpp"
#include "gpulab/sparse/parallel.hpp"
#include "gpulab/sparse/rows.hpp"

using gpulab::Coo;
using gpulab::Csr;

TEMPLATE_TEST_CASE("the lecture's 3 x 4 matrix has the arrays that the lecture prints", "", float, double) {
    const Csr<TestType> m = gpulab::lecture_example<TestType>();
    CHECK(m.row_start == std::vector<std::int64_t>{0, 2, 4, 5});
    CHECK(m.column == std::vector<std::int32_t>{1, 2, 1, 3, 0});
    CHECK(gpulab::to_dense(m) == std::vector<TestType>{0, 1, 2, 0, 0, 3, 0, 4, 5, 0, 0, 0});
    CHECK(gpulab::to_coo(m).row == std::vector<std::int32_t>{0, 0, 1, 1, 2});
    const auto csc = gpulab::to_csc(m);
    CHECK(csc.column_start == std::vector<std::int64_t>{0, 1, 3, 4, 5});
    CHECK(csc.row == std::vector<std::int32_t>{2, 0, 1, 0, 1});
    CHECK(csc.value == std::vector<TestType>{5, 1, 3, 2, 4});
    const auto ell = gpulab::to_ell(m); // slot 0 of all rows, then slot 1
    CHECK(ell.width == 2);
    CHECK(ell.column == std::vector<std::int32_t>{1, 1, 0, 2, 3, -1});
    CHECK(ell.value == std::vector<TestType>{1, 3, 5, 2, 4, 0});
}

TEMPLATE_TEST_CASE("every format gives back the matrix it was made from", "", float, double) {
    for (const auto& c : spmv::testing::all_cases<TestType>()) {
        INFO(c.name);
        const bool sorted = c.name.find("unsorted") == std::string::npos;
        REQUIRE_NOTHROW(gpulab::check_structure(c.matrix));
        const auto back = gpulab::to_csr(gpulab::to_csc(c.matrix));
        CHECK_NOTHROW(gpulab::check_structure(back));
        if (c.name.find("shuffled") != std::string::npos) {
            CHECK(gpulab::to_csr(gpulab::to_coo(c.matrix)) == back); // both sort
            CHECK(back.nonzeros() == c.matrix.nonzeros());
        } else if (sorted) {
            CHECK(gpulab::to_csr(gpulab::to_coo(c.matrix)) == c.matrix);
            CHECK(back == c.matrix);
        } else {
            CHECK(spmv::testing::unsorted(gpulab::to_csr(gpulab::to_coo(c.matrix))) == c.matrix);
        }
        try {
            const auto ell = gpulab::to_ell(c.matrix);
            CHECK(gpulab::to_csr(ell) == c.matrix);
        } catch (const gpulab::Unsupported&) {
            CHECK((c.name.find("dense") != std::string::npos || c.name.find("power law") != std::string::npos));
        }
    }
}

TEST_CASE("entries of COO may come in any order, and those at one position add up") {
    const Coo<double> coo{3, 3, {2, 0, 2, 0, 2}, {1, 2, 0, 0, 1}, {1, 2, 3, 4, 10}};
    CHECK(gpulab::to_csr(coo) == Csr<double>{3, 3, {0, 2, 2, 4}, {0, 2, 0, 1}, {4, 2, 3, 11}});
    const Coo<float> too_much{1, 1, {0, 0}, {0, 0}, {3e38F, 3e38F}};
    CHECK_THROWS_AS(gpulab::to_csr(too_much), gpulab::Error);
}

TEST_CASE("a malformed matrix is refused before a kernel trusts it") {
    const Csr<float> good = gpulab::lecture_example<float>();
    CHECK_NOTHROW(gpulab::check_structure(good));
    Csr<float> bad = good;
    SECTION("a row pointer too few") { bad.row_start.pop_back(); }
    SECTION("row pointers that fall") { bad.row_start[1] = 5; }
    SECTION("a first row pointer that is not 0") { bad.row_start[0] = 1; }
    SECTION("a last row pointer beyond the values") { bad.row_start[3] = 6; }
    SECTION("a column outside") { bad.column[2] = 4; }
    SECTION("a negative column") { bad.column[2] = -1; }
    SECTION("a value too few") { bad.value.pop_back(); }
    CHECK_THROWS_AS(gpulab::check_structure(bad), gpulab::Error);
    CHECK_THROWS_AS(gpulab::to_csr(Coo<float>{2, 2, {0, 2}, {0, 0}, {1, 1}}), gpulab::Error);
    CHECK_THROWS_AS(gpulab::to_csr(Coo<float>{2, 2, {0}, {0, 0}, {1, 1}}), gpulab::Error);
}

TEST_CASE("ELL of a matrix with one long row is refused") {
    CHECK_THROWS_AS(gpulab::to_ell(spmv::testing::one_dense_row<float>(20011)), gpulab::Unsupported);
}

TEST_CASE("row statistics of the lecture's matrix, and of one with empty rows, by hand") {
    const auto s = gpulab::row_statistics(gpulab::lecture_example<float>().row_start);
    CHECK((s.rows == 3 && s.empty == 0 && s.shortest == 1 && s.longest == 2));
    CHECK(std::abs(s.mean - 5.0 / 3) < 1e-12);
    CHECK(std::abs(s.deviation - std::sqrt(2.0 / 9)) < 1e-12);
    CHECK(s.histogram == std::vector<std::size_t>{0, 1, 2});
    const auto e = gpulab::row_statistics({0, 0, 5, 5});
    CHECK((e.empty == 2 && e.shortest == 0 && e.longest == 5));
    CHECK(e.histogram == std::vector<std::size_t>{2, 0, 0, 1});
    CHECK(gpulab::row_statistics({0}).rows == 0);
}

namespace {

/// The Laplacian of an nx x ny x nz grid, rows x rows values, from its definition: two points are neighbours when they
/// differ by one step along one axis.
template <class T> std::vector<T> dense_laplacian(int nx, int ny, int nz, T diagonal) {
    std::vector<T> dense;
    for (int z = 0; z < nz; ++z)
        for (int y = 0; y < ny; ++y)
            for (int x = 0; x < nx; ++x)
                for (int w = 0; w < nz; ++w)
                    for (int v = 0; v < ny; ++v)
                        for (int u = 0; u < nx; ++u) {
                            const int steps = std::abs(x - u) + std::abs(y - v) + std::abs(z - w);
                            dense.push_back(steps == 0 ? diagonal : steps == 1 ? T{-1} : T{0});
                        }
    return dense;
}

} // namespace

TEMPLATE_TEST_CASE("a Laplacian is the matrix of its definition on every grid, flat ones too", "", float, double) {
    using Size = std::size_t;
    for (int nx = 1; nx <= 4; ++nx)
        for (int ny = 1; ny <= 4; ++ny) {
            INFO(nx << " x " << ny);
            const auto flat = gpulab::laplace_2d<TestType>(Size(nx), Size(ny));
            CHECK_NOTHROW(gpulab::check_structure(flat));
            CHECK(gpulab::to_dense(flat) == dense_laplacian<TestType>(nx, ny, 1, 4));
            for (int nz = 1; nz <= 4; ++nz) {
                INFO(nz << " planes");
                const auto m = gpulab::laplace_3d<TestType>(Size(nx), Size(ny), Size(nz));
                CHECK_NOTHROW(gpulab::check_structure(m));
                CHECK(gpulab::to_dense(m) == dense_laplacian<TestType>(nx, ny, nz, 6));
                CHECK(gpulab::to_csr(gpulab::to_coo(m)) == m); // sorted, and no zero is stored
                CHECK(std::count(m.value.begin(), m.value.end(), TestType{0}) == 0);
            }
        }
    // 3 x 2 points, by hand: corner, edge, corner, ...
    const auto m = gpulab::laplace_2d<TestType>(3, 2);
    CHECK(m.row_start == std::vector<std::int64_t>{0, 3, 7, 10, 13, 17, 20});
    CHECK(std::vector(m.column.begin(), m.column.begin() + 7) == std::vector<std::int32_t>{0, 1, 3, 0, 1, 2, 4});
    CHECK(std::vector(m.value.begin(), m.value.begin() + 7) == std::vector<TestType>{4, -1, -1, -1, 4, -1, -1});
    CHECK(gpulab::laplace_3d<TestType>(3, 3, 1).value[0] == 6); // the planes above and below are boundary values
}

TEST_CASE("random rows have the lengths asked for, distinct sorted columns and values that vary and are never zero") {
    const auto m = gpulab::random_rows<float>(
        1000, 500, [](std::size_t i) { return i % 40; }, 7);
    CHECK_NOTHROW(gpulab::check_structure(m));
    std::set<float> values;
    for (std::size_t i = 0; i < m.rows; ++i) {
        REQUIRE(m.row_length(i) == i % 40);
        for (auto k = static_cast<std::size_t>(m.row_start[i]); k < static_cast<std::size_t>(m.row_start[i + 1]); ++k) {
            REQUIRE((k == static_cast<std::size_t>(m.row_start[i]) || m.column[k] > m.column[k - 1]));
            REQUIRE((m.value[k] != 0 && std::abs(m.value[k]) < 1));
            values.insert(m.value[k]);
        }
    }
    CHECK(values.size() > m.nonzeros() * 9 / 10);
    CHECK(gpulab::random_rows<float>(
              1000, 500, [](std::size_t i) { return i % 40; }, 7) == m);
    CHECK_FALSE(gpulab::random_rows<float>(
                    1000, 500, [](std::size_t i) { return i % 40; }, 8) == m);
}

TEST_CASE("power-law rows reach the mean asked for, and few rows hold much of the matrix") {
    for (const double mean : {3.0, 19.5}) {
        const auto m = gpulab::power_law_rows<float>(50000, 50000, mean, 2.5, 11);
        CHECK_NOTHROW(gpulab::check_structure(m));
        CHECK(std::abs(static_cast<double>(m.nonzeros()) / (mean * 50000) - 1) < 0.001);
        const auto s = gpulab::row_statistics(m.row_start);
        CHECK(static_cast<double>(s.longest) > 50 * mean);
        // The density falls as l^-2.5, so the rows of at least l as l^-1.5: by 8 for a factor of 4.
        const auto at_least = [&](double l) {
            double rows = 0;
            for (std::size_t i = 0; i < m.rows; ++i) rows += static_cast<double>(m.row_length(i)) >= l;
            return rows;
        };
        const double ratio = at_least(2 * mean) / at_least(8 * mean);
        CHECK((ratio > 6 && ratio < 10.5));
    }
    CHECK_THROWS_AS(gpulab::power_law_rows<float>(10, 10, 11, 2.5, 1), gpulab::UsageError);
    // With an exponent near 1 almost every row is full or empty: no scale gives a mean of 2.
    CHECK_THROWS_AS(gpulab::power_law_rows<float>(1000, 1000, 2, 1.001, 42), gpulab::UsageError);
    CHECK_NOTHROW(gpulab::power_law_rows<float>(1000, 1000, 956, 1.001, 42));
}

TEST_CASE("a band holds every position within its half width and none beyond") {
    const auto m = gpulab::banded<double>(9, 2, 5);
    const auto dense = gpulab::to_dense(m);
    for (std::size_t i = 0; i < 9; ++i)
        for (std::size_t j = 0; j < 9; ++j) CHECK((dense[9 * i + j] != 0) == (std::max(i, j) - std::min(i, j) <= 2));
    CHECK(gpulab::banded<double>(3, 100, 5).nonzeros() == 9);
}

TEST_CASE("the size of a generated matrix is known before it is made") {
    for (const char* what : {"lecture", "laplace2d:30x20", "laplace3d:9", "random:300x200:7", "random:2000:3-9",
                             "powerlaw:3000x2000:8", "banded:500:3", "banded:5:100"}) {
        INFO(what);
        const auto m = gpulab::generate_matrix<float>(what, 1);
        const gpulab::MatrixSize size = gpulab::generated_size(what);
        CHECK(size.rows == m.rows);
        CHECK(size.columns == m.columns);
        const auto nonzeros = static_cast<double>(m.nonzeros());
        CHECK((size.nonzeros >= 0.97 * nonzeros && size.nonzeros <= 1.3 * nonzeros));
    }
    CHECK_THROWS_AS(gpulab::generated_size("laplace2d:0"), gpulab::UsageError);
}

TEST_CASE("what a worker thread throws reaches the caller") {
    for (const unsigned thrower : {0u, 3u})
        CHECK_THROWS_AS(gpulab::detail::for_parts(4,
                                                  [&](unsigned part) {
                                                      if (part == thrower) throw std::bad_alloc();
                                                  }),
                        std::bad_alloc);
}

TEST_CASE("descriptions give the matrices they describe, and senseless ones an error that names them") {
    CHECK(gpulab::generate_matrix<float>("lecture", 1) == gpulab::lecture_example<float>());
    CHECK(gpulab::generate_matrix<float>("laplace2d:4x3", 1) == gpulab::laplace_2d<float>(4, 3));
    CHECK(gpulab::generate_matrix<float>("laplace2d:4", 1) == gpulab::laplace_2d<float>(4, 4));
    CHECK(gpulab::generate_matrix<float>("laplace3d:4x3x2", 1) == gpulab::laplace_3d<float>(4, 3, 2));
    CHECK(gpulab::generate_matrix<float>("laplace3d:3", 1) == gpulab::laplace_3d<float>(3, 3, 3));
    CHECK(gpulab::generate_matrix<float>("banded:9:2", 5) == gpulab::banded<float>(9, 2, 5));
    CHECK(gpulab::generate_matrix<float>("random:1000:10", 1).nonzeros() == 10000);
    CHECK(gpulab::generate_matrix<float>("random:10x20:20", 1).columns == 20);
    const auto s = gpulab::row_statistics(gpulab::generate_matrix<float>("random:1000:3-5", 1).row_start);
    CHECK((s.shortest == 3 && s.longest == 5));
    CHECK(gpulab::generate_matrix<float>("powerlaw:1e4:8:2.2", 1).rows == 10000);
    for (const char* wrong : {"",
                              "nothing",
                              "lecture:3",
                              "laplace2d",
                              "laplace2d:0",
                              "laplace2d:-3",
                              "laplace2d:x",
                              "laplace2d:3x",
                              "laplace2d:1x2x3",
                              "laplace2d:100000",
                              "laplace3d:2x2",
                              "laplace3d:100000",
                              "random:10",
                              "random:10:11",
                              "random:10:5-3",
                              "random:10:1-2-3",
                              "random:2^31:1",
                              "powerlaw:10:20",
                              "powerlaw:10:2:1",
                              "powerlaw:10:x",
                              "powerlaw:10:2:nan",
                              "banded:10",
                              "banded:10:-1",
                              "banded:3000000000:1"}) {
        INFO(wrong);
        try {
            gpulab::generate_matrix<float>(wrong, 1);
            FAIL("accepted");
        } catch (const gpulab::UsageError& e) {
            CHECK(std::string(e.what()).find('\n') == std::string::npos);
        }
    }
}
