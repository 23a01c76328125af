/// @file
/// What the exercises of this lab hand to a rung and take back from it.
#pragma once

#include "tridiagonal.hpp"

namespace tridiagonal {

/// Many systems. @tparam T float or double
template <class T> struct Solve {
    using Problem = tridiagonal::Problem<T>;
    using Output = tridiagonal::Output<T>;
    template <class Archive> static void fields(Archive& archive, Problem& p) {
        archive(p.n, p.systems, p.a, p.b, p.c, p.d, p.layout);
    }
    static auto& changing(Problem& p) { return p.d; }
    template <class Archive> static void fields(Archive& archive, Output& out) { archive(out.x, out.zero_pivot); }
    static Output room(const Problem& p) { return Output(p.n, p.systems); }
};

} // namespace tridiagonal
