/// @file
/// What a run of lab 03 must do and hold, and what it reaches of the library's speed.
#pragma once

#include <map>
#include <string>

#include "gpulab/report.hpp"
#include "matmul.hpp"

namespace matmul {

/// What every variant must do: 2 m k n operations; and A, B and C each pass the memory once.
template <class T> gpulab::Work work(const Problem<T>& p);

/// Stops a run that would not fit: A, B and C, and on the host the reference and an output besides.
/// @param elements of A, B and C together @throws gpulab::UsageError
template <class T> void check_memory(const gpulab::Options& options, double elements);

/// The percentages of the library that a variant has reached in a study so far, by its name and device.
struct Percents {
    double logarithms = 0, least = 0;
    int count = 0;
};

/// Adds the percentage of the library's speed to a result, and for a study of many shapes the geometric mean and the
/// least of the percentages so far. Nothing where it did not run, or before the library has.
/// @param baseline whether the result is the library's
/// @param baseline_ms the library's times on this shape so far, by name and device
/// @param so_far of all shapes, or null
void add_percent(gpulab::Result& result, bool baseline, std::map<std::string, double>& baseline_ms,
                 std::map<std::string, Percents>* so_far);

} // namespace matmul
