/// @file
/// The studies of lab 05.
#pragma once

#include <vector>

#include "gpulab/options.hpp"
#include "streams.hpp"

namespace streams {

/// For `--study list`.
std::vector<gpulab::StudySummary> study_list();

/// Runs the study the user chose, on the image and with the settings of p except for what the study sweeps.
/// @return the program's exit code
int run_study(const gpulab::Options& options, Problem p);

} // namespace streams
