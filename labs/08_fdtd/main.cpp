/// @file
/// Lab 08, FDTD: computes a scene with every variant on every device, and writes pictures, fields and probes.
#include <algorithm>
#include <fmt/format.h>

#include "gpulab/file.hpp"
#include "gpulab/gpus_first.hpp"
#include "gpulab/jobs.hpp"
#include "result_files.hpp"
#include "scene/files.hpp"
#include "simulation.hpp"
#include "studies.hpp"

namespace {

/// Every chosen variant with numbers of type T.
template <class T>
int compute(const gpulab::Options& options, const fdtd::Scene& scene, const fdtd::ResultFiles& files) {
    // Opened now, so that an unwritable file is refused before anything is measured.
    gpulab::OutputFile field = gpulab::output_file(files.field), probes = gpulab::output_file(files.probes);
    const double cell_steps = scene.cells() * static_cast<double>(scene.steps);
    const auto jobs = gpulab::gpus_first(fdtd::jobs<T>(options, cell_steps), options); // which variant runs where
    const fdtd::MemoryNeed need = fdtd::memory_need(scene, sizeof(T), files.bytes(scene, sizeof(T)));
    gpulab::check_memory(options, need.device, need.host, files.scene);
    gpulab::Report report(options, {{"scene", files.scene},
                                    {"nx", scene.nx},
                                    {"ny", scene.ny},
                                    {"steps", scene.steps},
                                    {"type", sizeof(T) == 8 ? "double" : "float"}});
    report.column("mcells_per_s", "MCells/s", "{:.1f}");
    const fdtd::Problem<T> problem = fdtd::make_problem<T>(scene);
    if (const std::string note = fdtd::note_of_comparison(cell_steps); !note.empty()) report.say(note);
    fdtd::Judge<T> judge(scene, problem);
    const gpulab::Sequential sequential = fdtd::sequential<T>(scene);
    report.sequential(sequential);

    fdtd::Output<T> out = fdtd::make_output(problem);
    fdtd::Shown<T> shown;
    for (const auto& job : jobs) { // each poisons `out`, runs its variant and judges what that leaves there
        report.doing(job.variant.name);
        gpulab::Result r = gpulab::run(job, problem, out, options, [&] { return judge(job, out); });
        if (r.status == gpulab::Result::Status::passed && r.kernel.median > 0) // the CUDA emulator has no times
            r.extra = {{"mcells_per_s", fdtd::mcells_per_s(cell_steps, r.kernel.median)}};
        shown.see(job, r);
        report.add(std::move(r), fdtd::work_of(problem));
    }
    const int code = report.finish();
    if (!files.any()) return code;
    const auto takes_long = [&](const auto& job) {
        return !job.skip.empty() && job.skip == fdtd::too_slow(options, job.variant.name, job.device(), cell_steps);
    };
    if (!shown.job && std::ranges::any_of(jobs, takes_long)) {
        fmt::print("\nNo variant was measured, because that takes long; cpu_scene_threads computes the files, "
                   "unchecked:\n");
        fdtd::write_results<T>(scene, files, gpulab::run_of(fdtd::variants<T>(), "cpu_scene_threads"), true,
                               sequential.ms / gpulab::hardware_threads(), field, probes);
        return code;
    }
    if (!shown.job) throw gpulab::Error("no variant gave a result, so there is nothing to write");
    gpulab::use(shown.job->devices);
    fmt::print("\nResults of {}{}:\n", shown.job->variant.name, shown.right ? "" : ", which are WRONG");
    fdtd::write_results<T>(scene, files, shown.job->variant.run, shown.right, shown.ms, field, probes);
    return code;
}

} // namespace

int main(int argc, char** argv) try {
    fdtd::ResultFiles files;
    std::string type = "double";
    fdtd::Overrides overrides;
    gpulab::Options options("fdtd", "Maxwell's equations in two dimensions, step by step in time");
    options.text("--scene", files.scene,
                 "scene file (JSON), or book, scatterer, waveguide, double-slit, heterogeneous, lens");
    options.size("--nx", overrides.nx, 3, "cells along x instead of the scene's; in a study: the largest grid",
                 fdtd::max_cells);
    options.size("--ny", overrides.ny, 3, "cells along y instead of the scene's", fdtd::max_cells);
    options.size("--steps", overrides.steps, 1, "time steps instead of the scene's", fdtd::max_steps);
    options.choice("--type", type, {"float", "double"}, "type of the numbers");
    options.text("--frames", files.frames, "folder for pictures of the field and an animated one (PNG)");
    options.text("--vtk", files.vtk, "folder for the field as VTK image data, for ParaView");
    options.output("--field", files.field, "file for the field after the last step (CSV)");
    options.output("--probes", files.probes, "file for the scene's probes in every step (CSV)");
    options.small("--nx", overrides.nx, 64);
    options.small("--ny", overrides.ny, 64);
    options.small("--steps", overrides.steps, 16);
    options.variants(fdtd::variants<double>());
    options.studies(fdtd::study_list());
    if (!options.parse(argc, argv)) return gpulab::exit_success; // --help and --list are answered

    if (!options.study().empty()) {
        if (!files.frames.empty()) fdtd::check_folder(files.frames, "--frames", {});
        const fdtd::StudySettings settings = fdtd::study_settings(options.study(), overrides, files.frames);
        return type == "float" ? fdtd::run_study<float>(options, settings) : fdtd::run_study<double>(options, settings);
    }
    const fdtd::Scene scene = fdtd::read_scene(files.scene, overrides);
    fdtd::check_files(options, scene, files);
    return type == "float" ? compute<float>(options, scene, files) : compute<double>(options, scene, files);
} catch (...) {
    return gpulab::fail("fdtd");
}
