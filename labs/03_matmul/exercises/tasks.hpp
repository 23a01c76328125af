/// @file
/// What the exercises of this lab hand to a rung and take back from it.
#pragma once

#include "matmul.hpp"

namespace matmul {

/// C = A B. @tparam T float or double
template <class T> struct Multiply {
    using Problem = matmul::Problem<T>;
    using Output = matmul::Output<T>;
    template <class Archive> static void fields(Archive& archive, Problem& p) { archive(p.m, p.k, p.n, p.a, p.b); }
    static auto& changing(Problem& p) { return p.a; }
    template <class Archive> static void fields(Archive& archive, Output& c) { archive(c); }
    static Output room(const Problem& p) { return Output(p.size()); }
};

} // namespace matmul
