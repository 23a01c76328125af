/// @file
/// The one check that right and wrong SpMV kernels go through, and the matrices it uses.
#pragma once

#include <algorithm>
#include <fmt/format.h>
#include <string>
#include <utility>
#include <vector>

#include "gpulab/error.hpp"
#include "gpulab/input.hpp"
#include "gpulab/sparse/convert.hpp"
#include "gpulab/sparse/generate.hpp"
#include "gpulab_testing/testing.hpp"
#include "spmv.hpp"

namespace spmv::testing {

/// A matrix and what is special about it.
template <class T> struct Case {
    std::string name;
    gpulab::Csr<T> matrix;
};

/// Swaps the entries of each row end for end, so that columns fall instead of rise.
template <class T> gpulab::Csr<T> unsorted(gpulab::Csr<T> m) {
    for (std::size_t i = 0; i < m.rows; ++i) {
        std::reverse(m.column.begin() + m.row_start[i], m.column.begin() + m.row_start[i + 1]);
        std::reverse(m.value.begin() + m.row_start[i], m.value.begin() + m.row_start[i + 1]);
    }
    return m;
}

/// Shuffles the entries of each row.
template <class T> gpulab::Csr<T> shuffled(gpulab::Csr<T> m) {
    for (std::size_t i = 0; i < m.rows; ++i) {
        const auto begin = static_cast<std::size_t>(m.row_start[i]);
        for (std::size_t n = m.row_length(i); n > 1; --n) {
            const std::size_t other = begin + gpulab::random_bits(gpulab::testing::seed, begin + n) % n;
            std::swap(m.column[begin + n - 1], m.column[other]);
            std::swap(m.value[begin + n - 1], m.value[other]);
        }
    }
    return m;
}

/// Shuffles all entries, so that those of a row stand anywhere.
template <class T> gpulab::Coo<T> shuffled(gpulab::Coo<T> m) {
    for (std::size_t n = m.nonzeros(); n > 1; --n) {
        const std::size_t other = gpulab::random_bits(gpulab::testing::seed, n) % n;
        std::swap(m.row[n - 1], m.row[other]);
        std::swap(m.column[n - 1], m.column[other]);
        std::swap(m.value[n - 1], m.value[other]);
    }
    return m;
}

/// The same places with whole numbers for values and x, so small that every sum is exact in any order, and none of them
/// zero: what is lost, added twice or taken from elsewhere shows, however long the row. In double the elements of x
/// need more digits than a float has.
template <class T> Problem<T> whole_numbers(gpulab::Csr<T> m) {
    for (std::size_t k = 0; k < m.nonzeros(); ++k) {
        const auto bits = gpulab::random_bits(gpulab::testing::seed, k);
        m.value[k] = static_cast<T>(1 + bits % 3) * (bits >> 63 ? -1 : 1);
    }
    std::vector<T> x(m.columns);
    for (std::size_t j = 0; j < x.size(); ++j)
        x[j] = static_cast<T>(1 + gpulab::random_bits(gpulab::testing::seed + 1, j) %
                                      (sizeof(T) == 4 ? 7 : (std::uint64_t{1} << 30) - 1));
    return {std::move(m), std::move(x)};
}

/// Every third row has entries, the others none.
template <class T> gpulab::Csr<T> mostly_empty(std::size_t rows, std::size_t columns, std::size_t length) {
    const auto length_of = [=](std::size_t i) { return i % 3 == 1 ? std::min(length, columns) : 0; };
    return gpulab::random_rows<T>(rows, columns, length_of, gpulab::testing::seed);
}

/// One full row in the middle, a diagonal elsewhere.
template <class T> gpulab::Csr<T> one_dense_row(std::size_t n) {
    const auto length_of = [=](std::size_t i) { return i == n / 2 ? n : std::size_t{1}; };
    return gpulab::random_rows<T>(n, n, length_of, gpulab::testing::seed);
}

/// One full column: every row has an entry in column 0, and one elsewhere if there is room.
template <class T> gpulab::Csr<T> one_dense_column(std::size_t n) {
    gpulab::Csr<T> m;
    m.rows = m.columns = n;
    for (std::size_t i = 0; i < n; ++i) {
        m.column.push_back(0);
        m.value.push_back(gpulab::random_unit<T>(1, i));
        if (i > 0) {
            m.column.push_back(static_cast<std::int32_t>(i));
            m.value.push_back(-gpulab::random_unit<T>(2, i));
        }
        m.row_start.push_back(static_cast<std::int64_t>(m.column.size()));
    }
    return m;
}

/// rows x columns without a single entry.
template <class T> gpulab::Csr<T> nothing(std::size_t rows, std::size_t columns) {
    gpulab::Csr<T> m;
    m.rows = rows;
    m.columns = columns;
    m.row_start.assign(rows + 1, 0);
    return m;
}

/// Matrices of all shapes, small enough for oclgrind.
/// @param lengths of rows that are all equally long
template <class T>
std::vector<Case<T>> small_cases(const std::vector<std::size_t>& lengths = {1, 2, 3, 4, 7, 8, 9, 15, 16, 17, 31, 32, 33,
                                                                            63, 64, 65}) {
    using namespace gpulab;
    const std::uint64_t seed = gpulab::testing::seed;
    std::vector<Case<T>> cases;
    cases.push_back({"lecture", lecture_example<T>()});
    cases.push_back({"0 x 0", nothing<T>(0, 0)});
    cases.push_back({"0 x 5", nothing<T>(0, 5)});
    cases.push_back({"5 x 0", nothing<T>(5, 0)});
    cases.push_back({"300 empty rows", nothing<T>(300, 7)});
    cases.push_back({"1 x 1", banded<T>(1, 0, seed)});
    cases.push_back({"1 x 300", random_rows<T>(
                                    1, 300, [](std::size_t) { return std::size_t{300}; }, seed)});
    cases.push_back({"300 x 1", random_rows<T>(
                                    300, 1, [](std::size_t) { return std::size_t{1}; }, seed)});
    cases.push_back({"two rows of three empty", mostly_empty<T>(257, 100, 5)});
    cases.push_back({"one dense row", one_dense_row<T>(129)});
    cases.push_back({"one dense column", one_dense_column<T>(129)});
    cases.push_back({"unsorted columns", unsorted(banded<T>(65, 9, seed))});
    cases.push_back({"shuffled columns", shuffled(banded<T>(65, 20, seed))});
    for (const std::size_t length : lengths)
        cases.push_back(
            {fmt::format("rows of {}", length), random_rows<T>(
                                                    37, 80, [=](std::size_t) { return length; }, seed + length)});
    return cases;
}

/// The same and larger ones, whose rows and non-zeros straddle warps, blocks and tiles.
template <class T> std::vector<Case<T>> all_cases() {
    using namespace gpulab;
    const std::uint64_t seed = gpulab::testing::seed;
    std::vector<Case<T>> cases = small_cases<T>();
    for (const std::size_t n : {31, 32, 33, 127, 128, 129, 255, 256, 257, 1023, 1024, 1025})
        cases.push_back({fmt::format("{} rows of 0 to 9", n),
                         random_rows<T>(
                             n, 1000, [=](std::size_t i) { return random_bits(n, i) % 10; }, seed + n)});
    // Non-zeros around the tiles of cuda_row_blocks (512 and 1536) and, with the rows, of cuda_merge_path (1280).
    for (const std::size_t n : {511, 512, 513, 639, 640, 641, 1279, 1280, 1281, 1535, 1536, 1537, 4095, 4096, 4097})
        cases.push_back({fmt::format("{} x {}, one per row", n, n), banded<T>(n, 0, seed + n)});
    for (const std::size_t n : {505, 511, 512, 513, 1265, 1275, 1280, 1525, 1536, 1537, 6144})
        cases.push_back({fmt::format("one row of {} between short ones", n),
                         random_rows<T>(
                             5, n, [=](std::size_t i) { return i == 2 ? n : i; }, seed + n)});
    cases.push_back(
        {"long rows, one after the other", random_rows<T>(
                                               4, 10007, [](std::size_t i) { return 10007 - 97 * i; }, seed)});
    cases.push_back({"10007 empty rows, one entry, 10007 empty rows",
                     random_rows<T>(
                         20015, 11, [](std::size_t i) { return std::size_t{i == 10007}; }, seed)});
    // Wider than the part of x that a multiprocessor's shared memory holds (65536 of them are what
    // a chunk of cuda_bins can span), in several pieces.
    for (const std::size_t columns : {24576, 24577, 49153, 200003})
        cases.push_back({fmt::format("100 rows of {} columns", columns),
                         random_rows<T>(
                             100, columns, [](std::size_t i) { return 50 + 13 * i; }, seed + columns)});
    cases.push_back({"9001 rows of at most 2", random_rows<T>(
                                                   9001, 50000, [](std::size_t i) { return i % 3; }, seed)});
    // More rows and columns than 16 or 19 bits count, and than a grid of few blocks has threads.
    cases.push_back({"530007 rows of at most 4", random_rows<T>(
                                                     530007, 530007, [](std::size_t i) { return i % 5; }, seed)});
    cases.push_back({"one dense row of 20011", one_dense_row<T>(20011)});
    cases.push_back({"one dense column of 20011", one_dense_column<T>(20011)});
    cases.push_back({"laplace2d:101x67", laplace_2d<T>(101, 67)});
    cases.push_back({"laplace3d:17x13x11", laplace_3d<T>(17, 13, 11)});
    cases.push_back({"power law", power_law_rows<T>(20011, 20011, 12, 2.1, seed)});
    cases.push_back({"shuffled power law", shuffled(power_law_rows<T>(5003, 9001, 20, 2.1, seed))});
    cases.push_back({"unsorted power law", unsorted(power_law_rows<T>(5003, 9001, 20, 2.3, seed))});
    return cases;
}

/// Runs a variant on every matrix, on the current device: with random numbers, and with whole ones, whose sums must be
/// exact. A format may refuse a matrix (Unsupported).
/// @return the first fault, with the matrix it was found at; "" when all answers are right
template <class T> std::string first_fault(Run<T>* run, const std::vector<Case<T>>& cases) {
    std::size_t done = 0;
    for (const Case<T>& c : cases) {
        try {
            for (const bool whole : {false, true}) {
                const Problem<T> p = whole ? whole_numbers(c.matrix) : make_problem(c.matrix, gpulab::testing::seed);
                const Reference<T> reference = make_reference(p);
                Output<T> y(p.matrix.rows);
                const std::string fault = gpulab::testing::fault_of(
                    run, p, y, [&] { return whole ? gpulab::compare(reference.y, y, 0.0) : compare(reference, y); });
                if (!fault.empty()) return c.name + (whole ? ", whole numbers: " : ": ") + fault;
            }
            ++done;
        } catch (const gpulab::Unsupported&) {
        }
    }
    return 4 * done >= 3 * cases.size()
               ? ""
               : fmt::format("{} of {} matrices were refused", cases.size() - done, cases.size());
}

/// Runs a product of COO matrices on every matrix with its entries shuffled: whole numbers, so the sums must be exact.
template <class T> std::string first_coo_fault(RunCoo<T>* run, const std::vector<Case<T>>& cases) {
    for (const Case<T>& c : cases) {
        const Problem<T> p = whole_numbers(c.matrix);
        const gpulab::Coo<T> coo = shuffled(gpulab::to_coo(p.matrix));
        const Reference<T> reference = make_reference(p);
        Output<T> y(p.matrix.rows);
        const auto multiply = [&](const gpulab::Coo<T>& a, Output<T>& out, Stopwatch& watch) {
            run(a, p.x, out, watch);
        };
        const std::string fault =
            gpulab::testing::fault_of(multiply, coo, y, [&] { return gpulab::compare(reference.y, y, 0.0); });
        if (!fault.empty()) return c.name + ", shuffled: " + fault;
    }
    return "";
}

} // namespace spmv::testing
