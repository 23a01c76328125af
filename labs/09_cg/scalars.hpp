/// @file
/// The scalars of the iteration, for the rungs whose host computes them.
#pragma once

#include <algorithm>
#include <cmath>

#include "cg.hpp"

namespace cg {

/// The sums of a residual.
struct ResidualSums {
    double rr = 0;  ///< r . r
    double rho = 0; ///< r . z
};
inline ResidualSums operator+(const ResidualSums& a, const ResidualSums& b) { return {a.rr + b.rr, a.rho + b.rho}; }

/// alpha, beta, the history and the end. A rung's loop:
///
///     Scalars<T> scalars(p, out);
///     scalars.begin(rr, rho);                     // of the start
///     while (scalars.wants_more()) {
///         ... q = A p, pq = p . q                 // 1, 2 of the method's eight steps
///         if (!scalars.accepts(pq)) break;        // 3: scalars.alpha()
///         ... x += alpha p, r -= alpha q          // 4, 5
///         ... rr = r . r, rho = r . z             // 6
///         scalars.next(rr, rho);                  // 7: scalars.beta()
///         ... p = z + beta p                      // 8
///     }
///
/// rr is r . r, and rho is r . z, where z is r divided by the diagonal (Jacobi) or r itself.
template <class T> class Scalars {
public:
    /// @param out its history and end are written
    Scalars(const Problem<T>& p, Output<T>& out) : p_(p), out_(out) {}

    /// Takes r . r and r . z of the start.
    void begin(double rr, double rho) {
        out_.history.clear();
        out_.history.reserve(std::min<std::size_t>(p_.limit, 100000) + 1);
        out_.curvature = 0;
        rho_ = rho;
        note(rr);
    }

    bool wants_more() const { return more_; }

    /// Takes p . q of this iteration. @return false when it is not positive, which ends the iteration
    bool accepts(double pq) {
        const End end = end_by_curvature<T>(pq, out_.history);
        more_ = end == End::none;
        if (more_) alpha_ = rho_ / pq;
        else {
            out_.end = end;
            out_.curvature = pq;
        }
        return more_;
    }
    double alpha() const { return alpha_; }

    /// Takes r . r and r . z of the new residual.
    void next(double rr, double rho) {
        beta_ = p_.steepest ? 0 : rho / rho_;
        rho_ = rho;
        note(rr);
    }
    double beta() const { return beta_; }

private:
    void note(double rr) {
        const double norm = std::sqrt(rr);
        out_.history.push_back(norm);
        more_ = false;
        if (!std::isfinite(norm)) out_.end = End::not_finite;
        else if (norm <= p_.stop_at) out_.end = End::converged;
        else if (out_.iterations() >= p_.limit) out_.end = End::limit;
        else more_ = true;
    }

    const Problem<T>& p_;
    Output<T>& out_;
    double rho_ = 0, alpha_ = 0, beta_ = 0;
    bool more_ = false;
};

} // namespace cg
