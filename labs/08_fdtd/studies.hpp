/// @file
/// The studies of lab 08.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "fdtd.hpp"
#include "gpulab/options.hpp"

namespace fdtd {

/// For `--study list`.
std::vector<gpulab::StudySummary> study_list();

/// The command line's settings for the studies.
struct StudySettings {
    std::size_t largest = 6900; ///< grids of more cells along a side are left out
    std::size_t steps = 1000;
    std::string frames; ///< figure-4-4: the folder for its pictures; empty: none
};

/// Runs the study the user chose. @return the program's exit code
template <class T> int run_study(const gpulab::Options& options, const StudySettings& settings);

} // namespace fdtd
