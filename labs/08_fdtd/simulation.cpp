#include "simulation.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <span>

#include "gpulab/too_slow.hpp"

namespace fdtd {

template <class T>
std::vector<double> simulate(const Scene& scene, Run<T>* run, Keep keep,
                             const std::function<void(const Snapshot&)>& take,
                             const std::function<void(std::size_t)>& progress) {
    // TM: P and Q are -Hx and -Hy. Subtracting from 0 never gives -0.
    const auto component = [&](T edge) { return static_cast<float>(scene.mode == Mode::te ? edge : 0 - edge); };
    std::vector<double> recorded;
    Fields<T> field;
    for (std::size_t done = 0; done < scene.steps;) {
        const std::size_t count = std::min(scene.frame_every, scene.steps - done);
        Problem<T> p = make_problem<T>(scene, done, count);
        if (done > 0) p.start = std::move(field);
        Output<T> out = make_output(p);
        Stopwatch once;
        run(p, out, once);
        done += count;
        if (keep != Keep::last_field || done == scene.steps) {
            const std::size_t cells = scene.nx * scene.ny, with_edges = keep == Keep::pictures ? 0 : cells;
            Snapshot snapshot{done, std::vector<float>(cells), std::vector<float>(with_edges),
                              std::vector<float>(with_edges)};
            for (std::size_t cell = 0; cell < cells; ++cell) {
                const std::size_t at = cell / scene.nx * p.pitch() + cell % scene.nx;
                snapshot.values[cell] = static_cast<float>(out.field.u[at]);
                if (keep == Keep::pictures) continue;
                snapshot.x[cell] = component(out.field.p[at]);
                snapshot.y[cell] = component(out.field.q[at]);
            }
            take(snapshot);
        }
        recorded.insert(recorded.end(), out.recorded.begin(), out.recorded.end());
        field = std::move(out.field);
        // Padding is not part of a field, and may hold anything.
        for (std::size_t at = 0; at < p.array_size(); ++at) {
            const std::size_t i = at % p.pitch(), j = at / p.pitch();
            if (i >= p.nx() || j >= p.ny()) field.u[at] = 0;
            if (i >= p.nx()) field.p[at] = 0;
            if (i > p.nx() || j >= p.ny()) field.q[at] = 0;
        }
        if (progress) progress(done);
    }
    return recorded;
}

namespace {
/// The scale of a component, whose numbers are at most `size`, with what several sources add in one cell: see
/// reference().
template <class T> double scale_with_sources(const Problem<T>& p, int component, double size, double gain) {
    const auto largest = [](std::span<const T> numbers) {
        double most = 0;
        for (const T x : numbers) most = std::max(most, std::abs(static_cast<double>(x)));
        return most;
    };
    std::vector<double> added; // at most, by each source
    for (const Patch& s : p.patches) {
        const auto cells =
            static_cast<std::size_t>(s.box.x1 - s.box.x0) * static_cast<std::size_t>(s.box.y1 - s.box.y0);
        added.push_back((s.hard ? 1 : gain) * largest({&p.values[added.size() * p.steps()], p.steps()}));
        if (s.strengths >= 0) added.back() *= largest({&p.strengths[static_cast<std::size_t>(s.strengths)], cells});
    }
    double scale = size;
    for (const Patch& s : p.patches) {
        if (s.component != component || s.hard) continue;
        double sum = size;
        int sources = 0;
        for (std::size_t i = 0; i < p.patches.size(); ++i) {
            const Patch& other = p.patches[i];
            if (other.component != component || std::max(s.box.x0, other.box.x0) >= std::min(s.box.x1, other.box.x1) ||
                std::max(s.box.y0, other.box.y0) >= std::min(s.box.y1, other.box.y1))
                continue;
            sum += added[i];
            ++sources;
        }
        if (sources > 1) scale = std::max(scale, (1 + sources / 8.0) * sum);
    }
    return scale;
}
} // namespace

template <class T> Reference<T> as_reference(const Problem<T>& p, Output<T> out) {
    Reference<T> r{std::move(out), 0, 0};
    double u = 0, edges = 0;
    for (const Fields<T>* f : {&p.start, static_cast<const Fields<T>*>(&r.out.field)})
        for (std::size_t j = 0; j < p.ny(); ++j)
            for (std::size_t i = 0; i < p.nx(); ++i) {
                const std::size_t at = j * p.pitch() + i;
                u = std::max(u, std::abs(static_cast<double>(f->u[at])));
                edges =
                    std::max({edges, std::abs(static_cast<double>(f->p[at])), std::abs(static_cast<double>(f->q[at]))});
            }
    // Coefficients of the first medium. A scale that is too small makes the comparison stricter.
    const Coefficients<T> ku = p.table.empty() ? p.rules.u : p.table[0];
    const Coefficients<T> ke = p.table.empty() ? p.rules.e : p.table[static_cast<std::size_t>(p.rules.materials_u)];
    const auto from_edges = static_cast<double>(ku.x + ku.y), from_u = static_cast<double>(ke.x + ke.y);
    const auto gain = static_cast<double>(ke.add);
    u = scale_with_sources(p, 0, u, static_cast<double>(ku.add));
    edges = std::max(scale_with_sources(p, 1, edges, gain), scale_with_sources(p, 2, edges, gain));
    r.u_scale = u + 2 * from_edges * edges;
    r.edge_scale = edges + 2 * from_u * u;
    return r;
}

std::string_view compared_with(std::string_view variant, const gpulab::Device& device, double cell_steps,
                               const JudgesLimits& limits) {
    if (cell_steps <= limits.reference) return "";
    // A variant, and for this variant another one. Those of a back end have different kernels.
    const auto unless_itself = [&](std::string_view one, std::string_view other) {
        return variant == one ? other : one;
    };
    const bool on_cpu = device.backend == gpulab::Backend::cpu || device.is_cpu;
    if (on_cpu || cell_steps <= limits.cpu) return unless_itself("cpu_scene_threads", "cpu_scene");
    if (device.backend == gpulab::Backend::opencl) return unless_itself("opencl_scene", "opencl_steps");
    return unless_itself("cuda_scene", "cuda_steps");
}

std::string note_of_comparison(double cell_steps) {
    const JudgesLimits limits;
    if (cell_steps <= limits.reference) return "";
    return fmt::format("Above {:.2g} cell updates variants are compared with cpu_scene_threads, and this one with "
                       "cpu_scene, instead of the reference in extended precision; above {:.2g}, on a GPU, with "
                       "another rung of their back end.",
                       limits.reference, limits.cpu);
}

template <class T> gpulab::Comparison Judge<T>::operator()(const gpulab::Job<Run<T>>& job, const Output<T>& out) {
    const std::string_view other = compared_with(job.variant.name, job.device(), problem_.cell_steps(), limits_);
    const std::string from = other.empty()               ? "reference"
                             : other.starts_with("cpu_") ? std::string(other)
                                                         : fmt::format("{} {}", job.device().id(), other);
    if (from != from_) {
        reference_ = {}; // frees its memory first
        from_.clear();
        if (other.empty()) {
            reference_ = reference(scene_, problem_);
        } else {
            Output<T> others = make_output(problem_);
            Stopwatch once;
            gpulab::run_of(variants<T>(), other)(problem_, others, once);
            reference_ = as_reference(problem_, std::move(others));
        }
        from_ = from;
        if (!std::ranges::all_of(flat(problem_, reference_.out), [](T x) { return std::isfinite(x); }))
            throw gpulab::Error(fmt::format("the field ({}) has numbers beyond {:.2g}, the most that type {} holds",
                                            from, std::numeric_limits<T>::max(), sizeof(T) == 8 ? "double" : "float"));
    }
    return compare(problem_, reference_, out);
}

std::string too_slow(const gpulab::Options& options, std::string_view variant, const gpulab::Device& device,
                     double cell_steps) {
    if (cell_steps <= patience) return "";
    return gpulab::too_slow_on_cpu(options, variant, device, fmt::format("{:.2g} cell updates", cell_steps));
}

template <class T>
std::vector<gpulab::Job<Run<T>>> jobs(const gpulab::Options& options, double cell_steps,
                                      const std::vector<std::string_view>& names) {
    auto all = gpulab::jobs(variants<T>(), options);
    if (!names.empty())
        std::erase_if(all, [&](const auto& job) { return std::ranges::find(names, job.variant.name) == names.end(); });
    for (auto& job : all)
        if (job.skip.empty()) job.skip = too_slow(options, job.variant.name, job.device(), cell_steps);
    return all;
}

namespace {
/// The problem with as many steps as are worth timing on one core.
template <class T> Problem<T> short_run(const Scene& scene) {
    const auto steps = static_cast<std::size_t>(std::max(2e8 / scene.cells(), 2.0));
    return make_problem<T>(scene, 0, std::min(steps, scene.steps));
}

/// The time of all steps of the scene. @param p short_run() of it
template <class T> double ms_of_all(const Scene& scene, const Problem<T>& p, Run<T>* run) {
    Output<T> out = make_output(p);
    Stopwatch watch(0, 3, 2);
    run(p, out, watch);
    return watch.kernel().median * static_cast<double>(scene.steps) / static_cast<double>(p.steps());
}
} // namespace

template <class T> double sequential_ms(const Scene& scene, Run<T>* run) {
    return ms_of_all(scene, short_run<T>(scene), run);
}

template <class T> gpulab::Sequential sequential(const Scene& scene) {
    const Problem<T> p = short_run<T>(scene);
    const char* const name = is_books(p) ? "cpu_sequential" : "cpu_scene";
    return {name, ms_of_all(scene, p, gpulab::run_of(variants<T>(), name))};
}

MemoryNeed memory_need(const Scene& scene, std::size_t number_bytes, double files) {
    const double field = bytes_of_field(scene, number_bytes), media = bytes_of_media(scene, number_bytes);
    // The values of all sources over time, and one record of all probes.
    const double series = static_cast<double>(scene.sources.size() + scene.probes.size()) *
                          static_cast<double>(scene.steps) * static_cast<double>(number_bytes);
    return {.device = 3.5 * field + media + series, .host = 5 * field + 2 * media + 3 * series + files};
}

double bytes_of_field(const Scene& scene, std::size_t number_bytes) {
    return 4 * (static_cast<double>(scene.nx) + 17) * (static_cast<double>(scene.ny) + 1) *
           static_cast<double>(number_bytes);
}

double bytes_of_media(const Scene& scene, std::size_t number_bytes) {
    if (scene.graded()) return 3 * bytes_of_field(scene, number_bytes); // four numbers for U, P and Q each
    return scene.map.empty() ? 0 : 0.75 * bytes_of_field(scene, 1);     // an index for each of the three
}

double bytes_of_probes_file(const Scene& scene) {
    // A line holds the step (9 digits at most), the time (15) and 25 characters per probe. What grows while it is
    // written takes up to twice as much.
    const double probes = static_cast<double>(scene.probes.size());
    return 2 * static_cast<double>(scene.steps) * (25 + probes * (25 + sizeof(double)));
}

std::size_t snapshots_of(const Scene& scene, Keep keep) {
    if (keep == Keep::last_field) return 1;
    return scene.steps / scene.frame_every + (scene.steps % scene.frame_every != 0);
}

double bytes_of_snapshot(const Scene& scene, Keep keep) {
    return scene.cells() * (keep == Keep::pictures ? 1 : 3) * sizeof(float);
}

double bytes_of_picture(const Scene& scene) {
    const auto pixels = static_cast<double>(pixels_of_cell(scene.nx, scene.ny)); // of three bytes
    return 4 * 3 * pixels * pixels * scene.cells();
}

#define FDTD_FOR(T)                                                                                                 \
    template std::vector<double> simulate(const Scene&, Run<T>*, Keep, const std::function<void(const Snapshot&)>&, \
                                          const std::function<void(std::size_t)>&);                                 \
    template class Judge<T>;                                                                                        \
    template Reference<T> as_reference(const Problem<T>&, Output<T>);                                               \
    template std::vector<gpulab::Job<Run<T>>> jobs(const gpulab::Options&, double,                                  \
                                                   const std::vector<std::string_view>&);                           \
    template double sequential_ms<T>(const Scene&, Run<T>*);                                                        \
    template gpulab::Sequential sequential<T>(const Scene&);
FDTD_FOR(float)
FDTD_FOR(double)
#undef FDTD_FOR

} // namespace fdtd
