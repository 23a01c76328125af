/// @file
/// Declares the rungs, for the tables and the tests: a function for each line of rungs.inc.
#pragma once

#include "matmul.hpp"

namespace matmul {

#define RUNG(backend, if_built, function, ...) template <class T> Run<T> function;
#define CUDA_FLOAT_RUNG(function, ...) Run<float> function;
#include "rungs.inc"
#undef RUNG
#undef CUDA_FLOAT_RUNG

} // namespace matmul
