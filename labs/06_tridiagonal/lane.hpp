/// @file
/// The work of one lane on its run of neighbouring equations, in registers: shared by cuda_registers, cuda_partition
/// and a test on the host.
#pragma once

#if defined(__CUDACC__)
#define TRIDIAGONAL_HOST_DEVICE __host__ __device__ __forceinline__
#else
#define TRIDIAGONAL_HOST_DEVICE inline
#endif

namespace tridiagonal {

/// Equations per lane.
inline constexpr int run_length = 8;

/// The equations of a lane. After eliminate() equation i reads a[i] f + x[i] + c[i] l = d[i], where f = x[0] is the
/// first unknown of the run and l = x[7] the last, except
///   - equation 0: a[0] (last unknown of the lane before) + f + c[0] l = d[0]
///   - equation 7: a[7] f + l + c[7] (first unknown of the lane after) = d[7]
/// These two are the interface equations, the ones that the other lanes need.
template <class T> struct LaneRun { T a[run_length], b[run_length], c[run_length], d[run_length]; };

/// An equation with 1 on its diagonal: a (unknown before) + x + c (unknown after) = d.
template <class T> struct Unit { T a, c, d; };

/// No equation at all: what a lane at the end of a system sees instead of a neighbour.
template <class T> TRIDIAGONAL_HOST_DEVICE Unit<T> no_neighbour() { return {T{0}, T{0}, T{0}}; }

/// Notes the number of the first pivot that was zero. @param zero -1 as long as there was none
template <class T> TRIDIAGONAL_HOST_DEVICE void check_pivot(T pivot, int row, int& zero) {
    if (pivot == T{0} && zero < 0) zero = row;
}

/// Local elimination: down the run, which removes x[i-1] from equation i and leaves x[0] in it; then up, which
/// removes x[i+1] and leaves x[7].
/// @param zero becomes 0 ... 7 when a pivot is zero
template <class T> TRIDIAGONAL_HOST_DEVICE void eliminate(LaneRun<T>& r, int& zero) {
    constexpr int last = run_length - 1;
#ifdef __CUDA_ARCH__
#pragma unroll
#endif
    for (int i = 1; i < run_length; ++i) {
        const T pivot = i == 1 ? r.b[1] : r.b[i] - r.a[i] * r.c[i - 1];
        check_pivot(pivot, i, zero);
        const T inverse = T{1} / pivot;
        r.d[i] = (i == 1 ? r.d[1] : r.d[i] - r.a[i] * r.d[i - 1]) * inverse;
        r.a[i] = (i == 1 ? r.a[1] : -r.a[i] * r.a[i - 1]) * inverse;
        r.c[i] *= inverse;
    }
#ifdef __CUDA_ARCH__
#pragma unroll
#endif
    for (int i = last - 2; i > 0; --i) {
        r.d[i] -= r.c[i] * r.d[i + 1];
        r.a[i] -= r.c[i] * r.a[i + 1];
        r.c[i] = -r.c[i] * r.c[i + 1];
    }
    const T pivot = r.b[0] - r.c[0] * r.a[1];
    check_pivot(pivot, 0, zero);
    const T inverse = T{1} / pivot;
    r.d[0] = (r.d[0] - r.c[0] * r.d[1]) * inverse;
    r.a[0] *= inverse;
    r.c[0] = -r.c[0] * r.c[1] * inverse;
}

/// The first and the last equation of a run after eliminate().
template <class T> TRIDIAGONAL_HOST_DEVICE Unit<T> first_of(const LaneRun<T>& r) { return {r.a[0], r.c[0], r.d[0]}; }
template <class T> TRIDIAGONAL_HOST_DEVICE Unit<T> last_of(const LaneRun<T>& r) {
    return {r.a[run_length - 1], r.c[run_length - 1], r.d[run_length - 1]};
}

/// One equation per lane: its last one, from which the first unknowns of this lane and of the lane after it are
/// eliminated. It holds the last unknowns of the lane before, of this lane and of the lane after.
/// @param zero becomes 7 when the pivot is zero
template <class T>
TRIDIAGONAL_HOST_DEVICE Unit<T> join(const Unit<T>& first, const Unit<T>& last, const Unit<T>& first_after, int& zero) {
    const T pivot = T{1} - last.a * first.c - last.c * first_after.a;
    check_pivot(pivot, run_length - 1, zero);
    const T inverse = T{1} / pivot;
    return {-last.a * first.a * inverse, -last.c * first_after.c * inverse,
            (last.d - last.a * first.d - last.c * first_after.d) * inverse};
}

/// One step of parallel cyclic reduction on equations with 1 on their diagonals.
/// @param zero becomes 7 when the pivot is zero
template <class T>
TRIDIAGONAL_HOST_DEVICE Unit<T> reduce(const Unit<T>& e, const Unit<T>& before, const Unit<T>& after, int& zero) {
    const T pivot = T{1} - e.a * before.c - e.c * after.a;
    check_pivot(pivot, run_length - 1, zero);
    const T inverse = T{1} / pivot;
    return {-e.a * before.a * inverse, -e.c * after.c * inverse, (e.d - e.a * before.d - e.c * after.d) * inverse};
}

/// Computes the unknowns of a run from its last unknown and that of the lane before; they replace d.
template <class T> TRIDIAGONAL_HOST_DEVICE void substitute(LaneRun<T>& r, T last_before, T last) {
    const T first = r.d[0] - r.a[0] * last_before - r.c[0] * last;
    r.d[0] = first;
#ifdef __CUDA_ARCH__
#pragma unroll
#endif
    for (int i = 1; i < run_length - 1; ++i) r.d[i] -= r.a[i] * first + r.c[i] * last;
    r.d[run_length - 1] = last;
}

/// The interface equations of a stretch of lanes: its first and its last equation.
template <class T> struct Stretch { Unit<T> first, last; };

/// Joins two neighbouring stretches into one, whose interface is the first equation of the left one and the last of the
/// right one. The two equations where they meet are eliminated.
/// @param zero becomes 0 when the pivot of the first equation is zero, 1 for that where they meet, 2 for the last
template <class T>
TRIDIAGONAL_HOST_DEVICE Stretch<T> merge(const Stretch<T>& left, const Stretch<T>& right, int& zero) {
    // Where they meet: left.last holds the unknowns f, l, g and right.first the unknowns l, g, m; f and m stay.
    const T det = T{1} - left.last.c * right.first.a;
    check_pivot(det, 1, zero);
    const T inverse = T{1} / det;
    // l + l_f f + l_m m = l_d and g + g_f f + g_m m = g_d
    const T l_f = left.last.a * inverse, l_m = -left.last.c * right.first.c * inverse;
    const T l_d = (left.last.d - left.last.c * right.first.d) * inverse;
    const T g_f = -right.first.a * left.last.a * inverse, g_m = right.first.c * inverse;
    const T g_d = (right.first.d - right.first.a * left.last.d) * inverse;

    const T first_pivot = T{1} - left.first.c * l_f, last_pivot = T{1} - right.last.a * g_m;
    check_pivot(first_pivot, 0, zero);
    check_pivot(last_pivot, 2, zero);
    const T u = T{1} / first_pivot, v = T{1} / last_pivot;
    return {{left.first.a * u, -left.first.c * l_m * u, (left.first.d - left.first.c * l_d) * u},
            {-right.last.a * g_f * v, right.last.c * v, (right.last.d - right.last.a * g_d) * v}};
}

} // namespace tridiagonal
