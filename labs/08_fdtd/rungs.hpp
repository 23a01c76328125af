/// @file
/// Declares the rungs, for the tables and the tests: a function for each line of rungs.inc.
#pragma once

#include "fdtd.hpp"

namespace fdtd {

#define RUNG(backend, if_built, function, ...) template <class T> Run<T> function;
#include "rungs.inc"
#undef RUNG

} // namespace fdtd
