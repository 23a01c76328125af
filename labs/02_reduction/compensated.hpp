/// @file
/// Summation that keeps what rounding throws away.
#pragma once

#include <cmath>

namespace reduction {

/// Adds doubles and carries along the part that each addition rounds off (Kahan, CACM 8, 1965, as improved by
/// Neumaier, ZAMM 54, 1974: it also works when the new term is larger than the sum so far).
/// The error is about one rounding, however many terms there are. Needs a compiler that does not reorder additions:
/// -ffast-math would remove the compensation.
class CompensatedSum {
public:
    void add(double x) {
        const double t = sum_ + x;
        // Whichever is smaller in size has lost its low bits in t; (larger - t) + smaller recovers them exactly.
        lost_ += std::abs(sum_) >= std::abs(x) ? (sum_ - t) + x : (x - t) + sum_;
        sum_ = t;
    }

    /// The sum. An infinity or a NaN among the terms is passed on; it makes `lost_` useless, so `lost_` is not added.
    double value() const { return std::isfinite(sum_) ? sum_ + lost_ : sum_; }

private:
    double sum_ = 0;
    double lost_ = 0;
};

} // namespace reduction
