/// @file
/// Pictures, fields and probes that the program writes.
#pragma once

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "gpulab/error.hpp"
#include "gpulab/file.hpp"
#include "gpulab/options.hpp"
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
    /// Bytes in main memory that writing them takes; also without files a part of a run begins with the field of the
    /// one before.
    double bytes(const Scene& s, std::size_t number_bytes) const {
        return bytes_of_field(s, number_bytes) + (any() ? bytes_of_snapshot(s, keep()) : 0) +
               (frames.empty() ? 0 : bytes_of_picture(s)) + (probes.empty() ? 0 : bytes_of_probes_file(s));
    }
};

/// Finds out whether the files can be written, before anything is computed.
/// @throws gpulab::UsageError when they cannot, or would overwrite what the scene was read from
inline void check_files(const gpulab::Options& options, const Scene& scene, const ResultFiles& files) {
    for (const std::string& file : scene.files) options.check_read(file, "the scene");
    if (!files.frames.empty()) check_folder(files.frames, "--frames", scene);
    if (!files.vtk.empty()) check_folder(files.vtk, "--vtk", scene);
    if (!files.probes.empty() && scene.probes.empty()) throw gpulab::UsageError("--probes: the scene has no probes");
}

/// The variant whose results are written: the fastest of those that are right, or else the first wrong one, because a
/// wrong field shows where it is wrong.
template <class T> struct Shown {
    const gpulab::Job<Run<T>>* job = nullptr;
    bool right = false;
    double ms = 0; ///< of the right one

    void see(const gpulab::Job<Run<T>>& other, const gpulab::Result& result) {
        const bool passed = result.status == gpulab::Result::Status::passed;
        if (result.status == gpulab::Result::Status::skipped) return;
        if (passed ? right && result.kernel.median >= ms : job != nullptr) return;
        *this = {&other, passed, result.kernel.median};
    }
};

/// A line about what takes long, for who may want less of it, or "". @param ms the time of all steps; 0: not known
inline std::string note_of_results(const Scene& scene, const ResultFiles& files, double ms) {
    if (!files.frames.empty() && scene.frame_scale == 0) ms *= 2;
    const std::size_t snapshots = snapshots_of(scene, files.keep());
    if (snapshots <= 1000 && ms <= 60'000) return "";
    return fmt::format("The files take {} snapshots of {} x {} cells: about {} to compute, and the time to write them "
                       "(see frames in docs/scenes.md).\n",
                       snapshots, scene.nx, scene.ny,
                       ms < 3.6e6 ? fmt::format("{:.0f} s", ms / 1000) : fmt::format("{:.0f} hours", ms / 3.6e6));
}

/// Computes the scene once more, in parts, and writes what the user asked for as it comes.
/// @param right whether the variant is: then a field that the files cannot hold is an error, and otherwise a finding
/// @param ms as in note_of_results()
template <class T>
void write_results(const Scene& scene, const ResultFiles& files, Run<T>* run, bool right, double ms,
                   gpulab::OutputFile& field, gpulab::OutputFile& probes) {
    fmt::print("{}", note_of_results(scene, files, ms));
    gpulab::flush_stdout();
    const bool show = gpulab::terminal_of_stdout().progress;
    const auto held = [](float x) { return std::isfinite(x); };
    const auto simulate = [&](Keep keep, const std::function<void(const Snapshot&)>& take) {
        const auto checked = [&](const Snapshot& s) {
            if (right && !(std::ranges::all_of(s.values, held) && std::ranges::all_of(s.x, held) &&
                           std::ranges::all_of(s.y, held)))
                throw gpulab::Error(fmt::format("the field of step {} has numbers beyond {:.2g}, the most that the "
                                                "files of fields and pictures hold",
                                                s.step, std::numeric_limits<float>::max()));
            take(s);
        };
        const auto recorded = fdtd::simulate<T>(scene, run, keep, checked, [&](std::size_t done) {
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
