/// @file
/// Declares the rungs, for the tables and the tests: a function for each line of rungs*.inc.
#pragma once

#include "batch.hpp"
#include "lu.hpp"
#include "solve.hpp"

namespace lu {

#define RUNG(backend, if_built, function, ...) Run function;
#include "rungs.inc"
#undef RUNG

#define RUNG(backend, if_built, function, ...) Run function;
#include "rungs_batch.inc"
#undef RUNG

#define RUNG(backend, if_built, function, ...) SolveRun function;
#include "rungs_solve.inc"
#undef RUNG

} // namespace lu
