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

/// Copies 8 doubles from or to a 16-byte boundary in shared memory.
__device__ void load(double (&to)[width], const double* from) {
#pragma unroll
    for (int j = 0; j < width; j += 2) {
        const double2 two = *reinterpret_cast<const double2*>(from + j);
        to[j] = two.x, to[j + 1] = two.y;
    }
}
__device__ void store(double* to, const double (&from)[width]) {
#pragma unroll
    for (int j = 0; j < width; j += 2) *reinterpret_cast<double2*>(to + j) = {from[j], from[j + 1]};
}

/// Factorises matrix number blockIdx.x, of at most lanes * ROWS rows, with a warp for each panel. Row i begins at
/// m[i * stride]; lane l keeps the rows l, l + 32, ...
template <int ROWS>
__global__ void __launch_bounds__(ROWS* lanes / width * lanes)
    batch_panels_kernel(double* all, std::int32_t* all_pivots, int n, int stride) {
    extern __shared__ double2 words[]; // for an alignment of 16 bytes
    double* const m = reinterpret_cast<double*>(words);
    __shared__ int row_of_step[ROWS * lanes]; // the row of A that step k chose
    __shared__ int position_of[ROWS * lanes]; // where row i of A stands after the exchanges so far
    double* const a = all + std::size_t(blockIdx.x) * n * n;
    std::int32_t* const pivots = all_pivots + std::size_t(blockIdx.x) * n;
    const int lane = threadIdx.x % lanes, warp = threadIdx.x / lanes, warps = blockDim.x / lanes;

    for (int i = warp; i < n; i += warps)
        for (int j = lane; j < n; j += lanes) m[i * stride + j] = a[std::size_t(i) * n + j];
    for (int i = threadIdx.x; i < n; i += blockDim.x) position_of[i] = i;
    __syncthreads();

    const int first = warp * width; // this warp's columns; those from n on are never used
    double v[ROWS][width];
#pragma unroll
    for (int r = 0; r < ROWS; ++r)
        if (lane + r * lanes < n) load(v[r], m + (lane + r * lanes) * stride + first);

    // Writes row i of this warp's columns to shared memory.
    const auto store_row = [&](int i) {
#pragma unroll
        for (int r = 0; r < ROWS; ++r)
            if (i == lane + r * lanes) store(m + i * stride + first, v[r]);
    };

    for (int panel = 0; panel < warps; ++panel) {
        if (panel == warp) {
            int position[ROWS];
#pragma unroll
            for (int r = 0; r < ROWS; ++r) position[r] = lane + r * lanes < n ? position_of[lane + r * lanes] : -1;
#pragma unroll
            for (int c = 0; c < width; ++c) {
                const int k = first + c;
                if (k >= n) break;
                double column[ROWS];
#pragma unroll
                for (int r = 0; r < ROWS; ++r) column[r] = v[r][c];
                const Pivot pivot = find_pivot(column, position, k);
                const int row = pivot.lane + pivot.index * lanes;
                if (lane == 0) row_of_step[k] = row, pivots[k] = pivot.position;
#pragma unroll
                for (int r = 0; r < ROWS; ++r) { // the exchange
                    if (position[r] == k) position[r] = pivot.position;
                    if (row == lane + r * lanes) position[r] = k;
                }
                store_row(row); // of U, and of L to the left of the diagonal
                __syncwarp();
                double u[width];
                load(u, m + row * stride + first);
#pragma unroll
                for (int r = 0; r < ROWS; ++r)
                    if (position[r] > k) {
                        v[r][c] /= u[c];
#pragma unroll
                        for (int j = c + 1; j < width; ++j) v[r][j] -= v[r][c] * u[j];
                    }
            }
#pragma unroll
            for (int r = 0; r < ROWS; ++r) {
                const int i = lane + r * lanes;
                if (i >= n) continue;
                position_of[i] = position[r];
                if (position[r] >= first + width) store(m + i * stride + first, v[r]); // L
            }
        }
        __syncthreads(); // L and the choice of the panel are there
        if (panel < warp)
            for (int k = panel * width; k < (panel + 1) * width; ++k) {
                const int row = row_of_step[k];
                store_row(row); // of U
                __syncwarp();
                double u[width];
                load(u, m + row * stride + first);
#pragma unroll
                for (int r = 0; r < ROWS; ++r) {
                    // Rows that are done already take part, too; nobody reads them any more.
                    const double l = lane + r * lanes < n ? m[(lane + r * lanes) * stride + k] : 0;
#pragma unroll
                    for (int j = 0; j < width; ++j) v[r][j] -= l * u[j];
                }
            }
    }
    for (int i = warp; i < n; i += warps)
        for (int j = lane; j < n; j += lanes) a[std::size_t(i) * n + j] = m[row_of_step[i] * stride + j];
}

} // namespace

void cuda_batch_panels(const Problem& p, Factors& f, Stopwatch& watch) {
    const auto kernel = p.n <= 32   ? batch_panels_kernel<1>
                        : p.n <= 64 ? batch_panels_kernel<2>
                        : p.n <= 96 ? batch_panels_kernel<3>
                                    : batch_panels_kernel<4>;
    const auto warps = static_cast<unsigned>(gpulab::ceil_div(p.n, std::size_t{width}));
    // 16-byte words, an odd number of them, so that lanes that access 16 bytes of their own rows meet in no bank.
    const int n = static_cast<int>(p.n), stride = static_cast<int>(warps) * width + 2;
    const std::size_t shared_bytes = p.n * static_cast<std::size_t>(stride) * sizeof(double);
    ask_for_shared_memory(kernel, shared_bytes);
    DeviceFactors d(p);
    watch.tile(width), watch.tile(lanes);
    gpulab::watch_stream(
        watch,
        [&](cudaStream_t stream) {
            kernel<<<static_cast<unsigned>(p.count), warps * lanes, shared_bytes, stream>>>(d.lu.data(),
                                                                                            d.pivots.data(), n, stride);
        },
        [&](cudaStream_t stream) { d.restore(stream); });
    d.copy_to(f, true);
}

} // namespace lu
