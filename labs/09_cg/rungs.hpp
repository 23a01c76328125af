/// @file
/// The rungs, one line each, for the table and the tests. Each rung is described in its own file.
#pragma once

#include "cg.hpp"

namespace cg {

template <class T> Run<T> cpu_sequential;
template <class T> Run<T> cpu_threads;
template <class T> Run<T> opencl_five_kernels;
template <class T> Run<T> opencl_tuned;
template <class T> Run<T> opencl_devices_whole;
template <class T> Run<T> opencl_devices_halo;
template <class T> Run<T> cuda_five_kernels;
template <class T> Run<T> cuda_fused;
template <class T> Run<T> cuda_sliced;
template <class T> Run<T> cuda_graph;
template <class T> Run<T> cuda_persistent;
template <class T> Run<T> cuda_devices;
template <class T> Run<T> cuda_devices_stores;
template <class T> Run<T> cuda_cusparse_cublas;

} // namespace cg
