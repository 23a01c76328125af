// The parts, and what they tell each other: whole-numbered, so every product must be exact.
#include <catch2/catch_test_macros.hpp>
#include <numeric>

#include "gpulab/error.hpp"
#include "split.hpp"
#include "systems.hpp"

using namespace cg;
using namespace cg::testing;

namespace {

/// A p by the parts, with each halo filled through the lists; or a message.
std::string fault_of_parts(const gpulab::Csr<double>& a, const Split& split) {
    const auto parts = make_parts(a, split);
    std::vector<double> p(a.rows), expected(a.rows), q(a.rows, -1);
    for (std::size_t i = 0; i < a.rows; ++i) p[i] = static_cast<double>(1 + i * i % 1009);
    for (std::size_t i = 0; i < a.rows; ++i)
        for (auto k = static_cast<std::size_t>(a.row_start[i]); k < static_cast<std::size_t>(a.row_start[i + 1]); ++k)
            expected[i] += a.value[k] * p[static_cast<std::size_t>(a.column[k])];
    for (std::size_t me = 0; me < parts.size(); ++me) {
        const Part<double>& part = parts[me];
        std::vector<double> local(part.p_size(), -1e300);
        for (std::size_t i = 0; i < part.rows(); ++i) local[i] = p[part.first + i];
        for (const auto& receive : part.receives) {
            const Part<double>& other = parts[receive.part];
            const auto send =
                std::find_if(other.sends.begin(), other.sends.end(), [&](const auto& s) { return s.part == me; });
            if (send == other.sends.end() || send->count != receive.count) return "what is received is not sent";
            for (std::size_t k = 0; k < send->count; ++k)
                local[part.rows() + receive.begin + k] =
                    p[other.first + static_cast<std::size_t>(other.send[send->begin + k])];
        }
        for (std::size_t i = 0; i < part.rows(); ++i) {
            double sum = 0;
            bool inner = true;
            for (auto k = static_cast<std::size_t>(part.matrix.row_start[i]);
                 k < static_cast<std::size_t>(part.matrix.row_start[i + 1]); ++k) {
                const auto j = static_cast<std::size_t>(part.matrix.column[k]);
                inner = inner && j < part.rows();
                sum += part.matrix.value[k] * local[j];
            }
            if (i >= part.inner_begin && i < part.inner_end && !inner) return "an inner row needs the halo";
            if (i >= part.inner_begin && i < part.inner_end &&
                std::ranges::count(part.send, static_cast<std::int32_t>(i)) > 0)
                return "an inner row is in a halo";
            q[part.first + i] = sum;
        }
        const Part<double> alone = make_part(a, split, me);
        if (alone.send != part.send || alone.halo != part.halo || !(alone.matrix == part.matrix))
            return "make_part() and make_parts() differ";
    }
    return q == expected ? "" : "a product differs";
}

/// Random whole numbers at the places of a matrix.
gpulab::Csr<double> whole(gpulab::Csr<double> a) {
    for (std::size_t k = 0; k < a.value.size(); ++k)
        a.value[k] = static_cast<double>(1 + gpulab::random_bits(1, k) % 7);
    return a;
}

} // namespace

TEST_CASE("parts with their halos multiply as the whole matrix does") {
    for (const auto& a : {whole(gpulab::laplace_2d<double>(13, 11)), whole(random_spd<double>(97, 3)),
                          whole(arrow<double>(50)), whole(gpulab::stiffness<double>(3, 1)), gpulab::Csr<double>{}})
        for (const std::size_t parts : {1u, 2u, 3u, 4u, 9u, 200u}) {
            INFO(a.rows << " rows, " << parts << " parts");
            CHECK(fault_of_parts(a, split_rows(a, std::vector<double>(parts, 1.0))) == "");
        }
    const auto a = whole(gpulab::laplace_2d<double>(13, 11));
    CHECK(fault_of_parts(a, {{0, 0, 143, 143}}) == "");
    CHECK(fault_of_parts(a, {{0, 1, 1, 142, 143}}) == "");
}

TEST_CASE("rows are shared out by their non-zeros, and in proportion to weights") {
    const auto a = arrow<double>(1001); // row 0 has 1001 non-zeros, the others two
    const Split halves = split_rows(a, {1, 1});
    CHECK(halves.first == std::vector<std::size_t>{0, 334, 1001}); // 1002 + 333 * 3 is half of 1002 + 1000 * 3
    const auto b = gpulab::laplace_2d<double>(100, 100);
    const Split thirds = split_rows(b, {1, 2});
    CHECK(thirds.rows(0) > 3300);
    CHECK(thirds.rows(0) < 3370);
    CHECK_THROWS_AS(split_rows(b, {}), gpulab::Error);
    CHECK_THROWS_AS(split_rows(b, {0, 0}), gpulab::Error);
}

