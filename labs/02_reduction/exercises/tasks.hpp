/// @file
/// What the exercises of this lab pass to a rung and get back from it.
#pragma once

#include "dot.hpp"
#include "histogram.hpp"
#include "reduction.hpp"
#include "scan.hpp"

namespace reduction {

/// The sum. @tparam T float or double
template <class T> struct Sum {
    using Problem = SumProblem<T>;
    using Output = Scalar<T>;
    template <class Archive> static void fields(Archive& archive, Problem& p) { archive(p.a); }
    static auto& changing(Problem& p) { return p.a; }
    template <class Archive> static void fields(Archive& archive, Output& out) { archive(out); }
    static Output room(const Problem&) { return Output(1); }
};

/// The dot product. @tparam T float or double
template <class T> struct Dot {
    using Problem = DotProblem<T>;
    using Output = Scalar<T>;
    template <class Archive> static void fields(Archive& archive, Problem& p) { archive(p.a, p.b); }
    static auto& changing(Problem& p) { return p.a; }
    template <class Archive> static void fields(Archive& archive, Output& out) { archive(out); }
    static Output room(const Problem&) { return Output(1); }
};

/// Prefix sums. @tparam T float, double or int
template <class T> struct PrefixSum {
    using Problem = ScanProblem<T>;
    using Output = Prefixes<T>;
    template <class Archive> static void fields(Archive& archive, Problem& p) { archive(p.kind, p.a); }
    static auto& changing(Problem& p) { return p.a; }
    template <class Archive> static void fields(Archive& archive, Output& out) { archive(out); }
    static Output room(const Problem& p) { return Output(p.size()); }
};

/// A histogram. @tparam T float or double
template <class T> struct Histogram {
    using Problem = HistogramProblem<T>;
    using Output = Counts;
    template <class Archive> static void fields(Archive& archive, Problem& p) { archive(p.bins, p.a); }
    static auto& changing(Problem& p) { return p.a; }
    template <class Archive> static void fields(Archive& archive, Output& out) { archive(out); }
    static Output room(const Problem& p) { return Output(p.bins); }
};

} // namespace reduction
