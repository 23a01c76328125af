/// @file
/// Lab 08, FDTD: computes a scene with every variant on every device, and writes pictures, fields and probes.
#include <algorithm>
#include <fmt/format.h>
#include <functional>
#include <optional>

#include "gpulab/error.hpp"
#include "gpulab/file.hpp"
#include "gpulab/jobs.hpp"
#include "gpulab/options.hpp"
#include "gpulab/report.hpp"
#include "gpulab/terminal.hpp"
#include "scene/files.hpp"
#include "simulation.hpp"
#include "studies.hpp"

namespace {

/// Where results go; an empty name: nowhere.
struct Wishes {
    std::string scene = "book", frames, vtk, field, probes;
    bool any() const { return !frames.empty() || !vtk.empty() || !field.empty() || !probes.empty(); }
    /// Pictures show the component along z only.
    fdtd::Keep keep() const {
        if (vtk.empty() && frames.empty()) return fdtd::Keep::last_field;
        return vtk.empty() && field.empty() ? fdtd::Keep::pictures : fdtd::Keep::fields;
    }
};

/// Computes the scene once more, in parts, and writes what the user asked for as it comes.
template <class T>
void write_results(const fdtd::Scene& scene, const Wishes& wishes, fdtd::Run<T>* run, gpulab::OutputFile& field,
                   gpulab::OutputFile& probes) {
    const bool show = gpulab::terminal_of_stdout().progress;
    const auto simulate = [&](fdtd::Keep keep, const std::function<void(const fdtd::Snapshot&)>& take) {
        const auto recorded = fdtd::simulate<T>(scene, run, keep, take, [&](std::size_t done) {
            if (show) fmt::print(stderr, "\rstep {} of {} ", done, scene.steps);
        });
        if (show) fmt::print(stderr, "\r{:40}\r", "");
        return recorded;
    };
    double scale = scene.frame_scale;
    if (!wishes.frames.empty() && scale == 0) // the scale of the first picture depends on the last one
        simulate(fdtd::Keep::pictures, [&](const fdtd::Snapshot& s) { scale = std::max(scale, fdtd::largest(s)); });

    const std::size_t count = fdtd::snapshots_of(scene, wishes.keep());
    std::optional<fdtd::FrameFiles> frames;
    std::optional<fdtd::VtkFiles> vtk;
    if (!wishes.frames.empty()) frames.emplace(wishes.frames, scene, scale > 0 ? scale : 1, count);
    if (!wishes.vtk.empty()) vtk.emplace(wishes.vtk, scene, count);
    const std::vector<double> recorded = simulate(wishes.keep(), [&](const fdtd::Snapshot& s) {
        if (frames) frames->add(s);
        if (vtk) vtk->add(s);
        if (field && s.step == scene.steps) field.write(fdtd::field_csv(scene, s));
    });
    if (frames) fmt::print("{}: {} pictures and animation.png\n", wishes.frames, count);
    if (vtk) fmt::print("{}: {} .vti files and series.pvd\n", wishes.vtk, count);
    if (probes) probes.write(fdtd::probes_csv(scene, recorded));
}

/// Every chosen variant with numbers of type T.
template <class T> int compute(const gpulab::Options& options, const fdtd::Scene& scene, const Wishes& wishes) {
    // Opened now, so that an unwritable file is refused before anything is measured.
    gpulab::OutputFile field = gpulab::output_file(wishes.field), probes = gpulab::output_file(wishes.probes);
    if (!wishes.probes.empty() && scene.probes.empty()) throw gpulab::UsageError("--probes: the scene has no probes");

    const double cell_steps = scene.cells() * static_cast<double>(scene.steps);
    const auto jobs = fdtd::jobs<T>(options, cell_steps);  // which variant runs where
    double files = fdtd::bytes_of_field(scene, sizeof(T)); // a part of the run begins with the field of the one before
    if (wishes.any()) files += fdtd::bytes_of_snapshot(scene, wishes.keep());
    if (!wishes.frames.empty()) files += fdtd::bytes_of_picture(scene);
    if (!wishes.probes.empty()) files += fdtd::bytes_of_probes_file(scene);
    const fdtd::MemoryNeed need = fdtd::memory_need(scene, sizeof(T), files);
    gpulab::check_memory(options, need.device, need.host, wishes.scene);
    gpulab::Report report(options, {{"scene", wishes.scene},
                                    {"nx", scene.nx},
                                    {"ny", scene.ny},
                                    {"steps", scene.steps},
                                    {"type", sizeof(T) == 8 ? "double" : "float"}});
    report.column("mcells_per_s", "MCells/s", "{:.1f}");
    const fdtd::Problem<T> problem = fdtd::make_problem<T>(scene);
    if (const std::string note = fdtd::note_of_comparison(cell_steps); !note.empty()) report.say(note);
    fdtd::Judge<T> judge(scene, problem);
    report.sequential(fdtd::sequential<T>(scene));

    fdtd::Output<T> out = fdtd::make_output(problem);
    const gpulab::Job<fdtd::Run<T>>*fastest = nullptr, *wrong = nullptr;
    double fastest_ms = 0;
    for (const auto& job : jobs) { // each poisons `out`, runs its variant and judges what that leaves there
        report.doing(job.variant.name);
        gpulab::Result r = gpulab::run(job, problem, out, options, [&] { return judge(job, out); });
        if (r.status == gpulab::Result::Status::failed && !wrong) wrong = &job;
        if (r.status == gpulab::Result::Status::passed) {
            r.extra = {{"mcells_per_s", fdtd::mcells_per_s(cell_steps, r.kernel.median)}};
            if (!fastest || r.kernel.median < fastest_ms) {
                fastest = &job;
                fastest_ms = r.kernel.median;
            }
        }
        report.add(std::move(r), fdtd::work_of(problem));
    }
    const int code = report.finish();
    if (!wishes.any()) return code;
    const auto takes_long = [&](const auto& job) {
        return !job.skip.empty() && job.skip == fdtd::too_slow(options, job.variant.name, job.device(), cell_steps);
    };
    if (!fastest && !wrong && std::ranges::any_of(jobs, takes_long)) {
        fmt::print("\nNo variant was measured, because that takes long; cpu_scene_threads computes the files, "
                   "unchecked:\n");
        write_results<T>(scene, wishes, gpulab::run_of(fdtd::variants<T>(), "cpu_scene_threads"), field, probes);
        return code;
    }
    const auto* shown = fastest ? fastest : wrong; // a wrong field shows where it is wrong
    if (!shown) throw gpulab::Error("no variant gave a result, so there is nothing to write");
    gpulab::use(shown->devices);
    fmt::print("\nResults of {}{}:\n", shown->variant.name, fastest ? "" : ", which are WRONG");
    write_results<T>(scene, wishes, shown->variant.run, field, probes);
    return code;
}

} // namespace

