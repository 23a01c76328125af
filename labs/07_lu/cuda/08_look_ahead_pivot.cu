// Rung 8: look-ahead.
//
// Changed: the next panel needs only 64 columns of the update. So the update has two parts. A stream for the panels
// updates the columns of the next panel and then factorises that panel. At the same time another stream updates all
// columns to the right of it. The chain of barriers, which uses at most 16 multiprocessors, overlaps with a product on
// the others. The streams wait for each other with events:
// - The other stream begins step k when panel k is ready.
// - The panels' stream updates the columns of panel k + 1 when the other stream has finished step k - 1, which also
//   updates these columns.
// The panels' stream has the higher priority: when a multiprocessor has room for a block, blocks of this stream go
// first.
// Here a panel is one part of 64 columns, so the loops over further parts do not run. cuda_critical_path_pivot, which
// calls look_ahead() too, has panels of up to eight parts.
// Limit: for small n the chain of panels, when it takes longer than the product.
#include <algorithm>
#include <utility>

#include "device_factors.hpp"
#include "gpulab/cuda/timing.hpp"
#include "steps.hpp"

namespace lu {

namespace {

void exchange_and_solve(const DeviceMatrix& a, int k0, int k1, int begin, int end, cudaStream_t stream) {
    exchange_rows(a, k0, k1, begin, end, end, end, stream);
    if (begin >= k1) solve_unit_lower(a.at(k0, k0), a.n, a.at(k0, begin), a.n, k1 - k0, end - begin, stream);
}

} // namespace

void look_ahead(const Problem& p, Factors& f, Stopwatch& watch, Panel* panel, ExchangeAndSolve* exchange_and_solve,
                int (*columns)(int rows_left)) {
    DeviceFactors d(p);
    const DeviceMatrix a{d.lu.data(), static_cast<int>(p.n), d.pivots.data()};
    const int n = a.n;
    const auto end_of_panel = [&](int k0) { return std::min(k0 + columns(n - k0), n); };
    const gpulab::Stream panels(gpulab::Stream::Priority::high);
    gpulab::Event panel_ready(cudaEventDisableTiming), rest_done(cudaEventDisableTiming);
    const auto end_of_part = [](int s0, int k1) { return std::min(s0 + max_panel_columns, k1); };
    // Applies the panel k0 ... k1 - 1 to the columns begin ... end - 1 to its right. Part by part it exchanges rows,
    // subtracts what earlier parts contribute to the part's rows of U, and solves for them. Then one product updates
    // all rows below, so the rest of the matrix passes through memory once.
    const auto follow = [&](int k0, int k1, int begin, int end, cudaStream_t stream) {
        exchange_and_solve(a, k0, end_of_part(k0, k1), begin, end, stream);
        for (int s0 = end_of_part(k0, k1), s1; s0 < k1; s0 = s1) {
            s1 = end_of_part(s0, k1);
            exchange_rows(a, s0, s1, begin, end, end, end, stream);
            update_tensor(a.at(s0, k0), a.at(k0, begin), a.at(s0, begin), n, s1 - s0, end - begin, s0 - k0, stream);
            solve_unit_lower(a.at(s0, s0), n, a.at(s0, begin), n, s1 - s0, end - begin, stream);
        }
        update_tensor(a.at(k1, k0), a.at(k0, begin), a.at(k1, begin), n, n - k1, end - begin, k1 - k0, stream);
    };
    // Factorises the columns k0 ... k1 - 1, one part after the other.
    const auto factorise = [&](int k0, int k1, cudaStream_t stream) {
        for (int s0 = k0, s1; s0 < k1; s0 = s1) {
            s1 = end_of_part(s0, k1);
            panel(a, s0, s1, stream);
            if (s0 > k0) exchange_and_solve(a, s0, s1, k0, s0, stream);
            if (s1 < k1) follow(s0, s1, s1, k1, stream);
        }
    };
    const auto launch = [&](cudaStream_t rest) {
        rest_done.record(rest); // the matrix is there
        for (int k0 = 0, k1; k0 < n; k0 = k1) {
            k1 = end_of_panel(k0);
            const int k2 = end_of_panel(k1);
            if (k0 == 0) CUDA_CHECK(cudaStreamWaitEvent(panels, rest_done));
            factorise(k0, k1, panels);
            panel_ready.record(panels);
            if (k1 < n) {
                CUDA_CHECK(cudaStreamWaitEvent(panels, rest_done)); // of the step before
                follow(k0, k1, k1, k2, panels);
            }
            CUDA_CHECK(cudaStreamWaitEvent(rest, panel_ready));
            for (int s0 = k0; s0 < k1; s0 = end_of_part(s0, k1)) // L, left of the panel
                exchange_and_solve(a, s0, end_of_part(s0, k1), 0, k0, rest);
            if (k2 < n) follow(k0, k1, k2, n, rest);
            rest_done.record(rest);
        }
    };
    const auto reset = [&](cudaStream_t stream) { d.restore(stream); };
    gpulab::watch_stream(watch, launch, reset);
    d.copy_to(f, true);
}

void cuda_look_ahead_pivot(const Problem& p, Factors& f, Stopwatch& watch) {
    require_clusters();
    watch.tile(max_panel_columns).tile(256).tile(32);
    look_ahead(p, f, watch, factorise_panel_in_cluster, exchange_and_solve, [](int) { return max_panel_columns; });
}

} // namespace lu
