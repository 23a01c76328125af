/// @file
/// cuda_registers and cuda_partition played on the host: the arithmetic of a lane is that of lane.hpp, the lanes of a
/// warp take turns, and a shuffle is a look at another lane's copy. So the checks reach the index arithmetic of both
/// methods where there is no GPU.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <vector>

#include "gpulab/math.hpp"
#include "gpulab/poisoning.hpp"
#include "lane.hpp"
#include "tridiagonal.hpp"

namespace tridiagonal::testing {

/// Equations of a system set; b may be empty: all ones.
template <class T> struct EmulatedEquations { std::vector<T> a, b, c, d; };

/// Fills the runs of consecutive lanes from row `row` of a system on.
template <class T>
std::vector<LaneRun<T>> load_runs(const EmulatedEquations<T>& in, std::size_t system, std::size_t row, std::size_t n,
                                  std::size_t lanes) {
    std::vector<LaneRun<T>> runs(lanes);
    for (std::size_t slot = 0; slot < lanes * run_length; ++slot) {
        const std::size_t i = row + slot, at = system * n + i;
        LaneRun<T>& run = runs[slot / run_length];
        const std::size_t k = slot % run_length;
        const bool inside = i < n;
        run.a[k] = inside && i > 0 ? in.a[at] : T{0};
        run.b[k] = inside && !in.b.empty() ? in.b[at] : T{1};
        run.c[k] = inside && i + 1 < n ? in.c[at] : T{0};
        run.d[k] = inside ? in.d[at] : T{0};
    }
    return runs;
}

/// Eliminates, reduces over the lanes and substitutes; x is in d.
/// @return the lowest row, counted from the first lane, whose pivot is zero, or -1
template <class T> std::int64_t solve_runs(std::vector<LaneRun<T>>& runs) {
    const std::size_t lanes = runs.size();
    std::vector<int> zero(lanes, -1);
    for (std::size_t k = 0; k < lanes; ++k) eliminate(runs[k], zero[k]);
    std::vector<Unit<T>> e(lanes);
    for (std::size_t k = 0; k < lanes; ++k)
        e[k] = join(first_of(runs[k]), last_of(runs[k]), k + 1 < lanes ? first_of(runs[k + 1]) : no_neighbour<T>(),
                    zero[k]);
    for (std::size_t distance = 1; distance < lanes; distance *= 2) {
        const std::vector<Unit<T>> old = e;
        for (std::size_t k = 0; k < lanes; ++k)
            e[k] = reduce(old[k], k >= distance ? old[k - distance] : no_neighbour<T>(),
                          k + distance < lanes ? old[k + distance] : no_neighbour<T>(), zero[k]);
    }
    for (std::size_t k = 0; k < lanes; ++k) substitute(runs[k], k == 0 ? T{0} : e[k - 1].d, e[k].d);
    for (std::size_t k = 0; k < lanes; ++k)
        if (zero[k] >= 0) return static_cast<std::int64_t>(k * run_length) + zero[k];
    return -1;
}

/// cuda_registers.
template <class T> void emulated_registers(const Problem<T>& p, Output<T>& out, Stopwatch& watch) {
    if (p.n > 1024) throw gpulab::Unsupported("as cuda_registers");
    const EmulatedEquations<T> in{p.a, p.b, p.c, p.d};
    const std::size_t count = gpulab::ceil_div(p.n, run_length);
    const std::size_t lanes = count <= 32 ? std::bit_ceil(count) : gpulab::round_up(count, 32);
    watch.tile(run_length, "unknowns");
    watch.tile(256, "unknowns");
    watch.time(
        [&] {
            for (std::size_t s = 0; s < p.systems; ++s) {
                std::vector<LaneRun<T>> runs = load_runs(in, s, 0, p.n, lanes);
                const std::int64_t zero = solve_runs(runs);
                out.zero_pivot[s] =
                    static_cast<std::int32_t>(std::min<std::int64_t>(zero, static_cast<std::int64_t>(p.n) - 1));
                for (std::size_t i = 0; i < p.n; ++i) out.x[s * p.n + i] = runs[i / run_length].d[i % run_length];
            }
        },
        gpulab::poisoning(out));
}

/// cuda_partition.
template <class T> class EmulatedPartition {
public:
    static void run(const Problem<T>& p, Output<T>& out, Stopwatch& watch) {
        watch.tile(run_length, "unknowns");
        watch.tile(slots, "unknowns");
        watch.tile(1024, "unknowns");
        watch.time(
            [&] {
                std::fill(out.zero_pivot.begin(), out.zero_pivot.end(), no_zero_pivot);
                EmulatedPartition method(p, out);
                out.x = method.solve({p.a, p.b, p.c, p.d}, p.n, 0);
            },
            gpulab::poisoning(out));
    }

private:
    static constexpr std::size_t slots = 256;

    EmulatedPartition(const Problem<T>& p, Output<T>& out) : problem_(p), out_(out) {}

    void report(std::size_t system, std::size_t row, unsigned level) {
        for (; level > 0; --level) row = row / 2 * slots + (row % 2 == 0 ? 0 : slots - 1);
        const auto lowest = static_cast<std::int32_t>(std::min(row, problem_.n - 1));
        std::int32_t& zero = out_.zero_pivot[system];
        if (zero == no_zero_pivot || lowest < zero) zero = lowest;
    }

    std::vector<T> solve(const EmulatedEquations<T>& in, std::size_t n, unsigned level) {
        std::vector<T> x(n * problem_.systems);
        if (n <= 1024) { // a block for each system
            for (std::size_t s = 0; s < problem_.systems; ++s) {
                std::vector<LaneRun<T>> runs =
                    load_runs(in, s, 0, n, gpulab::round_up(gpulab::ceil_div(n, run_length), 32));
                if (const std::int64_t zero = solve_runs(runs); zero >= 0)
                    report(s, static_cast<std::size_t>(zero), level);
                for (std::size_t i = 0; i < n; ++i) x[s * n + i] = runs[i / run_length].d[i % run_length];
            }
            return x;
        }
        const std::size_t chunks = gpulab::ceil_div(n, slots), coarse_n = 2 * chunks;
        std::vector<T> coarse_x;
        {
            const std::size_t size = coarse_n * problem_.systems;
            EmulatedEquations<T> coarse{std::vector<T>(size), {}, std::vector<T>(size), std::vector<T>(size)};
            for (std::size_t s = 0; s < problem_.systems; ++s)
                for (std::size_t q = 0; q < chunks; ++q) {
                    const Stretch<T> whole = reduce_chunk(in, s, q, n, level);
                    const std::size_t row = s * coarse_n + 2 * q;
                    coarse.a[row] = whole.first.a;
                    coarse.a[row + 1] = whole.last.a;
                    coarse.c[row] = whole.first.c;
                    coarse.c[row + 1] = whole.last.c;
                    coarse.d[row] = whole.first.d;
                    coarse.d[row + 1] = whole.last.d;
                }
            coarse_x = solve(coarse, coarse_n, level + 1);
        }
        for (std::size_t s = 0; s < problem_.systems; ++s)
            for (std::size_t q = 0; q < chunks; ++q) {
                std::vector<LaneRun<T>> runs = load_runs(in, s, q * slots, n, 32);
                const std::size_t row = s * coarse_n + 2 * q;
                if (q > 0) {
                    runs[0].d[0] -= runs[0].a[0] * coarse_x[row - 1];
                    runs[0].a[0] = 0;
                }
                if (q + 1 < chunks)
                    runs[31].d[run_length - 1] -= runs[31].c[run_length - 1] * coarse_x[row + 2],
                        runs[31].c[run_length - 1] = 0;
                if (const std::int64_t zero = solve_runs(runs); zero >= 0)
                    report(s, q * slots + static_cast<std::size_t>(zero), level);
                for (std::size_t i = q * slots; i < std::min(n, (q + 1) * slots); ++i)
                    x[s * n + i] = runs[i % slots / run_length].d[i % run_length];
            }
        return x;
    }

    Stretch<T> reduce_chunk(const EmulatedEquations<T>& in, std::size_t s, std::size_t q, std::size_t n,
                            unsigned level) {
        std::vector<LaneRun<T>> runs = load_runs(in, s, q * slots, n, 32);
        std::array<Stretch<T>, 32> stretch;
        for (std::size_t lane = 0; lane < 32; ++lane) {
            int zero = -1;
            eliminate(runs[lane], zero);
            if (zero >= 0) report(s, q * slots + lane * run_length + static_cast<std::size_t>(zero), level);
            stretch[lane] = {first_of(runs[lane]), last_of(runs[lane])};
        }
        for (std::size_t distance = 1; distance < 32; distance *= 2)
            for (std::size_t lane = 0; lane < 32; lane += 2 * distance) {
                int at = -1;
                stretch[lane] = merge(stretch[lane], stretch[lane + distance], at);
                const std::size_t begin = q * slots + lane * run_length, length = distance * run_length;
                if (at >= 0) report(s, at == 0 ? begin : begin + static_cast<std::size_t>(at) * length - 1, level);
            }
        return stretch[0];
    }

    const Problem<T>& problem_;
    Output<T>& out_;
};

} // namespace tridiagonal::testing