int main(int argc, char** argv) try {
    Wishes wishes;
    std::string type = "double";
    fdtd::Overrides overrides;
    gpulab::Options options("fdtd", "Maxwell's equations in two dimensions, step by step in time");
    options.text("--scene", wishes.scene,
                 "scene file (JSON), or book, scatterer, waveguide, double-slit, heterogeneous, lens");
    options.size("--nx", overrides.nx, 3, "cells along x instead of the scene's; in a study: the largest grid",
                 fdtd::most_cells);
    options.size("--ny", overrides.ny, 3, "cells along y instead of the scene's", fdtd::most_cells);
    options.size("--steps", overrides.steps, 1, "time steps instead of the scene's", fdtd::most_steps);
    options.choice("--type", type, {"float", "double"}, "type of the numbers");
    options.text("--frames", wishes.frames, "folder for pictures of the field and an animated one (PNG)");
    options.text("--vtk", wishes.vtk, "folder for the field as VTK image data, for ParaView");
    options.output("--field", wishes.field, "file for the field after the last step (CSV)");
    options.output("--probes", wishes.probes, "file for the scene's probes in every step (CSV)");
    options.variants(fdtd::variants<double>());
    options.studies(fdtd::study_list());
    if (!options.parse(argc, argv)) return gpulab::exit_success; // --help and --list are answered

    if (!options.study().empty()) {
        if (!wishes.frames.empty()) fdtd::check_folder(wishes.frames, "--frames", {});
        fdtd::StudySettings settings;
        settings.frames = wishes.frames;
        settings.steps = overrides.steps ? overrides.steps : fdtd::default_steps(options.study());
        if (overrides.nx) settings.largest = overrides.nx;
        return type == "float" ? fdtd::run_study<float>(options, settings) : fdtd::run_study<double>(options, settings);
    }
    const fdtd::Scene scene = fdtd::read_scene(wishes.scene, overrides);
    for (const std::string& file : scene.files) options.check_read(file, "the scene");
    if (!wishes.frames.empty()) fdtd::check_folder(wishes.frames, "--frames", scene);
    if (!wishes.vtk.empty()) fdtd::check_folder(wishes.vtk, "--vtk", scene);
    return type == "float" ? compute<float>(options, scene, wishes) : compute<double>(options, scene, wishes);
} catch (...) {
    return gpulab::fail("fdtd");
}
