/// @file
/// Declares the rungs, for the tables and the tests: a function for each line of rungs.inc.
#pragma once

#include "streams.hpp"

namespace streams {

#define RUNG(backend, if_built, function, ...) Run function;
#include "rungs.inc"
#undef RUNG

} // namespace streams
