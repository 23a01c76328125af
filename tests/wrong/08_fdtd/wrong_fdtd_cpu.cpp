#include <algorithm>
#include <array>

#include "bodies.hpp"
#include "gpulab/poison.hpp"

namespace fdtd::wrong {

Problem<double> given(const Problem<double>& p, Given mistake) {
    Problem<double> q = p;
    const auto each_coefficient = [&](const auto& change) {
        change(q.rules.u), change(q.rules.e);
        for (Coefficients<double>& k : q.table) change(k);
    };
    const auto shift = [&](bool later) {
        for (std::size_t s = 0; s < static_cast<std::size_t>(q.rules.sources); ++s)
            for (std::size_t k = 0; k < q.steps(); ++k) {
                const std::size_t from = later ? (k == 0 ? 0 : k - 1) : std::min(k + 1, q.steps() - 1);
                q.values[s * q.steps() + k] = p.values[s * q.steps() + from];
            }
    };
    switch (mistake) {
    case Given::right: break;
    case Given::three_sides: q.rules.inner.y1 = q.rules.ny; break;
    case Given::no_loss: each_coefficient([](Coefficients<double>& k) { k.keep = 1; }); break;
    case Given::hard_for_soft:
        for (Patch& patch : q.rules.patch) patch.hard = 1;
        break;
    case Given::sides_swapped: each_coefficient([](Coefficients<double>& k) { std::swap(k.x, k.y); }); break;
    case Given::walls_change: q.rules.change = {0, 0, q.rules.nx, q.rules.ny}; break;
    case Given::source_late: shift(true); break;
    case Given::source_early: shift(false); break;
    case Given::sources_swapped:
        if (q.rules.sources < 2) break;
        std::swap(q.rules.patch[0], q.rules.patch[1]);
        for (std::size_t k = 0; k < q.steps(); ++k) std::swap(q.values[k], q.values[q.steps() + k]);
        break;
    }
    return q;
}

namespace {

/// How often the steps are computed, and what happens before.
enum class Runs { all, first_only, no_reset };

template <Mistake m, bool edges_first = false, Runs runs = Runs::all>
void run(const Problem<double>& p, Output<double>& out, Stopwatch& watch) {
    View<double> g{p.rules,         p.map.data(),        p.table.data(), p.layers.data(),
                   p.values.data(), out.recorded.data(), p.array_size()};
    out.field = p.start;
    const FieldPointers<double> f{out.field.u.data(), out.field.p.data(), out.field.q.data(), out.field.v.data()};
    bool done = false;
    const auto body = [&] {
        if (runs == Runs::first_only && done) return;
        done = true;
        for (int step = 0; step < p.rules.steps; ++step)
            for (const bool edges : {edges_first, !edges_first})
                for (int j = 0; j < p.rules.ny; ++j)
                    for (int i = 0; i < p.rules.nx; ++i)
                        edges ? body_edges<m>(g, f, i, j, step) : body_u<m>(g, f, i, j, step);
    };
    if (runs == Runs::no_reset) return watch.time(body);
    watch.time(body, [&] {
        std::ranges::copy(p.start.u, f.u), std::ranges::copy(p.start.p, f.p), std::ranges::copy(p.start.q, f.q);
        std::ranges::copy(p.start.v, f.v);
        gpulab::poison(out.recorded);
    });
}

template <Given mistake> void run_given(const Problem<double>& p, Output<double>& out, Stopwatch& watch) {
    run<Mistake::none>(given(p, mistake), out, watch);
}

} // namespace

void cpu_right(const Problem<double>& p, Output<double>& out, Stopwatch& watch) { run<Mistake::none>(p, out, watch); }

std::span<const WrongVariant> cpu_variants() {
    static const std::array table = {
        WrongVariant{"printed_dx", "the book's DxHz for DyHz", run<Mistake::printed_dx>},
        WrongVariant{"edges_first", "P and Q are computed before U", run<Mistake::none, true>},
        WrongVariant{"border_row_skipped", "U of the last row is not computed", run<Mistake::border_row_skipped>},
        WrongVariant{"border_edge_moves", "P along the lower border is computed", run<Mistake::border_edge_moves>},
        WrongVariant{"neighbour_medium", "the coefficients of the cell to the right", run<Mistake::neighbour_medium>},
        WrongVariant{"split_forgotten", "the second part of U is not stored", run<Mistake::split_forgotten>},
        WrongVariant{"record_too_early", "a probe sees the step before", run<Mistake::record_too_early>},
        WrongVariant{"float_numbers", "double goes through float", run<Mistake::float_numbers>},
        WrongVariant{"source_twice", "a soft source adds twice", run<Mistake::source_twice>},
        WrongVariant{"first_run_only", "works once", run<Mistake::none, false, Runs::first_only>},
        WrongVariant{"no_reset", "a further run goes on from the result", run<Mistake::none, false, Runs::no_reset>},
        WrongVariant{"three_sides", "no layer at the top", run_given<Given::three_sides>},
        WrongVariant{"no_loss", "a and c are 1", run_given<Given::no_loss>},
        WrongVariant{"hard_for_soft", "every source sets the field", run_given<Given::hard_for_soft>},
        WrongVariant{"sides_swapped", "dx for dy", run_given<Given::sides_swapped>},
        WrongVariant{"walls_change", "U at a wall is computed", run_given<Given::walls_change>},
        WrongVariant{"source_late", "the source's value of the step before", run_given<Given::source_late>},
        WrongVariant{"source_early", "the source's value of the step after", run_given<Given::source_early>},
        WrongVariant{"sources_swapped", "sources act in another order", run_given<Given::sources_swapped>},
    };
    return table;
}

} // namespace fdtd::wrong
