/// @file
/// The rungs, one line each, for the table and the tests. Each rung is described in its own file.
#pragma once

#include "spmv.hpp"

namespace spmv {

template <class T> Run<T> cpu_sequential;
template <class T> Run<T> cpu_threads;
template <class T> Run<T> cpu_coo;
template <class T> Run<T> cpu_ell;
template <class T> Run<T> cpu_csc;
template <class T> Run<T> opencl_thread_per_row;
template <class T> Run<T> opencl_slice_per_row;
template <class T> Run<T> opencl_ell;
template <class T> Run<T> cuda_thread_per_row;
template <class T> Run<T> cuda_warp_shared;
template <class T> Run<T> cuda_warp_shuffle;
template <class T> Run<T> cuda_lanes;
template <class T> Run<T> cuda_load_hints;
template <class T> Run<T> cuda_row_blocks;
template <class T> Run<T> cuda_merge_path;
template <class T> Run<T> cuda_ell;
template <class T> Run<T> cuda_coo;
template <class T> Run<T> cuda_bins;
template <class T> Run<T> cuda_cusparse_alg1;
template <class T> Run<T> cuda_cusparse_alg2;

} // namespace spmv
