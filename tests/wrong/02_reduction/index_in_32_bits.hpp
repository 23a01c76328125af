/// @file
/// A sum, a dot product and a prefix sum that are right up to 2^31 - 1 elements, counting them in an int, or up to
/// 2^32 - 1, counting them in an unsigned: only the checks of large arrays can reject them. With std::size_t they are
/// right.
#pragma once

#include "dot.hpp"
#include "reduction.hpp"
#include "scan.hpp"

namespace reduction::wrong {

template <class Index> void sum_counted_in(const SumProblem<float>& p, Scalar<float>& sum, Stopwatch& watch);
template <class Index> void dot_counted_in(const DotProblem<float>& p, Scalar<float>& dot, Stopwatch& watch);
template <class Index> void scan_counted_in(const ScanProblem<float>& p, Prefixes<float>& out, Stopwatch& watch);

} // namespace reduction::wrong
