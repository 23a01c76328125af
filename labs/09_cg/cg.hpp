/// @file
/// Lab 09: A x = b by conjugate gradients, with a sparse, symmetric and positive definite A.
#pragma once

#include <array>
#include <cstddef>
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

/// How the parts of several devices share the rows out.
enum class Balance {
    nnz,   ///< equally many non-zeros
    speed, ///< as many rows as each multiplies in the same time
    units  ///< in proportion to compute units times clock rate (Thesis, section 4.4)
};
inline constexpr std::array<const char*, 3> balance_names = {"nnz", "speed", "units"}; ///< in this order

/// How to solve a system.
struct Settings {
    bool steepest = false;          ///< steepest descent: beta is 0, so the direction is the residual itself
    bool jacobi = false;            ///< preconditioned: the residual is divided by the diagonal
    double tolerance = 1e-6;        ///< wanted norm of the residual
    bool absolute = false;          ///< false: the tolerance is relative to the norm of b
    std::size_t limit = 10000;      ///< the iteration ends here in any case
    std::size_t parts = 0;          ///< of the rungs for several devices; 0: as many as there are devices, at least two
    Balance balance = Balance::nnz; ///< of the rungs for several devices
    std::string tuning;             ///< file that keeps the group counts of the tuned OpenCL rungs; empty: none
    bool trace = false;             ///< whether rungs that can do so record one iteration
};

/// A system of equations, checked by make_problem().
template <class T> struct Problem : Settings {
    gpulab::Csr<T> matrix;           ///< square and symmetric
    std::vector<T> b;                ///< the right-hand side
    std::vector<T> start;            ///< x_0
    std::vector<T> inverse_diagonal; ///< Jacobi: 1 / a_ii; empty without a preconditioner
    double stop_at = 0;              ///< ends when the norm of the residual is not above this

    std::size_t n() const { return matrix.rows; }
};

/// Why an iteration ended.
enum class End : int {
    none,         ///< it goes on
    converged,    ///< the norm of the residual is not above Problem::stop_at
    limit,        ///< after Problem::limit iterations
    not_positive, ///< p . A p was not positive: A is not positive definite
    not_finite,   ///< a number became infinite or NaN
    lost,         ///< another GPU did not answer: no variant returns that
    exhausted     ///< p . A p was not positive when the residual was nothing but rounding already
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
    Output<T> fresh;
    fresh.x = std::move(out.x);
    gpulab::poison(fresh.x);
    out = std::move(fresh);
}

/// Whether two devices computed the same history, to the last bit: NaN is not equal to NaN, but its bits are.
inline bool same_bits(const std::vector<double>& a, const std::vector<double>& b) {
    return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(double)) == 0);
}

/// A variant: from host data to host data.
template <class T> using Run = void(const Problem<T>& p, Output<T>& out, Stopwatch& watch);

/// A checked problem.
/// @param b,start as many numbers as the matrix has rows; an empty start is the zero vector
/// @param name of the matrix in messages
/// @throws gpulab::UsageError, with the numbers, when the matrix is not square or not symmetric, the sizes do not fit
///         together, a number is infinite or NaN, the square of the norm of b underflows, or Jacobi meets a
///         diagonal element that is not positive
template <class T>
Problem<T> make_problem(gpulab::Csr<T> matrix, std::vector<T> b, std::vector<T> start, const Settings& settings,
                        const std::string& name = "the matrix");

/// How the iteration ends with this p . A p, or End::none: it goes on where this is positive and finite. Below the
/// smallest normal number it has lost digits, which is the end once the residual is rounding only.
/// @param history up to this iteration
template <class T> End end_by_curvature(double pq, const std::vector<double>& history);

/// Decides between not_positive and exhausted. @param history up to the iteration in which p . A p was not positive
template <class T> End end_without_curvature(const std::vector<double>& history);

/// Bytes and operations of this number of iterations. Bytes: CSR once, ten vectors (two of the product, eight of the
/// rest when as much as possible is done in one pass).
template <class T> gpulab::Work work(const Problem<T>& p, std::size_t iterations);

/// The ladder, in reading order: one row per rung.
template <class T> std::span<const gpulab::Variant<Run<T>>> variants();

/// Whether a rung shares the rows out over all devices that it is given.
bool takes_several_devices(std::string_view variant);

} // namespace cg
