/// @file
/// What a solution is checked against.
#pragma once

#include "cg.hpp"

namespace cg {

/// One line that says how it ended, with numbers: "converged after 120 iterations: ...".
template <class T> std::string describe_end(const Problem<T>& p, const Output<T>& out);

/// The norm of b - A x, summed in a wider type.
template <class T> double true_residual(const Problem<T>& p, const std::vector<T>& x);

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

} // namespace cg
