/// @file
/// The five OpenCL kernels alone, for the study of group counts: the times of each on one device and one matrix, with a
/// given number of groups per compute unit.
#pragma once

#include <string>
#include <vector>

#include "cg.hpp"
#include "gpulab/report.hpp"
#include "gpulab/stopwatch.hpp"

namespace cg {

/// The times of each of the five kernels on the current OpenCL device, in the order of kernel_names.
/// @param groups work-groups per compute unit @param repeats timed runs of each
template <class T> std::vector<gpulab::Timing> kernel_times(const Problem<T>& problem, std::size_t groups, int repeats);

/// Bytes and operations of one run of one of the five kernels, as kernel_times() runs it: "dot" is r . r, which reads
/// one vector.
template <class T> gpulab::Work kernel_work(const Problem<T>& p, const std::string& kernel);

/// How often a kernel runs in a solution, and the bytes and operations of a run, on average.
struct KernelRuns {
    double count = 0;
    gpulab::Work mean;
};

/// The runs of one of the five kernels in a solution of so many iterations. They are not all alike: "dot" is r . r,
/// which reads one vector; p . q, which reads two; and with Jacobi also r . z, which reads r and 1 / a_ii.
template <class T> KernelRuns kernel_runs(const Problem<T>& p, const std::string& kernel, std::size_t iterations);

} // namespace cg
