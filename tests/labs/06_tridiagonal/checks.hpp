/// @file
/// The checks that every solver goes through.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "gpulab/error.hpp"
#include "gpulab/input.hpp"
#include "gpulab_testing/pairs.hpp"
#include "gpulab_testing/testing.hpp"
#include "gpulab_testing/variants.hpp"
#include "gpulab_testing/verdict.hpp"
#include "tridiagonal.hpp"

namespace tridiagonal::testing {

using gpulab::Backend;
using gpulab::testing::seed;
using gpulab::testing::verdict;

/// How many systems of how many unknowns.
struct Shape {
    std::size_t n, systems;
    std::string text() const { return fmt::format("{} system(s) of {}", systems, n); }
};
using Shapes = std::vector<Shape>;

/// Systems that every elimination solves without rounding, so that only the exact answer passes. The numbers a, b and c
/// are -1, 0 and 1, and of two neighbouring equations at most one holds the other's unknown: all pivots stay -1 or 1.
/// A mistake anywhere travels along the whole system, because no coefficient is smaller than the diagonal.
template <class T> Problem<T> whole_numbers(std::size_t n, std::size_t systems) {
    const std::size_t size = n * systems;
    Problem<T> p{n, systems, std::vector<T>(size), std::vector<T>(size), std::vector<T>(size), std::vector<T>(size)};
    for (std::size_t k = 0; k < size; ++k) {
        const std::uint64_t bits = gpulab::random_bits(seed, k);
        const auto sign = [&](unsigned bit) { return bits >> bit & 1 ? T{1} : T{-1}; };
        p.b[k] = sign(0);
        p.d[k] = static_cast<T>(1 + (bits >> 8) % 3) * sign(1);
        // Equations k and k + 1. The direction changes every 40 equations or so, and one pair in 64 is separate.
        const bool down = gpulab::random_bits(seed + 1, k / 40) % 2 == 0;
        const bool together = (bits >> 16) % 64 != 0;
        if (k % n + 1 < n) {
            p.c[k] = together && !down ? sign(2) : T{0};
            p.a[k + 1] = together && down ? sign(2) : T{0};
        } else { // what has no meaning
            p.c[k] = static_cast<T>(5);
            p.a[k + 1 - n] = static_cast<T>(-7);
        }
    }
    return p;
}

/// Whether a variant may refuse this shape: a method that keeps a system in one block's memory need not take more than
/// 1024 unknowns, one that is named so only one system, and the vendor's library has limits of its own.
inline bool may_refuse(std::string_view variant, const Shape& shape) {
    if (variant.find("cusparse") != std::string_view::npos && shape.n < 3) return true;
    if ((variant.ends_with("_one_block") || variant.ends_with("_nopivot")) && shape.systems > 1) return true;
    if (shape.n > max_for_one_thread && variant.find("thomas") != std::string_view::npos &&
        !variant.starts_with("cpu_"))
        return true; // on a GPU
    return shape.n > 1024 && !variant.ends_with("_partition") && variant.find("thomas") == std::string_view::npos &&
           !variant.starts_with("cpu_");
}

/// A variant and its name, as the checks take it.
template <class T> struct Candidate {
    Run<T>* run;
    std::string_view name;
};

/// What is wrong with the solution of one problem, or "". `refused` counts the problems that it may refuse and does.
/// @param exact only the reference itself passes
template <class T>
std::string fault_with(const Candidate<T>& v, const Problem<T>& p, bool exact, std::size_t* refused = nullptr) {
    const Reference<T> reference = make_reference(p);
    Output<T> out(p.n, p.systems);
    try {
        return gpulab::testing::fault_of(v.run, p, out, [&] {
            const gpulab::Comparison comparison = compare(p, reference, out);
            return exact && comparison.passed ? gpulab::compare(reference.out.x, out.x, 0.0) : comparison;
        });
    } catch (const gpulab::Unsupported& e) {
        if (refused) ++*refused;
        return may_refuse(v.name, {p.n, p.systems}) ? "" : fmt::format("it refuses: {}", e.what());
    }
}

/// Solves every shape: whole numbers, of several systems in both layouts, and each kind of matrix.
/// @param kinds which matrices, besides whole numbers
/// @return the first fault, or ""
template <class T>
std::string first_fault(const Candidate<T>& v, const Shapes& shapes, const std::vector<std::string>& kinds) {
    const bool exact = v.name.find("cusparse") == std::string_view::npos; // a library may round where we need not
    std::size_t done = 0, refused = 0;
    for (const Shape& shape : shapes) {
        const std::string where = shape.text() + ", ";
        for (const Layout layout : {Layout::separate, Layout::interleaved}) {
            if (layout == Layout::interleaved && shape.systems < 3) continue; // there the layouts hardly differ
            Problem<T> p = whole_numbers<T>(shape.n, shape.systems);
            p.layout = layout;
            if (const std::string fault = fault_with(v, p, exact, &refused); !fault.empty())
                return where + (layout == Layout::separate ? "whole numbers: " : "whole numbers, interleaved: ") +
                       fault;
            ++done;
        }
        for (const std::string& kind : kinds) {
            const Problem<T> p = make_problem<T>(kind, shape.n, shape.systems, seed);
            if (const std::string fault = fault_with(v, p, false, &refused); !fault.empty())
                return where + kind + ": " + fault;
            ++done;
        }
    }
    return done > refused ? "" : "it refuses everything";
}

/// Four equations, and one, whose answers are written down.
template <class T> std::string fault_by_hand(const Candidate<T>& v) {
    constexpr T nan = std::numeric_limits<T>::quiet_NaN();
    // 2 1 . .     4         1
    // 1 2 1 .     8         2
    // . 1 2 1 x = 12,   x = 3,  and 4 x = 8 in the second problem
    // . . 1 2     11        4
    const Problem<T> four{4, 1, {nan, 1, 1, 1}, {2, 2, 2, 2}, {1, 1, 1, nan}, {4, 8, 12, 11}};
    Output<T> out(4, 1);
    const T tolerance_of_four = static_cast<T>(tridiagonal::tolerance<T>(4));
    std::string fault = gpulab::testing::fault_of(v.run, four, out, [&] {
        return gpulab::compare(std::vector<T>{1, 2, 3, 4}, out.x, static_cast<double>(tolerance_of_four),
                               [](std::size_t) { return 16.0; });
    });
    if (!fault.empty()) return "four equations: " + fault;
    if (may_refuse(v.name, {1, 1})) return "";
    const Problem<T> one{1, 1, {nan}, {4}, {nan}, {8}};
    Output<T> x(1, 1);
    fault = gpulab::testing::fault_of(v.run, one, x, [&] { return gpulab::compare(std::vector<T>{2}, x.x, 0.0); });
    return fault.empty() ? "" : "one equation: " + fault;
}

/// The second difference of a parabola: the answer is known without solving anything.
template <class T> std::string poisson_fault(const Candidate<T>& v, const Shapes& shapes) {
    for (const Shape& shape : shapes) {
        if (may_refuse(v.name, shape)) continue;
        const Problem<T> p = make_problem<T>("poisson", shape.n, shape.systems, seed);
        std::vector<T> expected(p.size());
        for (std::size_t k = 0; k < p.size(); ++k) expected[k] = poisson_solution<T>(shape.n, k / shape.n, k % shape.n);
        const Reference<T> reference = make_reference(p);
        Output<T> out(shape.n, shape.systems);
        const std::string fault = gpulab::testing::fault_of(v.run, p, out, [&] {
            return gpulab::compare(expected, out.x, tridiagonal::tolerance<T>(shape.n),
                                   [&](std::size_t k) { return reference.scale[k]; });
        });
        if (!fault.empty()) return shape.text() + ": " + fault;
    }
    return "";
}

/// What is wrong with the systems other than `special`, which must be solved exactly; "" when nothing is.
template <class T>
std::string others_fault(const Problem<T>& p, const Reference<T>& reference, const Output<T>& out,
                         std::size_t special) {
    for (std::size_t s = 0; s < p.systems; ++s) {
        if (s == special) continue;
        if (out.zero_pivot[s] != no_zero_pivot) return fmt::format("system {} is said to have a zero pivot", s);
        for (std::size_t k = s * p.n; k < (s + 1) * p.n; ++k)
            if (!(out.x[k] == reference.out.x[k]))
                return fmt::format("system {}, row {} suffers from system {}: {}, expected {}", s, k % p.n, special,
                                   out.x[k], reference.out.x[k]);
    }
    return "";
}

/// The rows of a system at which something special may stand: its ends, its middle, next to a tile, and the last rows
/// of the chunks that partition methods make on their first and second level (64 and 64 * 32, 256 and 256 * 128).
inline std::set<std::size_t> special_rows(std::size_t n) {
    std::set<std::size_t> rows;
    for (const std::size_t row :
         {std::size_t{0}, std::size_t{1}, std::size_t{6}, std::size_t{7}, std::size_t{8}, std::size_t{63},
          std::size_t{255}, std::size_t{2047}, std::size_t{32767}, n / 2, n - 3, n - 2, n - 1})
        if (row < n) rows.insert(row);
    return rows;
}

/// The row before the border of the largest chunk of opencl_partition, 64 * 32 * 32 rows. Where it and the next one are
/// equal, no level but the last, the fourth, finds the zero.
inline std::set<std::size_t> row_of_last_level(std::size_t) { return {65535}; }

/// The ends of a system and its middle: for tools that are a thousand times slower than the device.
inline std::set<std::size_t> thin_rows(std::size_t n) { return {0, n / 2, n - 1}; }

/// Whether the checks of single rows leave out a shape: the largest ones are for methods with several levels.
inline bool too_large_for_rows(std::string_view variant, const Shape& shape) {
    return shape.n > 4096 && !variant.ends_with("cuda_partition"); // opencl_partition has several levels from 2049 on
}

/// Systems of whole numbers, of which a check changes the one in the middle.
template <class T> struct OneSpecial {
    explicit OneSpecial(const Shape& shape)
        : plain(whole_numbers<T>(shape.n, shape.systems)), reference(make_reference(plain)),
          out(shape.n, shape.systems), special(shape.systems / 2) {}
    const Problem<T> plain;
    const Reference<T> reference; ///< of `plain`
    Output<T> out;
    const std::size_t special; ///< number of the system that is changed
};

/// NaN in one system stays in that system, and comes out of it in the row where it went in. In a of row 0 and in c of
/// row n - 1 it changes nothing. A pivot that is NaN is not zero.
template <class T> std::string nan_fault(const Candidate<T>& v, const Shapes& shapes) {
    constexpr T nan = std::numeric_limits<T>::quiet_NaN(), inf = std::numeric_limits<T>::infinity();
    for (const Shape& shape : shapes) {
        if (may_refuse(v.name, shape)) continue;
        auto [plain, reference, out, special] = OneSpecial<T>(shape);
        const std::string where = shape.text() + ", ";

        for (const T meaningless : {nan, inf}) {
            Problem<T> p = plain;
            for (std::size_t s = 0; s < p.systems; ++s) p.a[s * p.n] = p.c[(s + 1) * p.n - 1] = meaningless;
            const std::string fault = gpulab::testing::fault_of(
                v.run, p, out, [&] { return verdict(others_fault(p, reference, out, p.systems)); });
            if (!fault.empty()) return where + fmt::format("{} in a of row 0 and c of the last: ", meaningless) + fault;
        }
        for (const std::size_t row : special_rows(shape.n))
            for (const bool in_b : {false, true}) {
                Problem<T> p = plain;
                (in_b ? p.b : p.d)[special * p.n + row] = nan;
                const std::string fault = gpulab::testing::fault_of(v.run, p, out, [&] {
                    const T x = out.x[special * p.n + row];
                    if (x == x) return verdict(fmt::format("x is {} there", x));
                    if (out.zero_pivot[special] != no_zero_pivot)
                        return verdict(fmt::format("row {} is said to be a zero pivot", out.zero_pivot[special]));
                    for (std::size_t i = 0; i < p.n; ++i)
                        if (gpulab::is_poison(out.x[special * p.n + i]))
                            return verdict(fmt::format("row {} was never written", i));
                    return verdict(others_fault(p, reference, out, special));
                });
                if (!fault.empty())
                    return where + fmt::format("NaN in {} of system {}, row {}: ", in_b ? 'b' : 'd', special, row) +
                           fault;
            }
    }
    return "";
}

/// A few equations that take the place of others.
template <class T> struct Rows {
    std::string_view name;
    std::vector<T> a, b, c; ///< a of the first equation and c of the last are 0
    std::size_t reported;   ///< a variant reports a zero pivot in one of so many rows from the first on
    bool solvable = false;  ///< or it gives their solution, x = 1, 2, 3, 1, ..., exactly
};

/// What is wrong when such equations stand in one of several systems, or "". The others must be solved exactly.
/// @param first_rows where they begin in a system of n equations
template <class T>
std::string rows_fault(const Candidate<T>& v, const Shapes& shapes, const std::vector<Rows<T>>& kinds,
                       std::set<std::size_t> (*first_rows)(std::size_t)) {
    for (const Shape& shape : shapes) {
        if (may_refuse(v.name, shape)) continue;
        auto [plain, reference, out, special] = OneSpecial<T>(shape);
        for (const Rows<T>& kind : kinds)
            for (const std::size_t row : first_rows(shape.n)) {
                const std::size_t count = kind.b.size(), first = special * plain.n + row;
                if (row + count > shape.n) continue;
                Problem<T> p = plain;
                std::vector<T> x(count);
                for (std::size_t i = 0; i < count; ++i) x[i] = static_cast<T>(1 + i % 3);
                for (std::size_t i = 0; i < count; ++i) {
                    p.a[first + i] = kind.a[i];
                    p.b[first + i] = kind.b[i] == 0 && row % 2 != 0 ? -T{0} : kind.b[i]; // both are zero
                    p.c[first + i] = kind.c[i];
                    if (kind.solvable)
                        p.d[first + i] = kind.b[i] * x[i] + (i > 0 ? kind.a[i] * x[i - 1] : T{0}) +
                                         (i + 1 < count ? kind.c[i] * x[i + 1] : T{0});
                }
                const std::string fault = gpulab::testing::fault_of(v.run, p, out, [&] {
                    const auto found = static_cast<std::int64_t>(out.zero_pivot[special]),
                               at = static_cast<std::int64_t>(row);
                    const bool solved = kind.solvable && found == no_zero_pivot;
                    if (!solved && (found < at || found >= at + static_cast<std::int64_t>(kind.reported)))
                        return verdict(fmt::format("it reports row {}", found));
                    for (std::size_t i = 0; i < count && solved; ++i)
                        if (!(out.x[first + i] == x[i]))
                            return verdict(fmt::format("it reports no zero pivot, and x of row {} is {}, not {}",
                                                       row + i, out.x[first + i], x[i]));
                    return verdict(others_fault(p, reference, out, special));
                });
                if (!fault.empty())
                    return fmt::format("{}, {} at row {} of system {}: {}", shape.text(), kind.name, row, special,
                                       fault);
            }
    }
    return "";
}

/// Zero pivots are reported with their system and row: an equation without any coefficient, which every method meets
/// where it stands; two equal equations, of which every method finds one; two equations that hold only each other's
/// unknown, which could be solved by exchanging them; and three equations of which the middle one is the sum of the
/// others.
/// @param rows_to_try which rows of a system of n equations
template <class T>
std::string zero_pivot_fault(const Candidate<T>& v, const Shapes& shapes,
                             std::set<std::size_t> (*rows_to_try)(std::size_t) = special_rows) {
    return rows_fault<T>(v, shapes,
                         {{"an empty equation", {0}, {0}, {0}, 1},
                          {"two equal equations", {0, 1}, {1, 1}, {1, 0}, 2},
                          {"two exchanged equations", {0, 1}, {0, 0}, {1, 0}, 2},
                          {"the sum of two equations between them", {0, 1, 1}, {1, 2, 1}, {1, 1, 0}, 3}},
                         rows_to_try);
}

/// Whether a variant reports the lowest of the rows in which it meets a zero pivot. The others report any of them.
inline bool reports_lowest(std::string_view variant) {
    return variant.find("_thomas") != std::string_view::npos || variant == "cpu_threads" || variant.ends_with("_pcr") ||
           (variant.ends_with("_cr") && variant != "cpu_cr");
}

/// Of two zero pivots in a system the lower one is reported. In x[1] = d[0], x[0] + x[1] + x[2] = d[1], x[1] = d[2],
/// placed at an even row, every method that is asked meets two: CR and PCR divide by both in their first step. Thomas
/// divides by the first, which makes the next pivot infinite and takes nothing away from the one after it.
template <class T> std::string lowest_zero_fault(const Candidate<T>& v, const Shapes& shapes) {
    if (!reports_lowest(v.name)) return "";
    return rows_fault<T>(v, shapes, {{"two zero pivots, one of them", {0, 1, 1}, {0, 1, 0}, {1, 1, 0}, 1}},
                         [](std::size_t n) {
                             std::set<std::size_t> rows = special_rows(n);
                             std::erase_if(rows, [](std::size_t row) { return row % 2 != 0; });
                             return rows;
                         });
}

/// PCR on a device finds the lowest zero pivot after its last step, where it reports at once; on the CPU it reports
/// from the first step that finds any. The rows from `begin` on are the Laplacian of a rod with free ends, 1 -1 | -1 2
/// -1 | ... | -1 1: every step halves its numbers, exactly, and leaves such rods with fewer rows. With s the last step,
/// s < n <= 2 s, and 3 s / 2 rows in the rod, a rod of two is left for the last step, in rows begin and begin + s; rows
/// begin + s / 2, ... are zero a step earlier.
/// @param shapes with n >= 3 s / 2
template <class T> std::string last_zero_fault(const Candidate<T>& v, const Shapes& shapes) {
    if (!v.name.ends_with("_pcr")) return "";
    for (const Shape& shape : shapes) {
        auto [plain, reference, out, special] = OneSpecial<T>(shape);
        const std::size_t step = std::bit_floor(shape.n - 1), begin = shape.n - step / 2 * 3;
        const std::size_t expected = v.name == "cpu_pcr" ? begin + step / 2 : begin;
        Problem<T> p = plain;
        for (std::size_t i = 0; i < p.n; ++i) {
            const std::size_t k = special * p.n + i;
            const bool left = i > begin, right = i >= begin && i + 1 < p.n;
            p.a[k] = left ? T{-1} : T{0};
            p.c[k] = right ? T{-1} : T{0};
            p.b[k] = i < begin ? T{1} : static_cast<T>(left + right);
        }
        const std::string fault = gpulab::testing::fault_of(v.run, p, out, [&] {
            if (const std::int32_t found = out.zero_pivot[special]; found != static_cast<std::int32_t>(expected))
                return verdict(fmt::format("row {} is reported, not {}", found, expected));
            return verdict(others_fault(p, reference, out, special));
        });
        if (!fault.empty())
            return fmt::format("{}, zero pivots from row {} of system {} on: {}", shape.text(), begin, special, fault);
    }
    return "";
}

/// Regular systems in which some orders of elimination meet a zero pivot and others do not: a method reports one of the
/// rows from which it comes, or solves the system exactly. A pivot that is zero and not reported makes NaN or infinity.
///   - 0 1 | 1 1 and 1 1 | 1 0 at special rows
///   - nine equations for partition methods, from row 8 k + 7 on with an odd k. The first elimination of cuda_partition
///     merges lanes k + 1 and k + 2 and meets none; its second one eliminates the first unknown of lane k + 1 from the
///     last equation of lane k, and finds 1 - 1 * 1 there
template <class T> std::string solvable_fault(const Candidate<T>& v, const Shapes& shapes) {
    const std::string fault = rows_fault<T>(
        v, shapes, {{"0 1 | 1 1", {0, 1}, {0, 1}, {1, 0}, 2, true}, {"1 1 | 1 0", {0, 1}, {1, 0}, {1, 0}, 2, true}},
        special_rows);
    if (!fault.empty() || !v.name.ends_with("_partition")) return fault;
    return rows_fault<T>(v, shapes,
                         {{"the end of a lane and the lane after it",
                           {0, 1, 1, 1, 1, 1, 1, 1, 1},
                           {1, 1, 1, 0, 0, 0, 0, 0, 0},
                           {1, -1, -1, -1, -1, -1, -1, -1, 0},
                           9,
                           true}},
                         [](std::size_t) {
                             return std::set<std::size_t>{15, 239, 15 + 256};
                         });
}

/// Whole numbers times a power of two: tiny or huge pivots, which are not zero, up to 2^127 or 2^1023, whose reciprocal
/// is below the smallest normal number, denormal pivots, and unknowns below that number. The answer stays exact.
template <class T> std::string scale_fault(const Candidate<T>& v, Backend backend) {
    using Limits = std::numeric_limits<T>;
    constexpr int tiny = Limits::min_exponent / 5 * 4;                  // 2^-100 or 2^-816
    constexpr int denormal = Limits::min_exponent - Limits::digits + 4; // 16 times the smallest number
    constexpr int huge = Limits::max_exponent - 1;
    constexpr int below = Limits::min_exponent - 2; // 2^-127 or 2^-1023: a denormal whose reciprocal is finite
    struct Powers {
        int matrix, right_hand_side;
    };
    for (const Powers powers : {Powers{tiny, tiny}, Powers{-tiny, -tiny}, Powers{0, denormal}, Powers{huge, huge - 27},
                                Powers{below, below}}) {
        // OpenCL lets a device flush such floats to zero.
        if ((powers.right_hand_side == denormal || powers.matrix == huge || powers.matrix == below) &&
            backend == Backend::opencl && Limits::digits < 53)
            continue;
        for (const Shape& shape : {Shape{1, 1}, Shape{40, 5}, Shape{300, 1}, Shape{1100, 1}}) {
            if (may_refuse(v.name, shape)) continue;
            Problem<T> p = whole_numbers<T>(shape.n, shape.systems);
            for (std::vector<T>* const array : {&p.a, &p.b, &p.c})
                for (T& number : *array) number = std::ldexp(number, powers.matrix);
            for (T& number : p.d) number = std::ldexp(number, powers.right_hand_side);
            const std::string fault = fault_with(v, p, true);
            if (!fault.empty())
                return fmt::format("{}, matrix times 2^{}, right-hand side times 2^{}: {}", shape.text(), powers.matrix,
                                   powers.right_hand_side, fault);
        }
    }
    return "";
}

/// Sizes at which shared or local memory is just enough, and not any more: 48, 64, 96, 99, 163 or 227 KiB for a block,
/// in each of which four numbers of every equation would fit without what the kernel needs beside them. A variant
/// solves the system, or refuses it.
template <class T> std::string memory_limit_fault(const Candidate<T>& v) {
    if (!may_refuse(v.name, {2000, 1})) return "";
    for (const std::size_t kib : {48, 64, 96, 99, 163, 227}) {
        const std::size_t most = kib * 1024 / (4 * sizeof(T));
        for (const std::size_t n : {most - 48, most, most + 1}) {
            const std::string fault = fault_with(v, whole_numbers<T>(n, 1), true);
            if (!fault.empty()) return fmt::format("1 system of {}: {}", n, fault);
        }
    }
    return "";
}

/// Shared memory still holds what an earlier kernel left there. So after blocks of 1024 unknowns full of NaN, on every
/// multiprocessor, smaller ones must be solved all the same.
template <class T> std::string leftovers_fault(const Candidate<T>& v, Backend backend) {
    const std::size_t many = backend == Backend::cuda ? 600 : 4;
    Problem<T> nan = whole_numbers<T>(1024, many);
    for (std::vector<T>* const array : {&nan.a, &nan.b, &nan.c, &nan.d})
        std::ranges::fill(*array, std::numeric_limits<T>::quiet_NaN());
    Output<T> out(nan.n, nan.systems);
    for (const std::size_t n : {5, 300, 700}) {
        if (may_refuse(v.name, {1024, many})) continue;
        Stopwatch once(0, 1);
        gpulab::testing::in_turn([&] { v.run(nan, out, once); });
        const std::string fault = fault_with(v, whole_numbers<T>(n, many), true);
        if (!fault.empty()) return fmt::format("{} systems of {} after NaN in 1024 unknowns: {}", many, n, fault);
    }
    return "";
}

/// Options crossed with each other: size, number of systems, matrix, layout, the scale of the numbers, and a system of
/// NaN, or with a zero pivot, among the others.
template <class T> std::string pairs_fault(const Candidate<T>& v) {
    const std::vector<std::size_t> sizes = {1, 5, 66, 300, 1026}, counts = {1, 3, 33, 130};
    const std::vector<std::string> matrices = {"whole numbers", "dominant", "spd", "poisson"};
    const std::vector<Layout> layouts = {Layout::separate, Layout::interleaved};
    const std::vector<int> powers = {0, -60, 60};
    const std::vector<std::string_view> among = {"", ", one of NaN", ", one with a zero pivot"};
    std::size_t refused = 0, rows = 0;
    for (const auto& row : gpulab::testing::all_pairs(
             {sizes.size(), counts.size(), matrices.size(), layouts.size(), powers.size(), among.size()})) {
        const std::size_t n = sizes[row[0]], systems = counts[row[1]];
        const std::string& kind = matrices[row[2]];
        if (may_refuse(v.name, {n, systems})) continue;
        Problem<T> p = row[2] == 0 ? whole_numbers<T>(n, systems) : make_problem<T>(kind, n, systems, seed);
        p.layout = layouts[row[3]];
        for (std::vector<T>* const array : {&p.a, &p.b, &p.c, &p.d})
            for (T& number : *array) number = std::ldexp(number, powers[row[4]]);
        const std::string where =
            fmt::format("{} system(s) of {}, {}{} times 2^{}{}: ", systems, n, kind,
                        p.layout == Layout::separate ? "" : ", interleaved,", powers[row[4]], among[row[5]]);
        const bool exact = row[2] == 0;
        if (row[5] == 0) {
            if (const std::string fault = fault_with(v, p, exact, &refused); !fault.empty()) return where + fault;
            ++rows;
            continue;
        }
        // The systems other than the special one, as if it were not there.
        const Reference<T> reference = make_reference(p);
        const std::size_t special = systems / 2;
        const auto here = static_cast<std::ptrdiff_t>(special * n), after = here + static_cast<std::ptrdiff_t>(n);
        const T value = row[5] == 1 ? std::numeric_limits<T>::quiet_NaN() : T{0};
        for (std::vector<T>* const array : {&p.a, &p.b, &p.c})
            std::fill(array->begin() + here, array->begin() + after, value);
        Problem<T> others = p;
        for (std::vector<T>* const array : {&others.a, &others.b, &others.c, &others.d})
            array->erase(array->begin() + here, array->begin() + after);
        --others.systems;
        const Reference<T> of_others = make_reference(others);
        Output<T> out(n, systems);
        const std::string fault = gpulab::testing::fault_of(v.run, p, out, [&] {
            if (const bool zero = out.zero_pivot[special] != no_zero_pivot; zero != (row[5] == 2))
                return verdict(zero ? "NaN is said to be a zero pivot" : "the zero pivot is not reported");
            if (systems == 1) return verdict("");
            if (exact)
                if (const std::string wrong = others_fault(p, reference, out, special); !wrong.empty())
                    return verdict(wrong);
            Output<T> rest = out;
            rest.x.erase(rest.x.begin() + here, rest.x.begin() + after);
            rest.zero_pivot.erase(rest.zero_pivot.begin() + static_cast<std::ptrdiff_t>(special));
            return compare(others, of_others, rest);
        });
        if (!fault.empty()) return where + fault;
        ++rows;
    }
    return rows > 0 ? "" : "it refuses everything";
}

} // namespace tridiagonal::testing
