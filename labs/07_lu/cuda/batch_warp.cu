// Batch in CUDA: a warp per matrix of at most 32 rows, in registers.
//
// Changed: each lane of a warp keeps a row in registers, and no thread waits for another warp. The pivot is found with
// integer instructions of the whole warp (find_pivot() in batch.hpp). Rows are not exchanged: each lane knows in which
// row its own stands. When a lane's row becomes row k of U, the lane writes it to shared memory, once and for all, at
// the place where it ends. From there the other lanes read it, all the same word at a time, which is a broadcast;
// shuffles would take two instructions for each element. Loops over registers have constant bounds and are unrolled,
// because registers have no addresses. All elements pass through shared memory on their way in and out, so that the
// warp accesses consecutive addresses in global memory, and a lane its own row. Limit: the chain of a step, search,
// broadcast, division. Other warps work meanwhile, as many as the registers allow.
#include "batch.hpp"
#include "device_factors.hpp"
#include "gpulab/cuda/timing.hpp"
#include "gpulab/math.hpp"

namespace lu {

namespace {

constexpr int warps_of_block = 4; // each with its own matrix
constexpr int lanes = 32;

/// Factorises matrix number blockIdx.x * warps_of_block + warp, of n <= MOST rows; MOST is a multiple of 2, at most 32.
template <int MOST>
__global__ void __launch_bounds__(warps_of_block* lanes, 4)
    batch_warp_kernel(double* all, std::int32_t* all_pivots, int n, std::size_t count) {
    // A row is 16-byte words, an odd number of them, so that lanes that access 16 bytes of their own rows meet in no
    // bank.
    constexpr int stride = MOST + (MOST % 4 == 0 ? 2 : 0);
    __shared__ alignas(16) double tiles[warps_of_block][MOST * stride];
    const int lane = threadIdx.x % lanes, warp = threadIdx.x / lanes;
    const std::size_t matrix = std::size_t(blockIdx.x) * warps_of_block + warp;
    if (matrix >= count) return; // the whole warp
    double* const m = tiles[warp];
    double* const a = all + matrix * n * n;

#pragma unroll
    for (int i = 0; i < MOST; ++i)
        if (i < n && lane < n) m[i * stride + lane] = a[i * n + lane];
    __syncwarp();
    double row[MOST]; // columns from n on are never used
#pragma unroll
    for (int j = 0; j < MOST; j += 2) {
        const double2 two = lane < n ? *reinterpret_cast<const double2*>(m + lane * stride + j) : double2{0, 0};
        row[j] = two.x, row[j + 1] = two.y;
    }
    __syncwarp(); // all rows are read: rows of U may take their place

    int position[1] = {lane < n ? lane : -1}; // the row in which this lane's row stands; -1: it has none
    int own_pivot = 0;                        // of step `lane`
#pragma unroll
    for (int k = 0; k < MOST; ++k) {
        if (k >= n) break;
        const double column[1] = {row[k]};
        const Pivot pivot = find_pivot(column, position, k);
        if (lane == k) own_pivot = pivot.position;
        if (position[0] == k) position[0] = pivot.position; // the exchange
        double* const row_k = m + k * stride;
        if (lane == pivot.lane) {
            position[0] = k;
#pragma unroll
            for (int j = 0; j < MOST; j += 2) *reinterpret_cast<double2*>(row_k + j) = {row[j], row[j + 1]};
        }
        __syncwarp();
        if (position[0] > k) {
            row[k] /= row_k[k];
#pragma unroll
            for (int j = k + 1; j < MOST; ++j) row[j] -= row[k] * row_k[j];
        }
    }
    __syncwarp();
    if (lane < n) all_pivots[matrix * n + lane] = own_pivot;
#pragma unroll
    for (int i = 0; i < MOST; ++i)
        if (i < n && lane < n) a[i * n + lane] = m[i * stride + lane];
}

} // namespace

void cuda_batch_warp(const Problem& p, Factors& f, Stopwatch& watch) {
    if (p.n > lanes)
        throw gpulab::Unsupported(std::to_string(p.n) + " rows are more than a warp of this variant keeps, " +
                                  std::to_string(lanes));
    const auto kernel = p.n <= 8 ? batch_warp_kernel<8> : p.n <= 16 ? batch_warp_kernel<16> : batch_warp_kernel<32>;
    DeviceFactors d(p);
    watch.tile(8), watch.tile(16);
    watch.tile(warps_of_block, "matrices");
    gpulab::watch_stream(
        watch,
        [&](cudaStream_t stream) {
            const auto blocks = static_cast<unsigned>(gpulab::ceil_div(p.count, std::size_t{warps_of_block}));
            kernel<<<blocks, warps_of_block * lanes, 0, stream>>>(d.lu.data(), d.pivots.data(), static_cast<int>(p.n),
                                                                  p.count);
        },
        [&](cudaStream_t stream) { d.restore(stream); });
    d.copy_to(f, true);
}

} // namespace lu
