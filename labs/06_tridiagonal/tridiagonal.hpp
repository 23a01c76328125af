/// @file
/// Lab 06: many tridiagonal systems A x = d, or one large one, on every back end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "gpulab/error.hpp"
#include "gpulab/forward.hpp"
#include "gpulab/poison.hpp"
#include "gpulab/stopwatch.hpp"
#include "gpulab/variant.hpp"

/// Lab 06: tridiagonal systems of equations.
namespace tridiagonal {

using gpulab::Stopwatch;

/// How the arrays lie in device memory when the clock starts.
enum class Layout {
    separate,   ///< one system after the other. A variant for interleaved data transposes them, timed
    interleaved ///< such a variant finds row 0 of all systems, then row 1 of all systems, ...; nothing to transpose
};

/// `systems` systems of n equations each: a[i] x[i-1] + b[i] x[i] + c[i] x[i+1] = d[i].
///
/// On the host one system follows the other: row i of system s is at s * n + i. The first equation of a system has no
/// x[-1] and the last no x[n], so a of row 0 and c of row n - 1 have no meaning. They may hold anything, NaN too, and
/// must not influence any result.
template <class T> struct Problem {
    std::size_t n = 0; ///< at least 1, less than 2^31
    std::size_t systems = 0;
    std::vector<T> a, b, c, d;
    Layout layout = Layout::separate; ///< for the variants that work on interleaved data

    std::size_t size() const { return n * systems; }
};

/// Stands for a row in Output::zero_pivot: no pivot of this system was zero.
inline constexpr std::int32_t no_zero_pivot = -1;

/// The most unknowns that a variant gives to a single thread of a GPU. Such a thread takes about 1 us for each of them
/// (measured on an H200), so a longer system would keep the GPU busy for seconds.
inline constexpr std::size_t max_for_one_thread = std::size_t{1} << 20;

/// @throws Unsupported when a system has more than max_for_one_thread unknowns
inline void check_one_thread(std::size_t n) {
    if (n > max_for_one_thread)
        throw gpulab::Unsupported("one thread per system would take " + std::to_string(n / 1'000'000) + " s for " +
                                  std::to_string(n) + " unknowns, 1 us for each");
}

/// The solutions, and what went wrong.
template <class T> struct Output {
    Output() = default;
    Output(std::size_t n, std::size_t systems) : x(n * systems), zero_pivot(systems) {}

    std::vector<T> x; ///< in the order of the problem
    /// For each system no_zero_pivot, or a row whose pivot was exactly zero. The solution of such a system means
    /// nothing; the other systems are solved.
    std::vector<std::int32_t> zero_pivot;
};

/// Marks an output as unwritten; see gpulab::poisoning().
template <class T> void poison(Output<T>& out) {
    gpulab::poison(out.x);
    gpulab::poison(out.zero_pivot);
}

/// A variant: from host data to host data.
template <class T> using Run = void(const Problem<T>& p, Output<T>& out, Stopwatch& watch);

/// The matrices that make_problem() knows.
inline const std::vector<std::string> matrix_kinds = {"dominant", "spd", "poisson"};

/// Random systems. Elements without a meaning (a of row 0, c of row n - 1) are random numbers, too.
/// - dominant: |b| exceeds |a| + |c| in every row, signs at random
/// - spd: L L^T with a random bidiagonal L: symmetric and positive definite, but not diagonally dominant
/// - poisson: -1, 2, -1, the second difference for -u'' = f; see poisson_solution()
/// @param n,systems at least 1
template <class T>
Problem<T> make_problem(const std::string& kind, std::size_t n, std::size_t systems, std::uint64_t seed);

/// Unknown i of system s in the solution of a `poisson` problem. The right-hand side is f = 1 + s % 8 in units of
/// 1/h^2, and the second difference of the parabola f (i + 1) (n - i) / 2 has no error.
template <class T> T poisson_solution(std::size_t n, std::size_t s, std::size_t i) {
    const auto f = static_cast<double>(1 + s % 8);
    return static_cast<T>(f * static_cast<double>(i + 1) * static_cast<double>(n - i) / 2);
}

/// The right answer, by Thomas in a wider type, and the units in which errors are measured.
template <class T> struct Reference {
    Output<T> out;
    /// For each unknown the size of the change that rounding can cause: the solution of M(A) s = |A| |x| + |d|, where
    /// M(A) has |b| on its diagonal and -|a|, -|c| beside it. For the matrices of this lab |inverse of A| <= inverse of
    /// M(A). Empty when M(A) proves nothing for some system; then only the residual is checked.
    std::vector<double> scale;
};
template <class T> Reference<T> make_reference(const Problem<T>& p);

/// @throws Error with system and row when an unknown of a system without a zero pivot is larger than T holds
template <class T> void check_fits(const Problem<T>& p, const Reference<T>& reference);

/// The largest residual, max |A x - d| / (norm of A * norm of x + norm of d), over all systems without a zero pivot;
/// maximum norms, computed in a wider type. NaN when any is NaN.
template <class T> double relative_residual(const Problem<T>& p, const Output<T>& out);

/// The largest error that rounding may cause with n unknowns: two epsilon for each of the 1 + log2 n levels of
/// elimination.
template <class T> double tolerance(std::size_t n);

/// Compares all systems with the reference: zero pivots where the reference has none fail, and so do errors beyond
/// tolerance() in units of the scale, and residuals beyond twice tolerance().
/// @return error in units of the scale; without a scale the relative residual
template <class T> gpulab::Comparison compare(const Problem<T>& p, const Reference<T>& reference, const Output<T>& out);

/// The same for the systems of a user, which need not be solvable without exchanging rows.
/// @param reports whether the variant reports zero pivots; the library does not
/// @throws Unsupported with system and row when it has met a zero pivot, or may have met one and does not report it:
///         Thomas meets one, or an unknown is not finite. Also where pivots may be small: the reference proves no bound
///         for the errors, and the residual is too large
template <class T>
gpulab::Comparison compare_given(const Problem<T>& p, const Reference<T>& reference, const Output<T>& out,
                                 bool reports);

/// The solutions of cpu_thomas, with NaN for each system in which Thomas meets a zero pivot. Empty when one of the
/// others is not solved to the tolerance, or there is none.
template <class T> std::vector<T> solve_others(const Problem<T>& p, const Reference<T>& reference);

/// "zero pivot in system 3, row 17", or "" when no pivot is zero; the first such system.
template <class T> std::string zero_pivot_message(const Output<T>& out);

/// Five arrays of n * systems numbers: a, b, c and d in, x out. Thomas takes eight operations per unknown.
template <class T> gpulab::Work work(std::size_t n, std::size_t systems);

/// Row i of system s of the result is at i * systems + s.
/// @param separate one system after the other, n rows each
template <class T> std::vector<T> interleave(const std::vector<T>& separate, std::size_t n, std::size_t systems);
/// The inverse of interleave().
template <class T> std::vector<T> separate(const std::vector<T>& interleaved, std::size_t n, std::size_t systems);

/// The ladder, in reading order: one row per rung.
template <class T> std::span<const gpulab::Variant<Run<T>>> variants();

} // namespace tridiagonal
