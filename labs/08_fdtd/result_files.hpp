/// @file
/// Pictures, fields and probes that the program writes.
#pragma once

#include <algorithm>
#include <fmt/format.h>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "gpulab/file.hpp"
#include "gpulab/terminal.hpp"
#include "scene/files.hpp"
#include "simulation.hpp"

namespace fdtd {

/// Where results go; an empty name: nowhere.
struct ResultFiles {
    std::string scene = "book", frames, vtk, field, probes;
    bool any() const { return !frames.empty() || !vtk.empty() || !field.empty() || !probes.empty(); }
    /// Pictures show the component along z only.
    Keep keep() const {
        if (vtk.empty() && frames.empty()) return Keep::last_field;
        return vtk.empty() && field.empty() ? Keep::pictures : Keep::fields;
    }
};

/// Computes the scene once more, in parts, and writes what the user asked for as it comes.
template <class T>
void write_results(const Scene& scene, const ResultFiles& files, Run<T>* run, gpulab::OutputFile& field,
                   gpulab::OutputFile& probes) {
    const bool show = gpulab::terminal_of_stdout().progress;
    const auto simulate = [&](Keep keep, const std::function<void(const Snapshot&)>& take) {
        const auto recorded = fdtd::simulate<T>(scene, run, keep, take, [&](std::size_t done) {
            if (show) fmt::print(stderr, "\rstep {} of {} ", done, scene.steps);
        });
        if (show) fmt::print(stderr, "\r{:40}\r", "");
        return recorded;
    };
    double scale = scene.frame_scale;
    if (!files.frames.empty() && scale == 0) // the scale of the first picture depends on the last one
        simulate(Keep::pictures, [&](const Snapshot& s) { scale = std::max(scale, largest(s)); });

    const std::size_t count = snapshots_of(scene, files.keep());
    std::optional<FrameFiles> frames;
    std::optional<VtkFiles> vtk;
    if (!files.frames.empty()) frames.emplace(files.frames, scene, scale > 0 ? scale : 1, count);
    if (!files.vtk.empty()) vtk.emplace(files.vtk, scene, count);
    const std::vector<double> recorded = simulate(files.keep(), [&](const Snapshot& s) {
        if (frames) frames->add(s);
        if (vtk) vtk->add(s);
        if (field && s.step == scene.steps) field.write(field_csv(scene, s));
    });
    if (frames) fmt::print("{}: {} pictures and animation.png\n", files.frames, count);
    if (vtk) fmt::print("{}: {} .vti files and series.pvd\n", files.vtk, count);
    if (probes) probes.write(probes_csv(scene, recorded));
}

} // namespace fdtd
