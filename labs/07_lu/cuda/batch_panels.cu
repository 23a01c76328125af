// Batch in CUDA: a warp per panel, in registers.
//
// Changed: matrices of more than 32 rows. A warp keeps a panel of 8 columns in registers, each lane up to four rows of
// it. So a whole panel is factorised in one warp, as a matrix is by cuda_batch_warp, without a barrier of the block.
// Then the warp writes its columns of L to shared memory, and after one barrier all warps to its right apply them to
// their own columns. There are n / 8 barriers instead of 4 n. The warp that comes next applies them first thing, and
// goes on to factorise its own panel, while the other warps are still busy: look-ahead, as in cuda_look_ahead_pivot.
// Rows are not exchanged here either. Row i of A stays in its lane, and in row i of shared memory. Which row became the
// pivot of which step stands in `row_of_step`; the rows are put in order on their way out.
// Limit: the chain. One warp at a time factorises, and there are registers and shared memory for one matrix of 128 rows
// per multiprocessor.
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

/// Factorises matrix number blockIdx.x, of at most lanes * ROWS rows, with a warp for each panel. Row i begins at
/// m[i * stride]; lane l keeps the rows l, l + 32, ... Those from n on are no candidates for a pivot, and never read.
template <int ROWS>
__global__ void __launch_bounds__(ROWS* lanes / width * lanes)
    batch_panels_kernel(double* all, std::int32_t* all_pivots, int n) {
    constexpr int stride = stride_of<ROWS>;
    extern __shared__ double2 words[]; // for an alignment of 16 bytes
    double* const m = reinterpret_cast<double*>(words);
    __shared__ alignas(16) double rows_of_u[ROWS * lanes / width][2 * width]; // of each warp
    __shared__ int row_of_step[ROWS * lanes];                                 // the row of A that step k chose
    __shared__ int position_of[ROWS * lanes]; // where row i of A stands after the exchanges so far
    double* const a = all + std::size_t(blockIdx.x) * n * n;
    std::int32_t* const pivots = all_pivots + std::size_t(blockIdx.x) * n;
    const int lane = threadIdx.x % lanes, warp = threadIdx.x / lanes, warps = blockDim.x / lanes;

#pragma unroll 4 // so that several loads are under way
    for (int i = warp; i < n; i += warps)
#pragma unroll
        for (int j = lane; j < ROWS * lanes; j += lanes)
            if (j < n) m[i * stride + j] = a[i * n + j];
    for (int i = threadIdx.x; i < n; i += blockDim.x) position_of[i] = i;
    __syncthreads();

    const int first = warp * width; // this warp's columns; those from n on are never used
    double v[ROWS][width];
#pragma unroll
    for (int r = 0; r < ROWS; ++r) load(v[r], m + (lane + r * lanes) * stride + first);

    double* const row_of_u = rows_of_u[warp];
    for (int panel = 0; panel < warps; ++panel) {
        if (panel == warp) {
            int position[ROWS];
#pragma unroll
            for (int r = 0; r < ROWS; ++r) position[r] = lane + r * lanes < n ? position_of[lane + r * lanes] : -1;
            const int end = min(first + width, n);
            eliminate<stride>(v, position, lane, first, end, end, m, row_of_u, row_of_step, pivots);
#pragma unroll
            for (int r = 0; r < ROWS; ++r)
                if (lane + r * lanes < n) position_of[lane + r * lanes] = position[r];
        }
        __syncthreads(); // L and the choice of the panel are there
        if (panel >= warp) continue;
        const double* column_k = m + lane * stride + panel * width; // in this lane's first row
#pragma unroll 1
        for (int k = panel * width; k < (panel + 1) * width; ++k, ++column_k) {
            const int row = row_of_step[k];
            double* const u = row_of_u + k % 2 * width;
            broadcast(u, v, lane == row % lanes, row / lanes);
            double l[ROWS]; // rows that have been pivots take part, too: nobody reads them any more
#pragma unroll
            for (int r = 0; r < ROWS; ++r) l[r] = column_k[r * lanes * stride];
            __syncwarp();
#pragma unroll
            for (int j = 0; j < width; ++j)
#pragma unroll
                for (int r = 0; r < ROWS; ++r) v[r][j] -= l[r] * u[j];
            if (lane < width) m[row * stride + first + lane] = u[lane];
        }
    }
#pragma unroll 4
    for (int i = warp; i < n; i += warps)
#pragma unroll
        for (int j = lane; j < ROWS * lanes; j += lanes)
            if (j < n) a[i * n + j] = m[row_of_step[i] * stride + j];
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
