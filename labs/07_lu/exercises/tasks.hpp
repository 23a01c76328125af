/// @file
/// What the exercises of this lab hand to a rung and take back from it.
#pragma once

#include "lu.hpp"
#include "solve.hpp"

namespace lu {

/// P A = L U.
struct Factorise {
    using Problem = lu::Problem;
    using Output = Factors;
    template <class Archive> static void fields(Archive& archive, Problem& p) { archive(p.n, p.a); }
    template <class Archive> static void fields(Archive& archive, Output& f) { archive(f.n, f.lu, f.pivots); }
    static Output room(const Problem& p) { return Output(p.n); }
};

/// A X = B with the factors of A.
struct Solve {
    using Problem = SolveProblem;
    using Output = Solution;
    template <class Archive> static void fields(Archive& archive, Problem& p) {
        archive(p.n, p.count, p.a, p.factors.n, p.factors.lu, p.factors.pivots, p.b);
    }
    template <class Archive> static void fields(Archive& archive, Output& x) { archive(x); }
    static Output room(const Problem& p) { return Output(p.n * p.count); }
};

} // namespace lu
