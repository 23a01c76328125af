/// @file
/// The studies of lab 05.
#pragma once

#include <vector>

#include "gpulab/options.hpp"
#include "streams.hpp"

namespace streams {

/// Bytes that a run takes at its peak, with the buffers with which the link is measured.
struct MemoryNeed {
    double device = 0; ///< image, result, and the poison for the result on the host
    double host = 0; ///< image, reference, output, two copies of it, two arrays of marks (cuda_polling), and image and
                     ///< result in page-locked memory
};
/// @param bytes of the image
MemoryNeed memory_need(double bytes);

/// For `--study list`.
std::vector<gpulab::StudySummary> study_list();

/// Runs the study the user chose, on the image and with the settings of p except for what the study sweeps.
/// @return the program's exit code
int run_study(const gpulab::Options& options, Problem p);

} // namespace streams
