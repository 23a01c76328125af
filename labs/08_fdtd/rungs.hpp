/// @file
/// The rungs, one line each, for the table and the tests. Each rung is described in its own file.
#pragma once

#include "fdtd.hpp"

namespace fdtd {

template <class T> Run<T> cpu_sequential;
template <class T> Run<T> cpu_threads;
template <class T> Run<T> opencl_plain;
template <class T> Run<T> opencl_local_tile;
template <class T> Run<T> opencl_steps;
template <class T> Run<T> opencl_rows;
template <class T> Run<T> cuda_as_printed;
template <class T> Run<T> cuda_coalesced;
template <class T> Run<T> cuda_block_shape;
template <class T> Run<T> cuda_shared;
template <class T> Run<T> cuda_fused;
template <class T> Run<T> cuda_steps;
template <class T> Run<T> cuda_persistent;

} // namespace fdtd
