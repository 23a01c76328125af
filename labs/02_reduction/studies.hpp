/// @file
/// The studies of lab 02.
#pragma once

#include <string>
#include <vector>

#include "gpulab/options.hpp"

namespace reduction {

/// For `--study list`.
std::vector<gpulab::StudySummary> study_list();

/// Runs the study the user chose.
/// @param type "float" or "double"
/// @param n the problem size of the study that does not sweep it
/// @return the program's exit code
/// @throws UsageError for another type
int run_study(const gpulab::Options& options, const std::string& type, std::size_t n);

} // namespace reduction
