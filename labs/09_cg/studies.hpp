/// @file
/// The studies of lab 09.
#pragma once

#include <vector>

#include "cg.hpp"
#include "gpulab/options.hpp"

namespace cg {

/// What studies are given.
struct StudySettings {
    std::size_t rows = 10'000'000; ///< unknowns, about
    Settings settings;
};

/// The studies.
std::vector<gpulab::StudySummary> study_list();

/// Runs the study of --study. @return the exit code
template <class T> int run_study(const gpulab::Options& options, const StudySettings& settings);

} // namespace cg
