/// @file
/// Lab 07: P A = L U, and the solution of A X = B with these factors, on every back end.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "gpulab/error.hpp"
#include "gpulab/forward.hpp"
#include "gpulab/raise.hpp"
#include "gpulab/stopwatch.hpp"
#include "gpulab/variant.hpp"

/// Lab 07: LU factorisation.
namespace lu {

using gpulab::raise;
using gpulab::Stopwatch;

/// A square matrix to factorise, row by row without gaps: A(i, j) is a[i * n + j]. In a batch (batch.hpp) there are
/// `count` of them, one behind the other.
struct Problem {
    std::size_t n = 0;
    std::vector<double> a;
    bool random = false;   ///< independent random elements with mean 0, so that rounding errors are independent, too
    std::size_t count = 1; ///< matrices
    double flops() const;  ///< divisions, multiplications and subtractions of the elimination: about 2/3 n^3 for each
    double bytes() const;  ///< A read once, the factors written once
};

/// The factors, stored in place of the matrix.
struct Factors {
    Factors() = default;
    /// Room for the factors of an n x n matrix, or of a batch of them.
    explicit Factors(std::size_t rows, std::size_t matrices = 1)
        : n(rows), lu(matrices * rows * rows), pivots(matrices * rows) {}

    std::size_t n = 0;
    std::vector<double> lu;           ///< U on and above the diagonal; L below it, without its ones on the diagonal
    std::vector<std::int32_t> pivots; ///< step k exchanged the rows k and pivots[k] >= k; k itself: no exchange
};

/// Fills the factors with NaN and invalid pivots before a variant runs; see gpulab::poison().
void poison(Factors& factors);

/// Puts the matrix into the factors and poisons the pivots: before each run of a rung that works in place.
void restore(const Problem& p, Factors& f);

/// A variant: from host data to host data. `f` has the size of the matrix. A variant without pivoting exchanges no rows
/// and gives pivots[k] = k.
/// @throws Singular, or ZeroPivot from a variant without pivoting
using Run = void(const Problem& p, Factors& f, Stopwatch& watch);

/// The largest n: kernels count rows and columns in 32 bits, elements in 64.
inline constexpr std::size_t max_rows = std::size_t{1} << 20;

/// The matrix is singular: with pivoting, all candidates for a pivot were zero.
class Singular : public gpulab::Error {
public:
    /// @param matrix which one of the batch, if there are several
    explicit Singular(std::size_t column, std::optional<std::size_t> matrix = {});
    std::size_t column() const { return column_; } ///< counted from 0; the message counts from 1

private:
    std::size_t column_;
};

/// A variant without pivoting met a zero on the diagonal. Pivoting may help: the matrix need not be singular.
class ZeroPivot : public gpulab::Unsupported {
public:
    explicit ZeroPivot(std::size_t column);
    std::size_t column() const { return column_; } ///< counted from 0; the message counts from 1

private:
    std::size_t column_;
};

/// Whether a variant exchanges rows: those that do have names that end in "_pivot".
constexpr bool pivots(std::string_view variant) { return variant.ends_with("_pivot"); }

/// Pivots of a variant that exchanges no rows: 0, 1, 2, ...
void no_exchanges(Factors& f);

/// Every variant calls this last: it looks for a zero on the diagonal of U. The first one is the pivot that failed; the
/// elements after it are infinite or not a number. Of a batch it names the first matrix that has one.
/// @throws Singular or ZeroPivot
void check_pivots(const Factors& f, bool pivoting);

/// Random A in (-1, 1), with Problem::random. Without pivoting such a matrix loses digits, which the column `error`
/// shows.
Problem make_problem(std::size_t n, std::uint64_t seed);

/// The rows of the factorised matrix in the order that the exchanges give: row i of P A is row order[i] of A.
/// @return empty when a pivot is not between its own row and n - 1, so that P is no permutation
std::vector<std::size_t> row_order(const Factors& f);

/// The largest sum of magnitudes in a row: the infinity norm; NaN when an element is.
double norm(const std::vector<double>& matrix, std::size_t n);

/// |L| |U|, in the infinity norm: the size of the numbers that were added and subtracted.
double growth_norm(const Factors& f);

/// The largest element of U over the largest of A, both in magnitude; NaN when one of them is. Pivoting keeps it small.
double growth_factor(const Problem& p, const Factors& f);

/// The largest root of a row sum of (L o L) (U o U), the product of the squared elements: the size that the numbers of
/// growth_norm() have when their signs are random.
double random_growth(const Factors& f);

/// The number of standard deviations by which a random sum of rounding errors may exceed zero: by the inequality of
/// Hoeffding it does so with a probability of at most 2 exp(-lambda^2 / 2), here 7.5e-6.
inline constexpr double lambda = 5;

/// Is P A = L U, with P a permutation, and every |l_ij| <= 1 where the variant pivots?
///
/// The error is the infinity norm of P A - L U over n eps norm(A). Elimination in any order leaves at most n eps / 2
/// times norm(|L| |U|) (Higham, Accuracy and Stability of Numerical Algorithms, theorem 9.3), and the check itself adds
/// as much; so the tolerance is norm(|L| |U|) / norm(A). With pivoting that is a small number. Without pivoting it may
/// be large: then the factors are as accurate as the method allows, and that may not be accurate enough.
///
/// This worst case needs rounding errors of one sign. In a random matrix with pivoting they are independent, and
/// sqrt(n) takes the place of n (Higham and Mary, SIAM J. Sci. Comput. 41 (5), 2019). Element (i, j) of P A - L U is a
/// sum of min(i, j) rounding errors, each at most eps / 2 times a partial sum of the l_ik u_kj. With random signs the
/// square of a partial sum is on average at most S_ij^2, the sum of all (l_ik u_kj)^2. So the element is at most
/// lambda sqrt(n) eps / 2 S_ij, and the sum of a row at most lambda n eps / 2 random_growth(). The tolerance is then
/// lambda / 2 random_growth() / norm(A), or that of the worst case if it is smaller, as for n = 2.
///
/// Up to n = 1024 all elements of P A - L U are computed. For larger n that would take longer than the factorisation.
/// Then (P A - L U) x is computed for three random vectors x in (-1, 1), with about 4 n^2 operations each. An
/// error in an element of the factors changes it by about the size of that error. The rounding errors of a row then
/// have random signs, too: together they are at most lambda sqrt(n) eps / 2 random_growth(). The products with U and
/// with L add as much each, so the tolerance of a random matrix is 3 lambda / 2 random_growth() / (sqrt(n) norm(A)).
///
/// The matrices of a batch are judged one by one; the result is that of the worst one.
gpulab::Comparison compare(const Problem& p, const Factors& f, bool pivoting);

/// Bytes that must move and operations that must be done, the same for all variants.
gpulab::Work work(const Problem& p);

/// The ladder, in reading order: one row per rung.
std::span<const gpulab::Variant<Run>> variants();

} // namespace lu
