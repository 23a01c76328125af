/// @file
/// The five OpenCL kernels alone, for the study of group counts: the times of each on one device and one matrix, with a
/// given number of groups per compute unit.
#pragma once

#include <string>
#include <vector>

#include "cg.hpp"
#include "gpulab/stopwatch.hpp"

namespace cg {

/// The times of each of the five kernels on the current OpenCL device, in the order of kernel_names.
/// @param groups work-groups per compute unit @param repeats timed runs of each
template <class T> std::vector<gpulab::Timing> kernel_times(const Problem<T>& problem, std::size_t groups, int repeats);

/// Bytes and operations of one of the five kernels.
template <class T> gpulab::Work kernel_work(const Problem<T>& p, const std::string& kernel);

} // namespace cg
