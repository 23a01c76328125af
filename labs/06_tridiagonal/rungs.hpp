/// @file
/// The rungs, one line each, for the table and the tests. A rung is described in the file where it stands.
#pragma once

#include "tridiagonal.hpp"

namespace tridiagonal {

template <class T> Run<T> cpu_thomas;
template <class T> Run<T> cpu_cr;
template <class T> Run<T> cpu_pcr;
template <class T> Run<T> cpu_threads;

} // namespace tridiagonal
