/// @file
/// What the exercises of this lab hand to a rung and take back from it.
#pragma once

#include "cg.hpp"

namespace cg {

/// A x = b, by the iteration as a whole. @tparam T float or double
template <class T> struct Solve {
    using Problem = cg::Problem<T>;
    using Output = cg::Output<T>;
    template <class Archive> static void fields(Archive& archive, Problem& p) {
        archive(p.matrix.rows, p.matrix.columns, p.matrix.row_start, p.matrix.column, p.matrix.value, p.b, p.start,
                p.inverse_diagonal, p.jacobi, p.steepest, p.stop_at, p.limit, p.parts);
    }
    template <class Archive> static void fields(Archive& archive, Output& out) {
        archive(out.x, out.history, out.end, out.curvature);
    }
    static Output room(const Problem& p) {
        Output out;
        out.x.resize(p.n());
        return out;
    }
};

} // namespace cg
