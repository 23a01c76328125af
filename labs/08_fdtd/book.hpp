/// @file
/// The book's problem, which is all that the Core rungs compute: TE mode, one medium, a conductor around it, and at
/// most one hard source, in one cell.
#pragma once

#include "fdtd.hpp"

namespace fdtd {

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

/// Whether a problem is one like the book's.
template <class T> bool is_books(const Problem<T>& p);

/// The problem as Core rungs see it.
/// @throws gpulab::Unsupported unless is_books(p)
template <class T> Book<T> book_of(const Problem<T>& p);

/// What the source sets Hz to in a step, counted from 0.
template <class T> T source_value(const Problem<T>& p, std::size_t step) {
    return p.values.empty() ? T{0} : p.values[step];
}

} // namespace fdtd
