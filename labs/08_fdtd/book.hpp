/// @file
/// Lab 08: Maxwell's equations in two dimensions by Yee's scheme (FDTD). Here is what the Core rungs compute, the
/// book's problem: TE mode, one medium, a conductor around it, and at most one hard source, in one cell.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "gpulab/poison.hpp"
#include "gpulab/stopwatch.hpp"
#include "gpulab/variant.hpp"

/// Lab 08: Yee's scheme.
namespace fdtd {

using gpulab::Stopwatch;

/// The field at one time.
///
/// Both modes are one system of equations. U is the component along z, P and Q are the others:
///
///     dU/dt = (dP/dy - dQ/dx + source - lm U) / m        TE: U = Hz, P =  Ex, Q =  Ey, m = mu,      e = epsilon
///     dP/dt = ( dU/dy        + source - le P) / e        TM: U = Ez, P = -Hx, Q = -Hy, m = epsilon, e = mu
///     dQ/dt = (-dU/dx        + source - le Q) / e
///
/// lm and le are the losses. So every kernel serves both modes. Where the numbers are: see Book.
template <class T> struct Fields {
    std::vector<T> u, p, q;
    std::vector<T> v; ///< in the absorbing layers: the part of U that is driven by Q (H_zx of Berenger); or empty
};

/// What a variant computes: the field after the last step, and U at the probes after every step.
template <class T> struct Output {
    Fields<T> field;
    std::vector<T> recorded; ///< step k (from 0) of probe i is element k * probes + i
};

/// Marks the output as unwritten.
template <class T> void poison(Output<T>& out) {
    for (std::vector<T>* numbers : {&out.field.u, &out.field.p, &out.field.q, &out.field.v, &out.recorded})
        gpulab::poison(*numbers);
}

template <class T> struct Problem; // any problem: fdtd.hpp, for the Further rungs

/// A variant: from the start to the field after the last step. The output's arrays have their size.
template <class T> using Run = void(const Problem<T>& p, Output<T>& out, Stopwatch& watch);

/// Equations 4.2.7 to 4.2.10 of the book, with the coefficients b and d divided by the sides of a cell:
///
///     Hz = a Hz + b_dy (Ex above - Ex) - b_dx (Ey to the right - Ey)      then
///     Ex = c Ex + d_dy (Hz - Hz below)
///     Ey = c Ey - d_dx (Hz - Hz to the left)
///
/// Hz is at the centre of a cell, Ex on its lower and Ey on its left edge. In Fields they are u, p and q; cell (i, j)
/// is at j * pitch + i. Ex on the lowest and the uppermost edges (rows 0 and ny) and Ey on the outermost (columns 0 and
/// nx) are the conductor's: they stay 0. The same layout in OpenCL (opencl/book.cl). @tparam T float or double
template <class T> struct Book {
    T a, b_dx, b_dy; ///< for Hz
    T c, d_dx, d_dy; ///< for Ex and Ey
    int nx, ny, pitch;
    int source_i, source_j; ///< the cell whose Hz the source sets; -1: there is no source
};

/// The book's problem on the host.
template <class T> struct BookProblem {
    Book<T> g;                 ///< what kernels get
    const Fields<T>& start;    ///< the field before the first step
    std::size_t steps;         ///< to be computed
    std::span<const T> pulse;  ///< what the source sets Hz to, by step; empty without a source
    T b, d, dx, dy;            ///< of cuda_as_printed, which divides by the sides of a cell in every step
    unsigned block_x, block_y; ///< threads of a block, of cuda_block_shape

    std::size_t nx() const { return static_cast<std::size_t>(g.nx); }
    std::size_t ny() const { return static_cast<std::size_t>(g.ny); }
    std::size_t pitch() const { return static_cast<std::size_t>(g.pitch); }
    T source(std::size_t step) const { return pulse.empty() ? T{0} : pulse[step]; }
};

/// Whether a problem is one like the book's.
template <class T> bool is_books(const Problem<T>& p);

/// The problem as Core rungs see it: it refers to p.
/// @throws gpulab::Unsupported unless is_books(p)
template <class T> BookProblem<T> book_of(const Problem<T>& p);

} // namespace fdtd
