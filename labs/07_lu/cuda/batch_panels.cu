// Batch in CUDA: a warp per panel, in registers.
//
// Changed: matrices of more than 32 rows. A warp keeps a panel of 8 columns in registers, each lane up to four rows
// of it. So search, exchange and division of a column are done in one warp, as in cuda_batch_warp. Then the column of L
// stands in shared memory, and after one barrier all warps to its right apply the step to their own columns. There are
// n barriers instead of 4 n, and while the others apply a step, the warp of the panel goes on with the next one:
// look-ahead, as in cuda_look_ahead_pivot.
// Rows are not exchanged here either. Row i of A stays in its lane, and in row i of shared memory; the rows are put in
// order on their way out.
// Limit: the chain. One warp at a time searches and divides, and there are registers and shared memory for one matrix
// of 128 rows per multiprocessor.
#include "batch.hpp"
#include "device_factors.hpp"
#include "gpulab/cuda/timing.hpp"
#include "gpulab/math.hpp"

namespace lu {

namespace {

constexpr int lanes = 32;
constexpr int width = 8; // columns of a panel

/// The distance of two rows in shared memory: 16-byte words, an odd number of them, so that lanes that access 16 bytes
/// of their own rows meet in no bank.
template <int ROWS> constexpr int stride_of = ROWS* lanes + 2;

/// The blocks of a multiprocessor for which the compiler leaves registers: as many as hide the chain best.
template <int ROWS> constexpr int blocks_of = ROWS == 2 ? 4 : ROWS == 3 ? 2 : 1;

/// Factorises matrix number blockIdx.x, of at most lanes * ROWS rows, with a warp for each panel. Row i begins at
/// m[i * stride]; lane l keeps the rows l, l + 32, ... Those from n on are no candidates for a pivot, and never read.
template <int ROWS>
__global__ void __launch_bounds__(ROWS* lanes / width * lanes, blocks_of<ROWS>)
    batch_panels_kernel(double* all, std::int32_t* all_pivots, int n) {
    constexpr int stride = stride_of<ROWS>;
    extern __shared__ double2 words[]; // for an alignment of 16 bytes
    double* const m = reinterpret_cast<double*>(words);
    __shared__ alignas(16) double rows_of_u[ROWS * lanes / width][2 * width]; // of each warp
    __shared__ Choice chosen[ROWS * lanes];
    double* const a = all + std::size_t(blockIdx.x) * n * n;
    const int lane = threadIdx.x % lanes, warp = threadIdx.x / lanes, warps = blockDim.x / lanes;

#pragma unroll 4 // so that several loads are under way
    for (int i = warp; i < n; i += warps)
#pragma unroll
        for (int j = lane; j < ROWS * lanes; j += lanes)
            if (j < n) m[i * stride + j] = a[i * n + j];
    __syncthreads();

    const int first = warp * width; // this warp's columns; those from n on are never used
    double v[ROWS][width];
#pragma unroll
    for (int r = 0; r < ROWS; ++r) load(v[r], m + (lane + r * lanes) * stride + first);

    int position[ROWS];
#pragma unroll
    for (int r = 0; r < ROWS; ++r) position[r] = lane + r * lanes < n ? lane + r * lanes : -1;

    double* const row_of_u = rows_of_u[warp];
#pragma unroll 1
    for (int k = 0; k < n; ++k) {
        if (warp == k / width)
            eliminate_column<stride>(v, position, lane, k, min(first + width, n), m, row_of_u, chosen);
        __syncthreads(); // column k of L and the choice of the step are there
        if (warp <= k / width) continue;
        const Choice choice = chosen[k];
        double* const u = row_of_u + k % 2 * width;
        broadcast(u, v, lane == choice.row % lanes, choice.row / lanes);
        exchange(position, lane, k, choice);
        double l[ROWS]; // rows that have been pivots take part, too: nobody reads them any more
#pragma unroll
        for (int r = 0; r < ROWS; ++r) l[r] = m[(lane + r * lanes) * stride + k];
        __syncwarp();
#pragma unroll
        for (int j = 0; j < width; ++j)
#pragma unroll
            for (int r = 0; r < ROWS; ++r) v[r][j] -= l[r] * u[j];
        if (lane < width) m[choice.row * stride + first + lane] = u[lane];
    }
    for (int k = threadIdx.x; k < n; k += blockDim.x) all_pivots[std::size_t(blockIdx.x) * n + k] = chosen[k].position;
#pragma unroll 4
    for (int i = warp; i < n; i += warps)
#pragma unroll
        for (int j = lane; j < ROWS * lanes; j += lanes)
            if (j < n) a[i * n + j] = m[chosen[i].row * stride + j];
}

} // namespace

void cuda_batch_panels(const Problem& p, Factors& f, Stopwatch& watch) {
    const auto kernel = p.n <= 32   ? batch_panels_kernel<1>
                        : p.n <= 64 ? batch_panels_kernel<2>
                        : p.n <= 96 ? batch_panels_kernel<3>
                                    : batch_panels_kernel<4>;
    const auto warps = static_cast<unsigned>(gpulab::ceil_div(p.n, std::size_t{width}));
    const int n = static_cast<int>(p.n);
    const std::size_t rows = gpulab::round_up(p.n, std::size_t{lanes}),
                      shared_bytes = rows * (rows + 2) * sizeof(double);
    ask_for_shared_memory(kernel, shared_bytes);
    DeviceFactors d(p);
    watch.tile(width), watch.tile(lanes);
    gpulab::watch_stream(
        watch,
        [&](cudaStream_t stream) {
            kernel<<<static_cast<unsigned>(p.count), warps * lanes, shared_bytes, stream>>>(d.lu.data(),
                                                                                            d.pivots.data(), n);
        },
        [&](cudaStream_t stream) { d.restore(stream); });
    d.copy_to(f, true);
}

} // namespace lu
