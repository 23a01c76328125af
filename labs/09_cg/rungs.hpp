/// @file
/// The rungs, one line each, for the table and the tests. Each rung is described in its own file.
#pragma once

#include "cg.hpp"

namespace cg {

template <class T> Run<T> cpu_sequential;
template <class T> Run<T> cpu_threads;

} // namespace cg
