/// @file
/// What every kernel must know of a problem, in a form that can be passed to a device. OpenCL's copy is in yee.cl.
#pragma once

namespace fdtd {

/// Coefficients of one medium: new = keep * old + x * (difference in x) + y * (difference in y) + add * (source).
/// For the component along z they are a, b/dx, b/dy and b of the book's equation 4.2.10, for the others c, d/dx, d/dy
/// and d. @tparam T float or double
template <class T> struct Coefficients { T keep, x, y, add; };

/// Cells [x0, x1) x [y0, y1).
struct Box {
    int x0 = 0, y0 = 0, x1 = 0, y1 = 0;
};

/// A source: its cells, its component (0 z, 1 x, 2 y), and whether it sets or adds.
struct Patch {
    Box box;
    int component = 0;
    int hard = 0;
};

/// A problem without its arrays. The same layout in C++ and in OpenCL: first the numbers, then the integers.
///
/// Arrays of cells have `pitch` numbers in a row, and ny + 1 rows: cell (i, j) is at j * pitch + i. Cell (i, j) holds U
/// at its centre, P at its lower edge and Q at its left edge. So there are nx x ny of U, nx x (ny + 1) of P and
/// (nx + 1) x ny of Q. The edges along the border of the grid (P in rows 0 and ny, Q in columns 0 and nx) never change.
template <class T> struct Rules {
    Coefficients<T> u, e; ///< of a uniform medium: for U, and for P and Q
    int nx = 0, ny = 0, pitch = 0;
    Box change;          ///< cells whose U is computed; U keeps its value in the others (Dirichlet)
    Box inner;           ///< cells outside every absorbing layer
    int layers = 0;      ///< whether there is an absorbing layer
    int mapped = 0;      ///< whether cells differ in their medium
    int materials_u = 0; ///< entries of the table for U; those for P and Q follow
    int steps = 0;       ///< steps of this run, and values of each source
    int sources = 0, probes = 0;
    Box driven; ///< a box around all sources
    Box probed; ///< a box around all probes
    Patch patch[16];
    int probe_x[16], probe_y[16];
};

} // namespace fdtd
