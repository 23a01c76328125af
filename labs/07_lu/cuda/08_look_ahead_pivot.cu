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
// first. Limit: for small n the chain of panels, when it takes longer than the product.
#include <algorithm>
#include <utility>

#include "device_factors.hpp"
#include "gpulab/cuda/timing.hpp"
#include "gpulab/math.hpp"
#include "steps.hpp"

namespace lu {

namespace {

/// A stream of the highest priority.
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

/// Applies the steps of the panel k0 ... k1 - 1 to the columns begin ... end - 1 to its right.
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
