/// @file
/// The search for a pivot by whole numbers: of two numbers without a sign, the larger one has the larger bit pattern.
/// One instruction finds the largest 32-bit number of a warp (redux), where shuffles take five rounds:
///
///     |x|         [ exponent, upper bits of the fraction ] [ lower bits ]
///     candidate   [ high, with the bit of the sign set   ] [ low        ] [ position ]
///                   redux over high; low and position only among equals
///
/// For cuda_critical_path_pivot, from compute capability 9.0 on.
#pragma once

namespace lu {

#if __CUDA_ARCH__ >= 900
inline constexpr unsigned all_lanes = 0xffffffffu;

/// A row that may become the pivot's. high and low are the bits of the magnitude; in high the bit of the sign is set,
/// so that 0 means no candidate.
struct Candidate {
    unsigned high, low;
    int position;
};

/// NaN counts as 0: it is chosen only when there is nothing else.
__device__ inline Candidate candidate(double x, int position) {
    const double magnitude = x == x ? fabs(x) : 0;
    return {__double2hiint(magnitude) | 0x80000000u, static_cast<unsigned>(__double2loint(magnitude)), position};
}

/// The largest magnitude wins; of equals, the first row.
__device__ inline bool better(const Candidate& a, const Candidate& b) {
    if (a.high != b.high) return a.high > b.high;
    return a.low > b.low || (a.low == b.low && a.position < b.position);
}

/// The lane that has the best candidate of the warp. @param highest the largest `high` of the warp
__device__ inline int best_lane(const Candidate& mine, unsigned highest) {
    bool best = mine.high == highest;
    unsigned lanes = __ballot_sync(all_lanes, best);
    if (highest != 0 && (lanes & (lanes - 1)) != 0) { // several: compare the rest
        const unsigned low = __reduce_max_sync(all_lanes, best ? mine.low : 0);
        best = best && mine.low == low;
        const int first = __reduce_min_sync(all_lanes, best ? mine.position : 0x7fffffff);
        lanes = __ballot_sync(all_lanes, best && mine.position == first);
    }
    return __ffs(lanes) - 1;
}
#endif

} // namespace lu
