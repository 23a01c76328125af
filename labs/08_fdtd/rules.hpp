/// @file
/// What a scene consists of, for the rungs that compute any scene: cpu_scene, opencl_scene, cuda_scene and those after
/// them. OpenCL's copy is in yee.cl.
///
///       ny +--P---P---P---P---P---P--+
///          |  layer                  |                 +----P(i, j+1)----+
///          Q   +---------------+     Q                 |                 |
///          |   | inner         |     |              Q(i, j)   U(i, j)   Q(i+1, j)
///          Q   |       +----+  |     Q                 |                 |
///          |   |       | s  |  |     |                 +-----P(i, j)-----+
///          Q   |   *   +----+  |     Q
///          |   |               |     |              cell (i, j): U at its centre, P and Q on its edges;
///        0 +--P+--P---P---P---P+--P--+              Fields says which of H and E they are in each mode
///          0                         nx
///
/// - Box: cells [x0, x1) x [y0, y1).
/// - inner: the Box of all cells that are in no absorbing layer. The scene above has layers at the left, at the right
///   and at the top. In a layer U has two parts, u - v driven by P and v driven by Q, and each has its own loss.
/// - change: the Box of all cells whose U is computed. In the other cells, along a side, U is fixed.
/// - Patch: a source (s): a Box, the component that it drives there, and whether it sets or adds.
/// - A probe (*): a cell whose U is recorded in every step.
/// - Coefficients: of the medium. They are the same everywhere, or a map has an index of a table for each cell, or each
///   cell has its own.
/// - Rules: all these numbers. View: the Rules and the arrays, which a kernel gets.
///
/// Edges on the border of the grid (P in rows 0 and ny, Q in columns 0 and nx) do not change, unless a side is driven:
/// then a Patch sets them.
#pragma once

#include <cstddef>
#include <cstdint>

namespace fdtd {

/// Which three components of the field are computed.
enum class Mode {
    te, ///< TE_z: H_z, E_x, E_y
    tm  ///< TM_z: E_z, H_x, H_y
};

/// Coefficients of one medium:
///   - new U = keep * U - x * (Q at the right - Q at the left) + y * (P above - P below) + add * source
///   - new P = keep * P + y * (U - U below) + add * source
///   - new Q = keep * Q - x * (U - U at the left) + add * source
///
/// For the component along z they are a, b/dx, b/dy and b of the book's equation 4.2.10, for the others c, d/dx, d/dy
/// and d. @tparam T float or double
template <class T> struct Coefficients { T keep, x, y, add; };

/// Cells [x0, x1) x [y0, y1).
struct Box {
    int x0 = 0, y0 = 0, x1 = 0, y1 = 0;
    bool holds(int x, int y) const { return x >= x0 && x < x1 && y >= y0 && y < y1; } ///< on the host
};

/// A source: its cells, its component (0 z, 1 x, 2 y; on the border 3 x, 4 y), and whether it sets or adds.
struct Patch {
    Box box;
    int component = 0;
    int hard = 0;
    int strengths = -1; ///< where its numbers begin in View::strengths, one per cell, row by row; -1: 1 in each cell
};

/// The cell of a probe.
struct ProbeCell {
    int x = 0, y = 0;
};

/// The sizes, flags and constants of a problem, without its arrays. The same layout in C++ and in OpenCL: first the
/// numbers, then the integers.
///
/// Arrays of cells have `pitch` numbers in a row, and ny + 1 rows: cell (i, j) is at j * pitch + i. So there are nx x
/// ny of U, nx x (ny + 1) of P and (nx + 1) x ny of Q.
template <class T> struct Rules {
    Coefficients<T> u, e; ///< of a uniform medium: for U, and for P and Q
    int nx = 0, ny = 0, pitch = 0;
    Box change;          ///< cells whose U is computed; U keeps its value in the others (Dirichlet)
    Box inner;           ///< cells outside every absorbing layer
    int layers = 0;      ///< whether there is an absorbing layer
    int mapped = 0;      ///< whether cells differ in their medium
    int graded = 0;      ///< then: whether each has coefficients of its own, instead of an index in the map
    int materials_u = 0; ///< entries of the table for U; those for P and Q follow
    int steps = 0;       ///< of this run; each source has one value per step
    int sources = 0, probes = 0;
    Box driven; ///< a box around all sources
    Box probed; ///< a box around all probes
};

/// The rules of a problem and the arrays they refer to; see Problem. CUDA kernels take it as a `__grid_constant__`
/// parameter: all threads read the one copy in constant memory.
template <class T> struct View {
    Rules<T> rules;
    const std::uint8_t* map = nullptr;
    const Coefficients<T>* table = nullptr;
    const T* layers = nullptr; ///< keep and gain of U and of Q per column, and per row: see Problem::layers
    const Patch* patches = nullptr;
    const T* values = nullptr;
    const T* strengths = nullptr;
    const ProbeCell* probes = nullptr;
    T* recorded = nullptr;
    std::size_t plane = 0; ///< numbers in an array of cells
    static constexpr int few = 8;
    Patch first[few] = {}; ///< a copy of the first patches: a kernel reads its parameters faster than an array
};

/// The arrays of a field, in device memory; see Fields.
template <class T> struct FieldPointers { T *u, *p, *q, *v; };

} // namespace fdtd
