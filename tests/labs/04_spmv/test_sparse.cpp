// The sparse formats, their conversions and the generators.
#include <algorithm>
#include <atomic>
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <cmath>
#include <cstdlib>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "as_csr.hpp"
#include "checks.hpp"
#include "gpulab/parallel.hpp"
#include "gpulab/sparse/convert.hpp"
#include "gpulab/sparse/generate.hpp"
#include "gpulab/sparse/matrix_market.hpp"
#include "gpulab/sparse/rows.hpp"
#include "gpulab_testing/environment.hpp"
#include "studies.hpp"

using namespace spmv::testing;
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
    const auto dia = gpulab::to_dia(m); // 5 | 3 on the main diagonal | 1 | 2 and 4
    CHECK(dia.offset == std::vector<std::int32_t>{-2, 0, 1, 2});
    CHECK(dia.value == std::vector<TestType>{0, 0, 5, 0, 3, 0, 1, 0, 0, 2, 4, 0});
    const auto hyb = gpulab::to_hyb(m); // two rows of three have two entries
    CHECK(hyb.ell == ell);
    CHECK(hyb.rest.value.empty());
    const auto jds = gpulab::to_jds(m);
    CHECK(jds.row == std::vector<std::int32_t>{0, 1, 2});
    CHECK(jds.start == std::vector<std::int64_t>{0, 3, 5});
    CHECK(jds.column == std::vector<std::int32_t>{1, 1, 0, 2, 3});
    CHECK(jds.value == std::vector<TestType>{1, 3, 5, 2, 4});
    const auto bcsr = gpulab::to_bcsr(m); // 0 1 / 0 3 | 2 0 / 0 4 | 5 0 and half a row of blocks beyond the matrix
    CHECK(bcsr.block_start == std::vector<std::int64_t>{0, 2, 3});
    CHECK(bcsr.block_column == std::vector<std::int32_t>{0, 1, 0});
    CHECK(bcsr.value == std::vector<TestType>{0, 1, 0, 3, 2, 0, 0, 4, 5, 0, 0, 0});
}

TEST_CASE("rows of 0, 5, 1, 1, 2 and 0 entries in HYB and JDS, by hand") {
    const Csr<float> m{6, 5, {0, 0, 5, 6, 7, 9, 9}, {0, 1, 2, 3, 4, 2, 3, 0, 4}, {1, 2, 3, 4, 5, 6, 7, 8, 9}};
    const auto hyb = gpulab::to_hyb(m); // a third of the six rows have two entries or more
    CHECK(hyb.ell.width == 2);
    CHECK(hyb.ell.column == std::vector<std::int32_t>{-1, 0, 2, 3, 0, -1, -1, 1, -1, -1, 4, -1});
    CHECK(hyb.ell.value == std::vector<float>{0, 1, 6, 7, 8, 0, 0, 2, 0, 0, 9, 0});
    CHECK(hyb.rest == Coo<float>{6, 5, {1, 1, 1}, {2, 3, 4}, {3, 4, 5}});
    const auto jds = gpulab::to_jds(m); // row 4 before rows 2 and 3, which keep their order
    CHECK(jds.row == std::vector<std::int32_t>{1, 4, 2, 3, 0, 5});
    CHECK(jds.start == std::vector<std::int64_t>{0, 4, 6, 7, 8, 9});
    CHECK(jds.column == std::vector<std::int32_t>{0, 0, 2, 3, 1, 4, 2, 3, 4});
    CHECK(jds.value == std::vector<float>{1, 8, 6, 7, 2, 9, 3, 4, 5});
    const Csr<float> one_of_four{4, 5, {0, 5, 5, 5, 5}, {0, 1, 2, 3, 4}, {1, 2, 3, 4, 5}};
    CHECK(gpulab::to_hyb(one_of_four).ell.width == 0); // less than a third of the rows
}

TEMPLATE_TEST_CASE("the bytes of a matrix are those of its arrays as a device stores them", "", float, double) {
    constexpr std::size_t number = sizeof(TestType);
    const auto m = gpulab::lecture_example<TestType>(); // 3 x 4 with 5 non-zeros, 2 in the longest row
    CHECK(m.bytes() == 5 * (number + 4) + 4 * 4);
    CHECK(gpulab::to_coo(m).bytes() == 5 * (number + 4 + 4));
    CHECK(gpulab::to_csc(m).bytes() == 5 * (number + 4) + 5 * 4);
    CHECK(gpulab::to_ell(m).bytes() == 3 * 2 * (number + 4));
    CHECK(gpulab::to_dia(m).bytes() == 4 * 4 + 4 * 3 * number);           // four diagonals
    CHECK(gpulab::to_hyb(m).bytes() == 3 * 2 * (number + 4));             // nothing left for COO
    CHECK(gpulab::to_jds(m).bytes() == 5 * (number + 4) + 3 * 4 + 3 * 8); // three rows, two jagged diagonals
    CHECK(gpulab::to_bcsr(m).bytes() == 3 * (4 * number + 4) + 3 * 8);    // three blocks in two rows of blocks
    CHECK(gpulab::dense_bytes(m) == 3 * 4 * number);
    Csr<float> wide;
    wide.rows = wide.columns = gpulab::max_sparse_order;
    CHECK(gpulab::dense_bytes(wide) == 4.0 * 2147483647.0 * 2147483647.0);
    CHECK(gpulab::offset_bytes(0) == 4);
    CHECK(gpulab::offset_bytes(2147483647) == 4);
    CHECK(gpulab::offset_bytes(2147483648) == 8);
}

