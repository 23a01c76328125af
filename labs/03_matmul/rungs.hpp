/// @file
/// The rungs, one line each, for the table and the tests. Each rung is described in its own file.
#pragma once

#include "matmul.hpp"

namespace matmul {

// In float and double
template <class T> Run<T> cpu_ijk;
template <class T> Run<T> cpu_ikj;
template <class T> Run<T> cpu_blocked;
template <class T> Run<T> cpu_element_tasks;
template <class T> Run<T> cpu_row_tasks;
template <class T> Run<T> cpu_threads;
template <class T> Run<T> opencl_naive;
template <class T> Run<T> opencl_local_tile;
template <class T> Run<T> opencl_register_tile;
template <class T> Run<T> cuda_one_block;
template <class T> Run<T> cuda_grid_as_printed;
template <class T> Run<T> cuda_grid;
template <class T> Run<T> cuda_shared_static;
template <class T> Run<T> cuda_shared_dynamic;
template <class T> Run<T> cuda_cublas;

// In float only
Run<float> cuda_register_1d;
Run<float> cuda_register_2d;
Run<float> cuda_vector_loads;
Run<float> cuda_pipeline;
Run<float> cuda_warp_tiles;
Run<float> cuda_by_shape;

} // namespace matmul
