#include "simulation.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

#include "gpulab/jobs.hpp"
#include "gpulab/too_slow.hpp"

namespace fdtd {

template <class T>
Recording simulate(const Scene& scene, Run<T>* run, const std::function<void(std::size_t)>& progress) {
    Recording all;
    Fields<T> field;
    for (std::size_t done = 0; done < scene.steps;) {
        const std::size_t count = std::min(scene.frame_every, scene.steps - done);
        Problem<T> p = make_problem<T>(scene, done, count);
        if (done > 0) p.start = std::move(field);
        Output<T> out = make_output(p);
        Stopwatch once;
        run(p, out, once);
        done += count;
        Snapshot snapshot{done, {}};
        for (std::size_t j = 0; j < scene.ny; ++j)
            for (std::size_t i = 0; i < scene.nx; ++i)
                snapshot.values.push_back(static_cast<float>(out.field.u[j * p.pitch() + i]));
        all.snapshots.push_back(std::move(snapshot));
        all.recorded.insert(all.recorded.end(), out.recorded.begin(), out.recorded.end());
        field = std::move(out.field);
        // Padding is not part of a field, and may hold anything.
        for (std::size_t j = 0; j <= p.ny(); ++j)
            for (std::size_t i = 0; i < p.pitch(); ++i) {
                const std::size_t at = j * p.pitch() + i;
                if (i >= p.nx() || j >= p.ny()) field.u[at] = 0;
                if (i >= p.nx()) field.p[at] = 0;
                if (i > p.nx() || j >= p.ny()) field.q[at] = 0;
            }
        if (progress) progress(done);
    }
    return all;
}

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
    r.u_scale = u + 2 * from_edges * edges, r.edge_scale = edges + 2 * from_u * u;
    return r;
}

template <class T> Reference<T> judge_for(const Scene& scene, const Problem<T>& p) {
    if (p.cell_steps() <= (1 << 24)) return reference(scene, p);
    Output<T> out = make_output(p);
    Stopwatch once;
    gpulab::run_of(variants<T>(), "cpu_threads")(p, out, once);
    return as_reference(p, std::move(out));
}

std::string too_slow(const gpulab::Options& options, std::string_view variant, const gpulab::Device& device,
                     double cell_steps) {
    if (cell_steps <= patience) return "";
    return gpulab::too_slow_on_cpu(options, variant, device, fmt::format("{:.2g} cell updates", cell_steps));
}

template <class T> double sequential_ms(const Scene& scene) {
    const double cells = static_cast<double>(scene.nx) * static_cast<double>(scene.ny);
    const auto steps = static_cast<std::size_t>(std::clamp(2e8 / cells, 2.0, static_cast<double>(scene.steps)));
    const Problem<T> p = make_problem<T>(scene, 0, std::min(steps, scene.steps));
    Output<T> out = make_output(p);
    const double ms =
        gpulab::sequential_ms(gpulab::run_of(variants<T>(), "cpu_sequential"), p, out, Stopwatch(0, 3, 2));
    return ms * static_cast<double>(scene.steps) / static_cast<double>(p.steps());
}

double bytes_of_field(const Scene& scene, std::size_t number_bytes) {
    return 4 * (static_cast<double>(scene.nx) + 17) * (static_cast<double>(scene.ny) + 1) *
           static_cast<double>(number_bytes);
}

#define FDTD_FOR(T)                                                                              \
    template Recording simulate(const Scene&, Run<T>*, const std::function<void(std::size_t)>&); \
    template Reference<T> judge_for(const Scene&, const Problem<T>&);                            \
    template Reference<T> as_reference(const Problem<T>&, Output<T>);                            \
    template double sequential_ms<T>(const Scene&);
FDTD_FOR(float)
FDTD_FOR(double)
#undef FDTD_FOR

} // namespace fdtd
