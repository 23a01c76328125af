/// @file
/// Lab 09: A x = b by conjugate gradients, with a sparse, symmetric and positive definite A.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "gpulab/forward.hpp"
#include "gpulab/poison.hpp"
#include "gpulab/sparse/formats.hpp"
#include "gpulab/stopwatch.hpp"
#include "gpulab/trace/trace.hpp"
#include "gpulab/variant.hpp"

/// Lab 09: conjugate gradients.
namespace cg {

using gpulab::Stopwatch;

/// How the next direction follows from the residual.
enum class Method {
    conjugate_gradients,
    steepest_descent ///< the same iteration with beta = 0: the direction is the residual itself
};

/// What decides how many rows a device gets.
enum class Balance {
    nonzeros, ///< every device gets equally many non-zeros
    speed     ///< as many as it multiplies in the same time, measured before the solution begins
};

/// A system of equations, and when its solution is good enough.
template <class T> struct Problem {
    gpulab::Csr<T> matrix;           ///< square, symmetric, checked by make_problem()
    std::vector<T> b;                ///< the right-hand side
    std::vector<T> start;            ///< x_0
    std::vector<T> inverse_diagonal; ///< Jacobi: 1 / a_ii; empty without a preconditioner
    Method method = Method::conjugate_gradients;
    double stop_at = 0;      ///< ends when the norm of the residual is not above this
    std::size_t limit = 100; ///< ends after so many iterations in any case
    std::size_t parts = 0;   ///< of the rungs for several devices; 0: as many as there are devices, at least two
    Balance balance = Balance::nonzeros;
    std::string tuning; ///< file that keeps the group counts of the tuned OpenCL rungs; empty: none
    bool trace = false; ///< whether rungs that can do so record one iteration

    std::size_t n() const { return matrix.rows; }
    bool jacobi() const { return !inverse_diagonal.empty(); }
};

/// Why an iteration ended.
enum class End {
    converged,    ///< the norm of the residual is not above Problem::stop_at
    limit,        ///< after Problem::limit iterations
    not_positive, ///< p . A p was not positive: A is not positive definite
    exhausted,    ///< the same when the residual was nothing but rounding already
    not_finite    ///< a number became infinite or NaN
};

/// What a variant computes.
template <class T> struct Output {
    std::vector<T> x;
    std::vector<double> history; ///< norm of the residual of x_0, x_1, ..., as the iteration computes it
    End end = End::limit;
    double curvature = 0; ///< p . A p, when the end is not_positive
    /// Time of each kind of kernel in milliseconds, from rungs that know it. They solve once more for it, outside the
    /// times. The rest is overhead.
    std::vector<std::pair<std::string, double>> kernel_ms;
    gpulab::Timeline timeline;      ///< one iteration, when the problem asks for it
    std::vector<std::string> notes; ///< lines for the person who runs the program, such as a table of what was tried

    std::size_t iterations() const { return history.empty() ? 0 : history.size() - 1; }
};

/// Of the kernel times of several devices the longest of each kind, because devices work at the same time.
/// @param of_devices by kind, for each device
std::vector<std::pair<std::string, double>> longest_times(const std::vector<std::map<std::string, double>>& of_devices);

/// Marks an output as unwritten; see gpulab::poisoning().
template <class T> void poison(Output<T>& out) {
    gpulab::poison(out.x);
    out.history.clear();
    out.end = End::limit;
    out.curvature = 0;
    out.kernel_ms.clear();
    out.timeline.clear();
    out.notes.clear();
}

/// Whether two devices computed the same history, to the last bit: NaN is not equal to NaN, but its bits are.
inline bool same_bits(const std::vector<double>& a, const std::vector<double>& b) {
    return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(double)) == 0);
}

/// A variant: from host data to host data.
template <class T> using Run = void(const Problem<T>& p, Output<T>& out, Stopwatch& watch);

/// What make_problem() is told besides the matrix and the vectors.
struct Settings {
    Method method = Method::conjugate_gradients;
    bool jacobi = false;
    double tolerance = 1e-6;
    bool absolute = false; ///< false: the tolerance is relative to the norm of b
    std::size_t limit = 10000;
    std::size_t parts = 0;
    Balance balance = Balance::nonzeros;
    std::string tuning;
    bool trace = false;
};

