/// @file
/// One cell of Yee's scheme with the tests taken out: facts about the column alone, or the row alone, are looked up
/// once and kept. For cuda_steps and cuda_persistent, where a thread stays in its column.
#pragma once

#include "yee.cuh"

namespace fdtd {

/// What the cells of a column have in common.
template <class T> struct ColumnFacts {
    bool u, p, q;             ///< the column is one of those whose U, P, Q may change
    bool inner;               ///< it is in no layer at the left or right
    T gain_u = 1, gain_q = 1; ///< factors of the layers
};

/// What the cells of a row have in common.
template <class T> struct RowFacts {
    bool u, p, q;
    bool inner;
    T gain_u = 1, gain_p = 1;
};

/// For any column, also outside the grid. @tparam layers whether the problem has absorbing layers
template <bool layers, class T> __device__ ColumnFacts<T> facts_of_column(const View<T>& g, int i) {
    const Rules<T>& r = g.rules;
    ColumnFacts<T> f{i >= r.change.x0 && i < r.change.x1, i >= 0 && i < r.nx, i >= 1 && i < r.nx,
                     i >= r.inner.x0 && i < r.inner.x1};
    if constexpr (layers) {
        const T* const factors = g.layers + (i < 0 ? 0 : i > r.nx ? r.nx : i);
        f.gain_u = factors[r.nx + 1];
        f.gain_q = factors[3 * (r.nx + 1)];
    }
    return f;
}

/// For any row, also outside the grid.
template <bool layers, class T> __device__ RowFacts<T> facts_of_row(const View<T>& g, int j) {
    const Rules<T>& r = g.rules;
    RowFacts<T> f{j >= r.change.y0 && j < r.change.y1, j >= 1 && j < r.ny, j >= 0 && j < r.ny,
                  j >= r.inner.y0 && j < r.inner.y1};
    if constexpr (layers) {
        const T* const factors = g.layers + 4 * (r.nx + 1) + (j < 0 ? 0 : j > r.ny ? r.ny : j);
        f.gain_u = factors[r.ny + 1];
        f.gain_p = factors[3 * (r.ny + 1)];
    }
    return f;
}

/// A layer's factor `keep`, computed from `gain` to save a register: with half the loss h it is (1 - h) / (1 + h) and
/// `gain` is 1 / (1 + h), see Problem.
template <class T> __device__ T keep_of(T gain) { return 2 * gain - 1; }

/// U one time step later, without sources. There are no branches. P of the upper edge enters in the last operation,
/// because in cuda_steps this number arrives last: everything else can be computed before.
/// @tparam edges whether the cell may be at an edge of the grid, or fixed
/// @param v the part of U that Q drives; changed in the absorbing layers only. @pre 0 in all other cells
/// @param p0,p1 the numbers on the lower and upper edge
/// @param dq the difference of Q: right - left edge
template <bool layers, bool edges = true, class T>
__device__ T step_u(const ColumnFacts<T>& column, const RowFacts<T>& row, const Coefficients<T>& k, T u, T& v, T p0,
                    T p1, T dq) {
    const bool changes = !edges || (column.u && row.u);
    T gain = k.y, rest;
    if constexpr (layers) { // U in two parts, each with its own loss; outside the layers both gains are 1
        const T from_x = k.keep * keep_of(column.gain_u) * v - k.x * column.gain_u * dq;
        gain = k.y * row.gain_u;
        rest = k.keep * keep_of(row.gain_u) * (u - v) - gain * p0 + from_x;
        v = !(column.inner && row.inner) && changes ? from_x : v;
    } else {
        rest = k.keep * u - k.x * dq - gain * p0;
    }
    const T next = gain * p1 + rest;
    return changes ? next : u;
}

/// P half a step after U, without sources. U of this cell enters last.
template <bool edges = true, class T>
__device__ T step_p(const ColumnFacts<T>& column, const RowFacts<T>& row, const Coefficients<T>& k, T p, T u,
                    T u_below) {
    const T gain = k.y * row.gain_p, rest = k.keep * keep_of(row.gain_p) * p - gain * u_below;
    const T next = gain * u + rest;
    return !edges || (column.p && row.p) ? next : p;
}

/// Q half a step after U, without sources. @param du U here - U to the left
template <bool edges = true, class T>
__device__ T step_q(const ColumnFacts<T>& column, const RowFacts<T>& row, const Coefficients<T>& k, T q, T du) {
    const T next = k.keep * keep_of(column.gain_q) * q - k.x * column.gain_q * du;
    return !edges || (column.q && row.q) ? next : q;
}

} // namespace fdtd
