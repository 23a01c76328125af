/// @file
/// The rungs, one line each, for the table and the tests. Each rung is described in the file that defines it.
#pragma once

#include "tridiagonal.hpp"

namespace tridiagonal {

template <class T> Run<T> cpu_thomas;
template <class T> Run<T> cpu_cr;
template <class T> Run<T> cpu_pcr;
template <class T> Run<T> cpu_threads;
template <class T> Run<T> opencl_thomas;
template <class T> Run<T> opencl_cr;
template <class T> Run<T> opencl_pcr;
template <class T> Run<T> opencl_partition;
template <class T> Run<T> cuda_cr_one_block;
template <class T> Run<T> cuda_cr;
template <class T> Run<T> cuda_pcr;
template <class T> Run<T> cuda_thomas;
template <class T> Run<T> cuda_thomas_interleaved;
template <class T> Run<T> cuda_hybrid;
template <class T> Run<T> cuda_registers;
template <class T> Run<T> cuda_partition;
template <class T> Run<T> cuda_cusparse_gtsv2;
template <class T> Run<T> cuda_cusparse_gtsv_interleaved;
template <class T> Run<T> cuda_cusparse_gtsv2_nopivot;

} // namespace tridiagonal