/// A checked problem.
/// @param b,start as many numbers as the matrix has rows; an empty start is the zero vector
/// @param name of the matrix in messages
/// @throws gpulab::UsageError, with the numbers, when the matrix is not square or not symmetric, the sizes do not fit
///         together, a number is infinite or NaN, the square of the norm of b underflows, or Jacobi meets a
///         diagonal element that is not positive
template <class T>
Problem<T> make_problem(gpulab::Csr<T> matrix, std::vector<T> b, std::vector<T> start, const Settings& settings,
                        const std::string& name = "the matrix");

/// The norm of b - A x, summed in a wider type.
template <class T> double true_residual(const Problem<T>& p, const std::vector<T>& x);

/// One line that says how it ended, with numbers: "converged after 120 iterations: ...".
template <class T> std::string describe_end(const Problem<T>& p, const Output<T>& out);

/// What b - A x comes to: the norm that the iteration computes may be smaller by far, because it rounds.
/// @param end how the iteration ended; where the norm is larger than wanted, it tells whether rounding is the reason
template <class T> std::string describe_solution(const Problem<T>& p, const std::vector<T>& x, End end);

/// Whether x is no better than zero, and not as good as wanted: rounding has eaten the solution. A start that is many
/// orders of magnitude larger than the solution causes that, although the iteration ends as converged.
template <class T> bool is_no_solution(const Problem<T>& p, const std::vector<T>& x);

/// Whether the iteration can go on with this p . A p: it is positive and finite. Below the smallest normal number it
/// has lost digits, which is the end once the residual is rounding only. @param history up to this iteration
template <class T> bool has_curvature(double pq, const std::vector<double>& history);

/// Decides between not_positive and exhausted. @param history up to the iteration in which p . A p was not positive
template <class T> End end_without_curvature(const std::vector<double>& history);

/// What the method does in double, and how much rounding may change.
struct Reference {
    std::vector<double> history; ///< norms of the residual; perhaps of the first iterations only
    std::vector<double> allowed; ///< how far a history may be from this one; see make_reference()
    bool complete = false;       ///< whether the history goes on to the end of the iteration
    End end = End::limit;
};

/// Computes the reference, and how sensitive it is.
///
/// A variant rounds in every operation. What that does to an element of q = A p and of r is at most a few epsilon of
/// the absolute terms of the row, and what it does to a sum of n terms grows like the root of n. So the iteration is
/// repeated in double with random changes: of every element of q by up to 8 epsilon of its row's absolute terms, of
/// both scalars by up to 16 + sqrt(n) epsilon. `allowed` is eight times the largest deviation in each iteration over
/// four such runs, because four samples rarely meet the worst case, and at least 16 + sqrt(n) epsilon of the norm.
/// Relative to the norm it never falls from one iteration to the next: a deviation may pass through zero by chance. The
/// deviation grows with the iterations, because the directions lose their conjugacy. Where `allowed` exceeds a tenth of
/// the norm itself, histories of right variants need not agree, and compare() stops comparing.
/// @param patience bound of non-zeros times iterations; a longer reference is cut off
template <class T> Reference make_reference(const Problem<T>& p, double patience = 4e8);

/// How far the norm of b - A x may be from the last norm of the history.
///
/// Both are equal without rounding. In every iteration x and r are rounded once each, and q = A p is wrong by the
/// rounding of a row: together at most (m + 4) epsilon |A| |x| in each element, m the longest row (Greenbaum, SIAM
/// J. Matrix Anal. 18, 1997). The bound is this for all iterations, with the largest x on the way estimated as the
/// larger of the first and twice the last.
template <class T> double residual_gap(const Problem<T>& p, const Output<T>& out);

/// Judges a solution: the history agrees with the reference as long as rounding lets it, it ends where it says, and the
/// residual of x is what the last iteration claims.
template <class T> gpulab::Comparison compare(const Problem<T>& p, const Reference& reference, const Output<T>& out);

/// Bytes and operations of so many iterations. Bytes: CSR once, ten vectors (two of the product, eight of the rest when
/// as much as possible is done in one pass).
template <class T> gpulab::Work work(const Problem<T>& p, std::size_t iterations);

/// What the solution needs at most.
struct MemoryNeed {
    double device = 0, host = 0;
};
template <class T> MemoryNeed memory_need(gpulab::MatrixSize size);

/// Offsets of a CSR matrix in 32 bits. @throws gpulab::Unsupported when there are more non-zeros
template <class T> std::vector<std::int32_t> narrow_offsets(const gpulab::Csr<T>& a);

/// The ladder, in reading order: one row per rung.
template <class T> std::span<const gpulab::Variant<Run<T>>> variants();

/// Whether a rung shares the rows out over all devices that it is given.
bool takes_several_devices(std::string_view variant);

} // namespace cg