TEST_CASE("the numbers of a generated matrix depend on its seed only, and are the same on every machine") {
    const auto random = gpulab::generate_matrix<double>("random:4x40:1-3", 42);
    CHECK(random == Csr<double>{4,
                                40,
                                {0, 1, 3, 4, 7},
                                {19, 8, 38, 19, 11, 21, 39},
                                {0.49480550496321229, -0.51886733841986543, -0.7985657673818134, -0.46232121834920314,
                                 -0.49574668372879738, 0.35942322218892886, 0.7810067887417993}});
    const auto banded = gpulab::generate_matrix<double>("banded:3:1", 42);
    CHECK(banded == Csr<double>{3,
                                3,
                                {0, 2, 5, 7},
                                {0, 1, 0, 1, 2, 1, 2},
                                {0.34393338891405478, 0.23428173611974112, -0.87231132232770103, -0.21380250506005916,
                                 0.51378952332170313, -0.53919712123711538, -0.15208838805680824}});
    const auto power = gpulab::generate_matrix<double>("powerlaw:8x30:3", 42);
    CHECK(power.row_start == std::vector<std::int64_t>{0, 4, 7, 9, 12, 15, 18, 22, 24});
    CHECK(std::vector(power.column.begin(), power.column.begin() + 4) == std::vector<std::int32_t>{2, 8, 17, 23});
    CHECK(gpulab::generate_matrix<float>("random:4x40:1-3", 42).value[6] == 0.7810067887417993F);
    for (const char* what : {"random:40x40:1-3", "powerlaw:40:3", "banded:9:1"}) {
        INFO(what);
        const auto one = gpulab::generate_matrix<float>(what, 1), two = gpulab::generate_matrix<float>(what, 2);
        CHECK(one == gpulab::generate_matrix<float>(what, 1));
        CHECK(one.value != two.value);
        if (what[0] != 'b') CHECK(one.row_start != two.row_start);
    }
}

TEST_CASE("matrices are the same however many threads make and convert them") {
    for (const char* what : {"laplace2d:500x301", "random:100000:0-5", "powerlaw:60000:9", "banded:70001:2"}) {
        INFO(what);
        const auto made = [&](const char* threads) {
            const gpulab::testing::Environment set("GPULAB_CPU_THREADS", threads);
            const auto m = gpulab::generate_matrix<float>(what, 3);
            const bool padded = std::string(what).starts_with("banded");
            return std::tuple(m, gpulab::to_coo(m), gpulab::to_csr(shuffled(gpulab::to_coo(m))),
                              padded ? gpulab::to_ell(m) : gpulab::Ell<float>{},
                              padded ? gpulab::to_dia(m) : gpulab::Dia<float>{}, gpulab::to_hyb(m), gpulab::to_jds(m),
                              gpulab::to_bcsr(m), gpulab::to_matrix_market(m));
        };
        const auto one = made("1");
        CHECK(std::get<2>(one) == std::get<0>(one));
        CHECK(made("2") == one);
        CHECK(made("7") == one);
    }
}

TEST_CASE("the parts of a range hold every index once and in order, and small work has few parts") {
    for (const std::size_t n : {0, 1, 5, 99, 100, 101, 299, 300, 301, 1000})
        for (const unsigned threads : {1u, 3u, 4u}) {
            const gpulab::testing::Environment set("GPULAB_CPU_THREADS", std::to_string(threads));
            std::vector<int> seen(n);
            std::atomic<unsigned> parts = 0;
            gpulab::for_ranges(n, 100, [&](std::size_t begin, std::size_t end) {
                ++parts;
                for (std::size_t i = begin; i < end; ++i) ++seen[i];
            });
            CHECK(std::count(seen.begin(), seen.end(), 1) == static_cast<std::ptrdiff_t>(n));
            CHECK(parts == std::clamp(static_cast<unsigned>(n / 100), 1u, threads));
        }
    std::vector<int> called(5);
    gpulab::for_parts(5, [&](unsigned part) { ++called[part]; });
    CHECK(called == std::vector<int>(5, 1));
    gpulab::for_parts(0, [&](unsigned) { called.clear(); });
    CHECK(called.size() == 5);
}

