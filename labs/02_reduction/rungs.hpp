/// @file
/// Declares the rungs, for the tables and the tests: a function for each line of rungs*.inc. histogram.hpp declares
/// those of histograms.
#pragma once

#include "dot.hpp"
#include "reduction.hpp"
#include "scan.hpp"
#include "series.hpp"

namespace reduction {

#define RUNG(backend, if_built, function, ...) template <class T> SumRun<T> function;
#include "rungs_sum.inc"
#undef RUNG

#define RUNG(backend, if_built, function, ...) template <class T> DotRun<T> function;
#include "rungs_dot.inc"
#undef RUNG

#define RUNG(backend, if_built, function, ...) template <class T> SeriesRun<T> function;
#include "rungs_series.inc"
#undef RUNG

#define RUNG(backend, if_built, function, ...) template <class T> ScanRun<T> function;
#include "rungs_scan.inc"
#undef RUNG

} // namespace reduction