TEST_CASE("an empty part owns no row") {
    const Split split{{0, 0, 3, 3, 5, 5}};
    const std::vector<std::size_t> owners = {1, 1, 1, 3, 3};
    for (std::size_t row = 0; row < 5; ++row) CHECK(split.owner(row) == owners[row]);
}

TEST_CASE("the halo of a Laplacian's part is one grid line on each side") {
    const auto parts = make_parts(gpulab::laplace_2d<double>(10, 9), {{0, 30, 60, 90}});
    CHECK(parts[0].halo.size() == 10);
    CHECK(parts[1].halo.size() == 20);
    CHECK(parts[1].inner_begin == 10);
    CHECK(parts[1].inner_end == 20);
    CHECK(parts[1].sends.size() == 2);
}

TEST_CASE("a row in the halo of another part is no inner row, even if it needs no halo itself") {
    gpulab::Csr<double> a; // row 5 of 6 refers to row 1, and not the other way round
    a.rows = a.columns = 6;
    a.row_start = {0, 1, 2, 3, 4, 5, 7};
    a.column = {0, 1, 2, 3, 4, 1, 5};
    a.value = {1, 1, 1, 1, 1, 0, 1};
    const auto parts = make_parts(a, {{0, 4, 6}});
    CHECK(parts[0].send == std::vector<std::int32_t>{1});
    CHECK(parts[0].inner_begin == 2);
    CHECK(parts[0].inner_end == 4);
    CHECK(fault_of_parts(a, {{0, 4, 6}}) == "");
}

TEST_CASE("rows are shared out as --balance says: nothing is measured for equal parts and for units times clock") {
    Problem<double> p;
    p.matrix = gpulab::stiffness<double>(1200, 1); // all rows but two have three non-zeros
    const auto split = [&](Balance balance, std::string& note) {
        p.balance = balance;
        return split_over(
            p, 2, note,
            [&](std::size_t i, const Part<double>&) {
                CHECK(balance == Balance::speed);
                return i == 0 ? 1.0 : 3.0;
            },
            [&](std::size_t i) {
                CHECK(balance == Balance::units);
                return i == 0 ? 30 * 1296.0 : 2 * 30 * 1296.0;
            });
    };
    std::string note;
    CHECK(split(Balance::nnz, note).at(0).rows() == 600);
    CHECK(note.empty());
    CHECK(split(Balance::units, note).at(0).rows() == 400);
    CHECK(note == "rows by compute units times clock rate: 400 800");
    CHECK(split(Balance::speed, note).at(0).rows() == 900);
    CHECK(note == "rows by measured speed: 900 300");
}

TEST_CASE("rows are shared out by the speed of the parts, and a part that was not measured counts as the slowest") {
    const auto a = gpulab::stiffness<double>(1200, 1); // all rows but two have three non-zeros
    const auto rows = [&](const std::vector<double>& ms) {
        const Split equal = split_rows(a, std::vector<double>(ms.size(), 1.0));
        const Split split = split_by_speed(a, equal, ms);
        std::vector<std::size_t> counts;
        for (std::size_t i = 0; i < split.parts(); ++i) counts.push_back(split.rows(i));
        return counts;
    };
    using Rows = std::vector<std::size_t>;
    CHECK(rows({2, 2}) == Rows{600, 600});
    CHECK(rows({1, 3}) == Rows{900, 300}); // three times as long: a third of the speed
    CHECK(rows({1, 0, 2}) == Rows{600, 300, 300});
    CHECK(rows({0, 0, 0}) == Rows{400, 400, 400});
    gpulab::Csr<double> b; // 600 rows of one non-zero and 600 of five: non-zeros and rows are shared out, 2400 each
    b.rows = b.columns = 1200;
    for (std::size_t i = 0; i < b.rows; ++i) {
        for (std::size_t k = 0; k < (i < 600 ? 1 : 5); ++k) b.column.push_back(static_cast<std::int32_t>(k));
        b.row_start.push_back(static_cast<std::int64_t>(b.column.size()));
    }
    b.value.resize(b.column.size());
    CHECK(split_by_speed(b, split_rows(b, {1.0, 1.0}), {2, 2}).first == Rows{0, 800, 1200});
}
