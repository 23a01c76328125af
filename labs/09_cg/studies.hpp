/// @file
/// The studies of lab 09.
#pragma once

#include <vector>

#include "cg.hpp"
#include "gpulab/options.hpp"

namespace cg {

/// What studies are given.
struct StudySettings {
    std::size_t rows = 0; ///< unknowns, about; 0: as rows_help says
    Settings settings;
};

/// The --help of --rows.
inline constexpr const char* rows_help =
    "unknowns in studies; default: 10 million, without a GPU 250,000, in history 2,500";

/// The studies.
std::vector<gpulab::StudySummary> study_list();

/// Runs the study of --study. @return the exit code
template <class T> int run_study(const gpulab::Options& options, const StudySettings& settings);

} // namespace cg
