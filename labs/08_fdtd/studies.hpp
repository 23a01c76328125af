/// @file
/// The studies of lab 08.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "fdtd.hpp"
#include "gpulab/options.hpp"
#include "gpulab/report.hpp"
#include "scene/scene.hpp"

namespace fdtd {

/// For `--study list`.
std::vector<gpulab::StudySummary> study_list();

/// Study block-shapes: opencl_plain with groups of block_x x block_y items.
/// @throws gpulab::Unsupported where the device takes no such groups
template <class T> Run<T> opencl_block_shape;

/// What the rows of a study hold beside their times: "mcells_per_s" and "seconds"; and "gain", the speed over that of
/// one variant, its base, on the same device.
class Figures {
public:
    /// @param base a variant; "": no row has a gain
    explicit Figures(std::string base = "") : base_(std::move(base)) {}

    /// Of one row; none for a variant that was not timed. Rows before that of the base have no gain.
    gpulab::Parameters of(const gpulab::Result& result, double cell_steps);

private:
    std::string base_;
    std::map<std::string, double> base_ms_; ///< by device
};

/// The steps of a study for which the user gives no number.
std::size_t default_steps(const std::string& study);

/// The command line's settings for the studies.
struct StudySettings {
    std::size_t largest = 6900; ///< grids of more cells along a side, layers outside not counted, are left out
    std::size_t steps = 1000;
    std::string frames; ///< figure-4-4: the folder for its pictures; empty: none
};

/// Those of the command line. @param frames the folder for pictures, or ""
inline StudySettings study_settings(const std::string& study, const Overrides& overrides, const std::string& frames) {
    return {.largest = overrides.nx ? overrides.nx : StudySettings{}.largest,
            .steps = overrides.steps ? overrides.steps : default_steps(study),
            .frames = frames};
}

/// Runs the study the user chose. @return the program's exit code
template <class T> int run_study(const gpulab::Options& options, const StudySettings& settings);

} // namespace fdtd