TEMPLATE_TEST_CASE("every format gives back the matrix it was made from, and its bytes are known before", "", float,
                   double) {
    for (const auto& c : all_cases<TestType>()) {
        INFO(c.name);
        const spmv::FormatBytes bytes = spmv::format_bytes(c.matrix);
        const auto check = [&](const char* format, const auto& converted, const Csr<TestType>& expected) {
            INFO(format);
            CHECK(as_csr(converted) == expected);
            CHECK(bytes.of(format) == static_cast<double>(converted.bytes()));
        };
        REQUIRE_NOTHROW(gpulab::check_structure(c.matrix));
        CHECK(bytes.of("csr") == static_cast<double>(c.matrix.bytes()));
        const auto csc = gpulab::to_csc(c.matrix);
        const auto sorted = as_csr(csc);
        CHECK_NOTHROW(gpulab::check_structure(sorted));
        CHECK(bytes.of("csc") == static_cast<double>(csc.bytes()));
        const auto coo = gpulab::to_coo(c.matrix);
        CHECK(bytes.of("coo") == static_cast<double>(coo.bytes()));
        CHECK(gpulab::to_csr(coo) == sorted);
        if (c.name.find("unsorted") != std::string::npos) CHECK(unsorted(sorted) == c.matrix);
        else if (c.name.find("shuffled") != std::string::npos) CHECK(sorted.nonzeros() == c.matrix.nonzeros());
        else CHECK(sorted == c.matrix);
        check("hyb", gpulab::to_hyb(c.matrix), c.matrix);
        check("jds", gpulab::to_jds(c.matrix), c.matrix);
        check("bcsr", gpulab::to_bcsr(c.matrix), sorted);
        const bool small = c.matrix.rows + c.matrix.columns <= 2000; // only else more than a million slots
        const bool long_rows =
            c.name.find("dense") != std::string::npos || c.name.find("power law") != std::string::npos;
        try {
            check("ell", gpulab::to_ell(c.matrix), c.matrix);
        } catch (const gpulab::Unsupported&) {
            CHECK((long_rows && !small));
        }
        try {
            check("dia", gpulab::to_dia(c.matrix), sorted);
        } catch (const gpulab::Unsupported&) {
            CHECK_FALSE(small);
        }
    }
}

TEST_CASE("DIA and BCSR have one place for entries at the same position, and add them up") {
    const Csr<double> m{2, 3, {0, 3, 5}, {1, 1, 2, 0, 2}, {1, 2, 4, 0, 8}}; // 1 and 2 at one place, a stored 0
    const Csr<double> added{2, 3, {0, 2, 3}, {1, 2, 2}, {3, 4, 8}};
    CHECK(as_csr(gpulab::to_dia(m)) == added);
    CHECK(as_csr(gpulab::to_bcsr(m)) == added);
    CHECK(as_csr(gpulab::to_hyb(m)) == m);
    CHECK(as_csr(gpulab::to_jds(m)) == m);
}

TEST_CASE("entries of COO may come in any order, and those at the same position add up") {
    const Coo<double> coo{3, 3, {2, 0, 2, 0, 2}, {1, 2, 0, 0, 1}, {1, 2, 3, 4, 10}};
    CHECK(gpulab::to_csr(coo) == Csr<double>{3, 3, {0, 2, 2, 4}, {0, 2, 0, 1}, {4, 2, 3, 11}});
    const Coo<float> too_much{1, 1, {0, 0}, {0, 0}, {3e38F, 3e38F}};
    CHECK_THROWS_AS(gpulab::to_csr(too_much), gpulab::Error);
}

TEST_CASE("a malformed matrix is refused before a kernel uses it") {
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
    CHECK_THROWS_AS(gpulab::to_csr(Coo<float>{2, 2, {0, -1}, {0, 0}, {1, 1}}), gpulab::Error);
    CHECK_THROWS_AS(gpulab::to_csr(Coo<float>{2, 2, {0, 1}, {0, 2}, {1, 1}}), gpulab::Error);
    CHECK_THROWS_AS(gpulab::to_csr(Coo<float>{2, 2, {0, 1}, {-1, 0}, {1, 1}}), gpulab::Error);
    CHECK_NOTHROW(gpulab::to_csr(Coo<float>{2, 2, {0, 1}, {0, 1}, {1, 1}}));
    std::vector<std::int32_t> short_one = {0, 1}; // what is behind its end would do
    short_one.pop_back();
    for (const Coo<float>& coo : {Coo<float>{2, 2, short_one, {0, 1}, {1, 1}},
                                  {2, 2, {0, 1}, short_one, {1, 1}},
                                  {2, 2, short_one, short_one, {1, 1}},
                                  {2, 2, {0, 1}, {0, 1}, {1}}})
        CHECK_THROWS_MATCHES(gpulab::to_csr(coo), gpulab::Error,
                             Catch::Matchers::Message("the COO matrix is malformed: its arrays differ in length"));
}

