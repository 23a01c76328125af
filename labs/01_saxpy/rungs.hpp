/// @file
/// Declares the rungs, for the tables and the tests: a function for each line of rungs*.inc.
#pragma once

#include "distances.hpp"
#include "saxpy.hpp"

namespace saxpy {

#define RUNG(backend, if_built, function, ...) Run function;
#include "rungs.inc"
#undef RUNG

#define RUNG(backend, if_built, function, ...) DistanceRun function;
#include "rungs_distances.inc"
#undef RUNG

} // namespace saxpy
