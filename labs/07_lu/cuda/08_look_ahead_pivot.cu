// Rung 8: look-ahead.
//
// Changed: the next panel needs 64 columns of the update, not all of it. So the update is cut in two: first the columns
// of the next panel, in a stream of their own, in which the factorisation of that panel follows at once; and all
// columns right of them in the other stream, at the same time. The chain of barriers of a panel, which uses 16
// multiprocessors at most, is hidden behind a product that keeps the others busy. Which kernel waits for which:
// - The other stream takes up step k when panel k is ready.
// - The panels' stream may touch the columns of panel k + 1 when the other stream has ended step k - 1, in which they
//   were among the columns right of the panel.
// The panels' stream has the higher priority: of blocks that wait for a place, its blocks come first.
// Limit: for small n still the chain of panels, which then takes longer than the product behind which it hides.
#include <algorithm>
#include <utility>

#include "device_factors.hpp"
#include "gpulab/cuda/timing.hpp"
#include "gpulab/math.hpp"
#include "steps.hpp"

namespace lu {

namespace {

/// A stream whose blocks come before those of others.
class UrgentStream {
public:
    UrgentStream() {
        int least = 0, greatest = 0;
        CUDA_CHECK(cudaDeviceGetStreamPriorityRange(&least, &greatest));
        CUDA_CHECK(cudaStreamCreateWithPriority(&stream_, cudaStreamNonBlocking, greatest));
    }
    ~UrgentStream() { cudaStreamDestroy(stream_); }
    UrgentStream(const UrgentStream&) = delete;
    UrgentStream& operator=(const UrgentStream&) = delete;
    operator cudaStream_t() const { return stream_; }

private:
    cudaStream_t stream_ = nullptr;
};

/// What the panel k0 ... k1 - 1 asks of the columns begin ... end - 1 to its right.
void follow(const DeviceMatrix& a, int k0, int k1, int begin, int end, cudaStream_t stream) {
    exchange_rows(a, k0, k1, begin, end, end, end, stream);
    solve_unit_lower(a.at(k0, k0), a.n, a.at(k0, begin), a.n, k1 - k0, end - begin, stream);
    update_tensor(a.at(k1, k0), a.n, a.at(k0, begin), a.n, a.at(k1, begin), a.n, a.n - k1, end - begin, k1 - k0,
                  stream);
}

} // namespace

void cuda_look_ahead_pivot(const Problem& p, Factors& f, Stopwatch& watch) {
    require_clusters();
    constexpr int width = most_panel_columns;
    DeviceFactors d(p);
    const DeviceMatrix a{d.lu.data(), static_cast<int>(p.n), d.pivots.data()};
    const int n = a.n;
    const UrgentStream panels;
    gpulab::Event panel_ready(cudaEventDisableTiming), rest_done(cudaEventDisableTiming);
    watch.tile(width), watch.tile(256), watch.tile(128), watch.tile(32);
    gpulab::watch_stream(
        watch,
        [&](cudaStream_t rest) {
            rest_done.record(rest); // the matrix is there
            for (int k0 = 0; k0 < n; k0 += width) {
                const int k1 = std::min(k0 + width, n), k2 = std::min(k1 + width, n);
                if (k0 == 0) CUDA_CHECK(cudaStreamWaitEvent(panels, rest_done));
                factorise_panel_in_cluster(a, k0, k1, panels);
                panel_ready.record(panels);
                if (k1 < n) {
                    CUDA_CHECK(cudaStreamWaitEvent(panels, rest_done)); // of the step before
                    follow(a, k0, k1, k1, k2, panels);
                }
                CUDA_CHECK(cudaStreamWaitEvent(rest, panel_ready));
                exchange_rows(a, k0, k1, 0, k0, k0, k0, rest); // L, left of the panel
                if (k2 < n) follow(a, k0, k1, k2, n, rest);
                rest_done.record(rest);
            }
        },
        [&](cudaStream_t stream) { d.restore(stream); });
    d.copy_to(f, true);
}

} // namespace lu
