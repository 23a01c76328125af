#include "studies.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <numeric>
#include <optional>

#include "gpulab/growth.hpp"
#include "levels/levels.hpp"
#include "scene/files.hpp"
#include "simulation.hpp"

namespace fdtd {

using gpulab::Backend;
using gpulab::Options;
using gpulab::Report;
using gpulab::Result;

namespace {

/// Vacuum with the book's hard source in the middle, on n x n cells, of which layers are a part.
Scene square(std::size_t n, std::size_t steps, bool layers) {
    Scene scene;
    scene.nx = scene.ny = n;
    scene.steps = steps;
    Source source;
    source.x0 = source.y0 = n / 2;
    source.x1 = source.y1 = n / 2 + 1;
    source.waveform.kind = Waveform::Kind::book;
    scene.sources = {source};
    if (layers)
        for (Side* side : {&scene.left, &scene.right, &scene.bottom, &scene.top}) side->kind = Side::Kind::pml;
    check_scene(scene);
    return scene;
}

double cells_of(std::size_t n) { return static_cast<double>(n) * static_cast<double>(n); }

/// The layers of the book's measurements (section 4.4.1), in cells. They are outside its n x n cells.
constexpr std::size_t layer_cells = 25;

/// The problem of the book's section 4.4: n x n cells in a conductor, or with layers around them.
Scene books(std::size_t n, std::size_t steps, bool layers) {
    return square(layers ? n + 2 * layer_cells : n, steps, layers);
}

/// The steps of the book's measurements.
constexpr std::size_t books_steps = 1000;
/// Grids from this size on have much the same speed, says the book; its table 4.2 has their mean.
constexpr std::size_t steady_size = 1500;

/// The sides of the book's tables, as far as they are wanted.
std::vector<std::size_t> sides(const StudySettings& settings) {
    std::vector<std::size_t> all;
    for (const std::size_t n : {300, 1500, 2100, 2700, 3300, 3900, 4500, 5100, 5700, 6300, 6900})
        if (n <= settings.largest) all.push_back(n);
    if (all.empty()) all.push_back(std::max<std::size_t>(settings.largest, 64));
    return all;
}

/// A scene, ready to be computed, and the judge of the variants that compute it.
template <class T> struct Case {
    Case(const Options& its_options, Report& its_report, const Scene& its_scene)
        : options(its_options), report(its_report), scene(its_scene), p(make_problem<T>(scene)), judge(scene, p),
          out(make_output(p)) {}

    /// Adds a row for each job. @param note `note(job, result)` gives a result its figures
    template <class Note> void measure(const std::vector<gpulab::Job<Run<T>>>& jobs, const Note& note) {
        for (const auto& job : jobs) {
            report.doing(job.variant.name);
            Result r = gpulab::run(job, p, out, options, [&] { return judge(job, out); });
            note(job, r);
            report.add(std::move(r), work_of(p));
        }
    }

    const Options& options;
    Report& report;
    const Scene scene;
    Problem<T> p;
    Judge<T> judge; // refers to scene and problem
    Output<T> out;
};

/// @param all what a study shows before the problem's own @param more and behind them
template <class T>
gpulab::Parameters parameters(const Problem<T>& p, gpulab::Parameters all = {}, const gpulab::Parameters& more = {}) {
    all.insert(all.end(), {{"nx", p.nx()},
                           {"ny", p.ny()},
                           {"steps", p.steps()},
                           {"boundary", p.rules.layers ? "pml" : "conductor"},
                           {"type", sizeof(T) == 8 ? "double" : "float"}});
    all.insert(all.end(), more.begin(), more.end());
    return all;
}

/// Figures of one row, as the book counts them: the speed is that of its n x n cells (equation 4.4.12), and the time is
/// that of 1000 steps, in proportion to the time of those that were run.
gpulab::Parameters books_figures(const Result& result, std::size_t n, std::size_t steps) {
    if (result.kernel.repeats == 0) return {};
    const double ms = result.kernel.median;
    const auto count = static_cast<double>(steps);
    return {{"mcells_per_s", mcells_per_s(cells_of(n) * count, ms)},
            {"seconds_1000", ms / 1000 * static_cast<double>(books_steps) / count}};
}

/// The grid that is also computed with all of the book's steps, where the others have fewer.
std::size_t in_full(const std::vector<std::size_t>& all) {
    const auto larger = std::ranges::upper_bound(all, steady_size); // they ascend
    return larger == all.begin() ? all.front() : *(larger - 1);
}

std::string note_of_proportion(std::size_t n) {
    return fmt::format("s per 1000: the time of 1000 steps, in proportion to that of the steps that were run. The "
                       "last rows, {0} x {0} cells with all 1000 steps, show how exact that is.",
                       n);
}

template <class T> void table_4_1(const Options& options, Report& report, const StudySettings& settings) {
    if (options.devices(Backend::cuda).empty()) throw gpulab::UsageError("--study table-4-1 needs a CUDA device");
    report.column("block_x", "block x");
    const auto rows = [&](std::size_t n, std::size_t steps, bool layers) {
        Case<T> c(options, report, books(n, steps, layers));
        const auto chosen =
            jobs<T>(options, c.p.cell_steps(), {layers ? "cuda_scene" : "cuda_block_shape", "cuda_scene_shared"});
        for (const unsigned block_x : {128u, 256u, 512u, 1024u}) {
            c.p.block_x = block_x;
            report.begin(parameters(c.p, {{"n", n}}, {{"block_x", block_x}}));
            c.measure(chosen, [&](const auto&, Result& result) { result.extra = books_figures(result, n, steps); });
        }
    };
    const std::vector<std::size_t> all = sides(settings);
    const bool fewer = settings.steps < books_steps;
    if (fewer) report.say(note_of_proportion(in_full(all)));
    for (const bool layers : {false, true})
        for (const std::size_t n : all) rows(n, settings.steps, layers);
    for (const bool layers : {false, true})
        if (fewer) rows(in_full(all), books_steps, layers);
}

/// Section 4.4.2 of the book tries shapes of blocks. Here those of 512 threads, from one column to one row, and the 32
/// x 32 of its program 4.3.
template <class T> void block_shapes(const Options& options, Report& report, const StudySettings& settings) {
    (void)gpulab::study_devices(options, {Backend::opencl, Backend::cuda}); // throws where there is none
    report.column("block_x", "block x");
    report.column("block_y", "block y");
    const std::vector<gpulab::Variant<Run<T>>> table = {{.name = "opencl_block_shape",
                                                         .summary = "opencl_plain with any group",
                                                         .backend = Backend::opencl,
                                                         .run = GPULAB_IF_OPENCL(opencl_block_shape<T>),
                                                         .needs = {.fp64 = sizeof(T) == 8}},
                                                        {.name = "cuda_block_shape",
                                                         .summary = "cuda_coalesced with any block",
                                                         .backend = Backend::cuda,
                                                         .run = gpulab::run_of(variants<T>(), "cuda_block_shape")}};
    const auto chosen = gpulab::jobs(table, options);
    const std::size_t n = std::min(settings.largest, steady_size);
    Case<T> c(options, report, square(n, settings.steps, false));
    for (const auto& [x, y] : {std::pair{1u, 512u},
                               {2u, 256u},
                               {4u, 128u},
                               {8u, 64u},
                               {16u, 32u},
                               {32u, 16u},
                               {64u, 8u},
                               {128u, 4u},
                               {256u, 2u},
                               {512u, 1u},
                               {32u, 32u}}) {
        c.p.block_x = x;
        c.p.block_y = y;
        report.begin(parameters(c.p, {}, {{"block_x", x}, {"block_y", y}}));
        Figures figures;
        c.measure(chosen, [&](const auto&, Result& result) { result.extra = figures.of(result, c.p.cell_steps()); });
    }
}

/// Speed and speed-up at all sizes, for tables 4.2 and figure 4.6 of the book. Both show the same runs: the figure by
/// size, the table their mean and range.
template <class T> void table_4_2(const Options& options, Report& report, const StudySettings& settings, bool figure) {
    const bool cuda = !options.devices(Backend::cuda).empty();
    const std::vector<std::size_t> all = sides(settings);
    const std::size_t from = std::min(steady_size, all.back());
    std::vector<std::string> summaries; // after all rows: they would stand among those of the next boundary
    for (const bool layers : {false, true}) {
        const std::string_view parallel = cuda ? "cuda_scene_shared" : layers ? "cpu_scene_threads" : "cpu_threads";
        std::vector<double> sequential, fast, gain; // of each size
        for (const std::size_t n : all) {
            Case<T> c(options, report, books(n, settings.steps, layers));
            c.p.block_x = 512;
            const auto& level = levels<T>().back(); // O3
            const double sequential_time = sequential_ms<T>(c.scene, level.run);
            report.begin(parameters(c.p, {{"n", n}}));
            report.sequential({std::string(level.name), sequential_time});
            const auto chosen = jobs<T>(options, c.p.cell_steps(), {parallel, "cuda_steps"});
            c.measure(chosen, [&](const auto& job, Result& result) {
                if (result.kernel.repeats == 0) return;
                const double cell_steps = cells_of(n) * static_cast<double>(settings.steps);
                const double speed = mcells_per_s(cell_steps, result.kernel.median);
                const double base = mcells_per_s(cell_steps, sequential_time);
                result.extra = {{"mcells_per_s", speed}, {"sequential_mcells_per_s", base}};
                if (job.variant.name == parallel && n >= from) {
                    sequential.push_back(base);
                    fast.push_back(speed);
                    gain.push_back(speed / base);
                }
            });
        }
        if (figure || fast.empty()) continue;
        const auto text = [](const std::vector<double>& all_of_it) {
            const auto [least, most] = std::ranges::minmax(all_of_it);
            const double sum = std::accumulate(all_of_it.begin(), all_of_it.end(), 0.0);
            return fmt::format("{:.2f} ({:.2f})", sum / static_cast<double>(all_of_it.size()), most - least);
        };
        summaries.push_back(fmt::format(
            "{}, mean and range over the sizes from {} on: sequential {} MCells/s, {} {} MCells/s, speed-up {}",
            layers ? "PML" : "Conductor", from, text(sequential), parallel, text(fast), text(gain)));
    }
    for (const std::string& summary : summaries) report.say(summary);
}

/// One core: the sequential program at the compiler's levels O0 to O3, with a conductor and with layers.
template <class T> void figure_4_5(const Options& options, Report& report, const StudySettings& settings) {
    const std::vector<gpulab::Device> cpu = options.devices(Backend::cpu);
    if (cpu.empty()) throw gpulab::UsageError("--study figure-4-5 needs the CPU");
    std::map<std::pair<std::size_t, std::string_view>, double> conductor_ms; // of one step
    double sum = 0;
    int count = 0;
    // Both boundaries, at the levels from `first` on.
    const auto rows = [&](std::size_t n, std::size_t steps, std::size_t first) {
        for (const bool layers : {false, true}) {
            Case<T> c(options, report, books(n, steps, layers));
            report.begin(parameters(c.p, {{"n", n}}, {{"compiler", std::string(name_of_compiler())}}));
            std::vector<gpulab::Job<Run<T>>> chosen;
            for (const auto& level : levels<T>().subspan(first)) chosen.push_back({level, {cpu.front()}, ""});
            c.measure(chosen, [&](const auto& job, Result& result) {
                result.extra = books_figures(result, n, steps);
                const double ms = result.kernel.median / static_cast<double>(steps);
                double& conductor = conductor_ms[{n, job.variant.name}];
                if (!layers) conductor = ms;
                const double longer = 100 * (ms / conductor - 1); // percent
                if (layers) result.extra.push_back({"longer_percent", longer});
                if (layers && first == 0 && job.variant.name == levels<T>().back().name) {
                    sum += longer;
                    ++count;
                }
            });
        }
    };
    const std::vector<std::size_t> all = sides(settings);
    const auto few = [&](std::size_t n) { // as many steps as take about half a second at O3
        return std::min(settings.steps, static_cast<std::size_t>(std::max(1e8 / cells_of(n), 2.0)));
    };
    const std::size_t full = in_full(all);
    if (few(all.back()) < books_steps) report.say(note_of_proportion(full));
    for (const std::size_t n : all) rows(n, few(n), 0);
    if (few(full) < books_steps) rows(full, books_steps, levels<T>().size() - 1);
    report.say(fmt::format("Layers take {:.1f} % longer than the conductor at O3, mean over the sizes.", sum / count));
}

/// The book's example, with as many steps as the user wants.
Scene book_of(const StudySettings& settings) { return read_scene("book", {.steps = settings.steps}); }

/// The book's example over time: the largest values, and the pictures.
template <class T> void figure_4_4(const Options& options, Report& report, const StudySettings& settings) {
    Case<T> c(options, report, book_of(settings));
    report.begin(parameters(c.p, {{"scene", "book"}}));
    Figures figures;
    c.measure(jobs<T>(options, c.p.cell_steps(), {"cpu_threads", "opencl_steps", "cuda_steps"}),
              [&](const auto&, Result& result) { result.extra = figures.of(result, c.p.cell_steps()); });
    const std::size_t count = snapshots_of(c.scene, Keep::pictures);
    std::optional<FrameFiles> frames;
    if (!settings.frames.empty()) frames.emplace(settings.frames, c.scene, c.scene.frame_scale, count);
    std::string text = "largest |Hz| after step";
    simulate<T>(c.scene, gpulab::run_of(variants<T>(), "cpu_threads"), Keep::pictures, [&](const Snapshot& s) {
        text += fmt::format(" {}: {:.3f}{}", s.step, largest(s), s.step == c.scene.steps ? "" : ",");
        if (frames) frames->add(s);
    });
    report.say(text);
    if (frames) report.say(fmt::format("{}: {} pictures and animation.png", settings.frames, count));
}

template <class T> void ladder(const Options& options, Report& report, const StudySettings& settings) {
    if (settings.largest < 300) throw gpulab::UsageError("--study ladder: at least --nx 300 is needed");
    report.column("gain", "gain");
    for (const bool layers : {false, true})
        for (const std::size_t n : {300, 1000, 1500, 6900}) {
            if (n > settings.largest) continue;
            Case<T> c(options, report, square(n, settings.steps, layers));
            report.begin(parameters(c.p));
            report.sequential(sequential<T>(c.scene));
            Figures figures(layers ? "cuda_scene" : "cuda_coalesced");
            c.measure(jobs<T>(options, c.p.cell_steps()),
                      [&](const auto&, Result& result) { result.extra = figures.of(result, c.p.cell_steps()); });
        }
}

/// Time per cell and step with a conductor, from 16 x 16 cells on, as far as memory and patience go.
template <class T> void growth(const Options& options, Report& report, const StudySettings& settings) {
    gpulab::Growth growth(options, report, "cell_and_step",
                          {"cpu_sequential", "cpu_threads", "opencl_steps", "opencl_rows", "cuda_fused", "cuda_steps",
                           "cuda_persistent"});
    report.column("nx", "nx");
    report.column("ny", "ny");
    std::string printed; // what variants are compared with
    for (const std::size_t n : growth.sizes("--nx", settings.largest, 16, 2, max_cells)) {
        const Scene scene = square(n, settings.steps, false);
        const MemoryNeed need = memory_need(scene, sizeof(T));
        const double cell_steps = cells_of(n) * static_cast<double>(scene.steps);
        if (!growth.fits(fmt::format("{0} x {0} cells", n), cell_steps, need.device, need.host)) break;
        if (const std::string note = note_of_comparison(cell_steps); note != printed) report.say(printed = note);
        Case<T> c(options, report, scene);
        report.begin(parameters(c.p));
        c.measure(growth.jobs(variants<T>()), [&](const auto&, Result& result) {
            result.extra = {{"mcells_per_s", mcells_per_s(cell_steps, result.kernel.median)}};
            growth.add_to(result);
        });
    }
}

} // namespace

gpulab::Parameters Figures::of(const Result& result, double cell_steps) {
    if (result.kernel.repeats == 0) return {};
    const double ms = result.kernel.median;
    gpulab::Parameters all = {{"mcells_per_s", mcells_per_s(cell_steps, ms)}, {"seconds", ms / 1000}};
    if (result.variant == base_) base_ms_[result.device.id()] = ms;
    if (const auto base = base_ms_.find(result.device.id()); base != base_ms_.end())
        all.push_back({"gain", base->second / ms});
    return all;
}

std::vector<gpulab::StudySummary> study_list() {
    const std::vector<std::string> takes = {"--type", "--nx", "--steps"};
    return {
        {"growth", "time per cell and step with a conductor, from 16 x 16 cells to as many as fit or --nx", takes},
        {"table-4-1", "block shapes 128 to 1024 x 1 on grids from 300 x 300 to 6900 x 6900, conductor and PML", takes},
        {"block-shapes", "blocks of 1 x 512 to 512 x 1, and of 32 x 32, on 1500 x 1500 cells, or --nx if fewer", takes},
        {"table-4-2", "speed and speed-up over one core, mean and range over the sizes", takes},
        {"figure-4-4",
         "the book's pulse at several steps; --frames DIR writes the pictures",
         {"--type", "--steps", "--frames"}},
        {"figure-4-5", "one core: the compiler's levels O0 to O3, conductor and PML", takes},
        {"figure-4-6", "speed and speed-up over one core for each size", takes},
        {"ladder", "all rungs at 300, 1000, 1500 and 6900 cells a side, conductor and PML", takes}};
}

std::size_t default_steps(const std::string& study) {
    return study == "figure-4-4" || study == "block-shapes" || study == "ladder" || study == "growth" ? 200 : 1000;
}

template <class T> int run_study(const Options& options, const StudySettings& settings) {
    const bool book = options.study() == "figure-4-4";
    const Scene largest_scene =
        book ? book_of(settings)
             : square(std::min(settings.largest + 2 * layer_cells, max_cells), settings.steps, true);
    double files = book ? bytes_of_snapshot(largest_scene, Keep::pictures) : 0;
    if (!settings.frames.empty()) files += bytes_of_picture(largest_scene);
    const MemoryNeed need = memory_need(largest_scene, sizeof(T), files);
    const bool grows = options.study() == "growth"; // and ends where memory does
    if (!grows) gpulab::check_memory(options, need.device, need.host);
    Report report(options);
    if (options.study() == "table-4-1" || options.study() == "figure-4-5") {
        report.column("seconds_1000", "s per 1000", "{:.4f}");
        report.column("longer_percent", "longer %", "{:.1f}");
    }
    report.column("mcells_per_s", "MCells/s", "{:.1f}");
    if (const std::string note = note_of_comparison(cells_of(settings.largest) * static_cast<double>(settings.steps));
        !note.empty() && !grows)
        report.say(note);
    if (options.study() == "table-4-1") table_4_1<T>(options, report, settings);
    else if (options.study() == "block-shapes") block_shapes<T>(options, report, settings);
    else if (options.study() == "table-4-2") table_4_2<T>(options, report, settings, false);
    else if (options.study() == "figure-4-5") figure_4_5<T>(options, report, settings);
    else if (options.study() == "figure-4-6") table_4_2<T>(options, report, settings, true);
    else if (options.study() == "figure-4-4") figure_4_4<T>(options, report, settings);
    else if (grows) growth<T>(options, report, settings);
    else ladder<T>(options, report, settings);
    return report.finish();
}

template int run_study<float>(const Options&, const StudySettings&);
template int run_study<double>(const Options&, const StudySettings&);

} // namespace fdtd
