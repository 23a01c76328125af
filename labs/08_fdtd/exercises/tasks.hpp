/// @file
/// What the exercises of this lab hand to a rung and take back from it.
#pragma once

#include "fdtd.hpp"

namespace fdtd {

/// Some steps of Yee's scheme. @tparam T float or double
template <class T> struct Steps {
    using Problem = fdtd::Problem<T>;
    using Output = fdtd::Output<T>;
    template <class Archive> static void field(Archive& archive, Fields<T>& f) { archive(f.u, f.p, f.q, f.v); }
    template <class Archive> static void fields(Archive& archive, Problem& p) {
        archive(p.rules, p.mode, p.dx, p.dy, p.dt, p.map, p.table, p.layers, p.patches, p.values, p.strengths, p.probes,
                p.block_x, p.block_y);
        field(archive, p.start);
    }
    template <class Archive> static void fields(Archive& archive, Output& out) {
        field(archive, out.field);
        archive(out.recorded);
    }
    static Output room(const Problem& p) { return make_output(p); }
};

} // namespace fdtd
