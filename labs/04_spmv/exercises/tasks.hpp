/// @file
/// What the exercises of this lab hand to a rung and take back from it.
#pragma once

#include "spmv.hpp"

namespace spmv {

/// y = A x. @tparam T float or double
template <class T> struct Multiply {
    using Problem = spmv::Problem<T>;
    using Output = spmv::Output<T>;
    template <class Archive> static void fields(Archive& archive, Problem& p) {
        archive(p.matrix.rows, p.matrix.columns, p.matrix.row_start, p.matrix.column, p.matrix.value, p.x);
    }
    static auto& changing(Problem& p) { return p.x; }
    template <class Archive> static void fields(Archive& archive, Output& y) { archive(y); }
    static Output room(const Problem& p) { return Output(p.matrix.rows); }
};

} // namespace spmv
