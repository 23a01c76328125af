/// @file
/// Declarations of the rungs, one line each, for the tables and the tests. Each rung's own file describes it.
#pragma once

#include "dot.hpp"
#include "reduction.hpp"
#include "scan.hpp"
#include "series.hpp"

namespace reduction {

// Sums
template <class T> SumRun<T> cpu_sequential;
template <class T> SumRun<T> cpu_kahan;
template <class T> SumRun<T> cpu_threads_mutex;
template <class T> SumRun<T> cpu_threads_atomic;
template <class T> SumRun<T> opencl_tree_interleaved;
template <class T> SumRun<T> opencl_tree_sequential;
template <class T> SumRun<T> opencl_grid_stride;
template <class T> SumRun<T> opencl_multi_stage;
template <class T> SumRun<T> opencl_vectorised;
template <class T> SumRun<T> cuda_one_block;
template <class T> SumRun<T> cuda_two_level;
template <class T> SumRun<T> cuda_tree_interleaved;
template <class T> SumRun<T> cuda_tree_sequential;
template <class T> SumRun<T> cuda_grid_stride;
template <class T> SumRun<T> cuda_shuffle;
template <class T> SumRun<T> cuda_vectorised;
template <class T> SumRun<T> cuda_single_pass;
template <class T> SumRun<T> cuda_atomics;
template <class T> SumRun<T> cuda_cub;
template <class T> SumRun<T> cuda_cub_mapped;

// Dot products
template <class T> DotRun<T> cpu_dot;
template <class T> DotRun<T> opencl_dot;
template <class T> DotRun<T> cuda_dot;
template <class T> DotRun<T> cuda_dot_cublas;

// Series
template <class T> SeriesRun<T> cpu_series;
template <class T> SeriesRun<T> cpu_series_threads;
template <class T> SeriesRun<T> opencl_series;
template <class T> SeriesRun<T> cuda_series;

// Prefix sums
template <class T> ScanRun<T> cpu_scan;
template <class T> ScanRun<T> opencl_scan_two_level;
template <class T> ScanRun<T> cuda_scan_one_block;
template <class T> ScanRun<T> cuda_scan_two_level;
template <class T> ScanRun<T> cuda_scan_look_back;
template <class T> ScanRun<T> cuda_scan_cub;

} // namespace reduction