TEST_CASE("ELL of a matrix with one long row is refused") {
    CHECK_THROWS_AS(gpulab::to_ell(one_dense_row<float>(20011)), gpulab::Unsupported);
    // 1100 x 1100 slots for 2199 non-zeros: 550.3 to one
    const auto m = one_dense_row<float>(1100);
    CHECK_THROWS_AS(gpulab::to_ell(m, 550), gpulab::Unsupported);
    CHECK(gpulab::to_ell(m, 551).width == 1100);
    CHECK(gpulab::to_ell(one_dense_row<float>(1000), 1).width == 1000); // a million slots: always allowed
}

TEST_CASE("DIA of a matrix with random columns is refused, and the message says what it would store") {
    CHECK_THROWS_MATCHES(gpulab::to_dia(gpulab::generate_matrix<float>("random:20000:10", 42)), gpulab::Unsupported,
                         Catch::Matchers::Message("DIA stores 35996 diagonals of 20000 rows in full: 7.2e+08 slots for "
                                                  "2e+05 non-zeros"));
    // The column reaches 1100 diagonals, of 1100 rows, for 2199 non-zeros: 550.3 to one
    const auto m = one_dense_column<float>(1100);
    CHECK_THROWS_AS(gpulab::to_dia(m, 550), gpulab::Unsupported);
    CHECK(gpulab::to_dia(m, 551).offset.size() == 1100);
    CHECK(gpulab::to_dia(one_dense_column<float>(1000), 1).offset.size() == 1000); // always allowed
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
    CHECK((e.rows == 3 && std::abs(e.mean - 5.0 / 3) < 1e-12 && std::abs(e.deviation - std::sqrt(50.0 / 9)) < 1e-12));
    const auto powers = gpulab::row_statistics({0, 1, 3, 6, 10, 17, 25});
    CHECK(powers.histogram == std::vector<std::size_t>{0, 1, 2, 2, 1}); // 1; 2, 3; 4, 7; 8
    CHECK((powers.shortest == 1 && powers.longest == 8 && powers.empty == 0));
    CHECK(gpulab::row_statistics({0}).rows == 0);
    CHECK(gpulab::row_statistics({0}).histogram.empty());
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

TEST_CASE("the size of a generated matrix is known before it is made, and agrees with sizes counted by hand") {
    struct Size {
        const char* what;
        std::size_t rows, columns;
        double nonzeros;
    };
    for (const Size& by_hand : {Size{"lecture", 3, 4, 5},
                                {"laplace2d:30x20", 600, 600, 3000},
                                {"laplace2d:5", 25, 25, 125},
                                {"laplace3d:9", 729, 729, 5103},
                                {"laplace3d:2x3x4", 24, 24, 168},
                                {"random:300x200:7", 300, 200, 2100},
                                {"random:2000:3-9", 2000, 2000, 12000},
                                {"powerlaw:3000x2000:8", 3000, 2000, 24000},
                                {"powerlaw:100:2.5:3", 100, 100, 250},
                                {"banded:500:3", 500, 500, 3500},
                                {"stiffness:5", 5, 5, 15},
                                {"springs:30x20", 1200, 1200, 21600},
                                {"springs:2x3x4", 72, 72, 5832},
                                {"banded:5:100", 5, 5, 25}}) {
        INFO(by_hand.what);
        const gpulab::MatrixSize size = gpulab::generated_size(by_hand.what);
        CHECK(size.rows == by_hand.rows);
        CHECK(size.columns == by_hand.columns);
        CHECK(size.nonzeros == by_hand.nonzeros);
        const auto m = gpulab::generate_matrix<float>(by_hand.what, 1);
        CHECK(size.rows == m.rows);
        CHECK(size.columns == m.columns);
        const auto nonzeros = static_cast<double>(m.nonzeros());
        if (std::string(by_hand.what).ends_with("2x3x4")) continue; // most of its points have fewer neighbours
        CHECK((size.nonzeros >= 0.97 * nonzeros && size.nonzeros <= 1.3 * nonzeros));
    }
    CHECK(gpulab::generated_size("springs:32767x32767").rows == 2147352578); // the largest flat net
    for (const char* const what : {"springs:32768x32768", "springs:32767x32767x2", "laplace2d:0"})
        CHECK_THROWS_AS(gpulab::generated_size(what), gpulab::UsageError);
}

TEST_CASE("descriptions give the matrices they describe, and invalid ones give an error that names them") {
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
        const std::string message = gpulab::testing::message_of([&] { gpulab::generate_matrix<float>(wrong, 1); });
        CHECK((message != "" && message.find('\n') == std::string::npos));
    }
}
