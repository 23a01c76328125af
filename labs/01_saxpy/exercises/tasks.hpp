/// @file
/// What the exercises of this lab pass to a rung and get back from it.
#pragma once

#include "distances.hpp"
#include "saxpy.hpp"

namespace saxpy {

/// c = k a + b.
struct Saxpy {
    using Problem = saxpy::Problem;
    using Output = saxpy::Output;
    template <class Archive> static void fields(Archive& archive, Problem& p) { archive(p.k, p.a, p.b); }
    static auto& changing(Problem& p) { return p.a; }
    template <class Archive> static void fields(Archive& archive, Output& c) { archive(c); }
    static Output room(const Problem& p) { return Output(p.size()); }
};

/// Distances from one point.
struct Distance {
    using Problem = DistanceProblem;
    using Output = Distances;
    template <class Archive> static void fields(Archive& archive, Problem& p) { archive(p.from, p.points); }
    static auto& changing(Problem& p) { return p.points; }
    template <class Archive> static void fields(Archive& archive, Output& d) { archive(d); }
    static Output room(const Problem& p) { return Output(p.size()); }
};

} // namespace saxpy
