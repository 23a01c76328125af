// Batch in CUDA: a warp per panel, in registers.
//
// Changed: matrices of more than 32 rows. A warp keeps a panel of 8 columns in registers, each lane up to four rows of
// it (up to eight in the last 256 rows of cuda_critical_path_pivot). So search, exchange and division of a column are
// done in one warp, as in cuda_batch_warp. Then the column of L stands in shared memory, and after one barrier all
// warps to its right apply the step to their own columns. There are n barriers instead of 4 n, and while the others
// apply a step, the warp of the panel goes on with the next one: look-ahead, as in cuda_look_ahead_pivot.
// Rows are not exchanged here either. Row i of A stays in its lane, and in row i of shared memory; the rows are put in
// order on their way out.
// Limit: the chain. One warp at a time searches and divides, and there are registers and shared memory for one matrix
// of 128 rows per multiprocessor.
#include "batch.hpp"
#include "device_factors.hpp"
#include "gpulab/cuda/shared_memory.hpp"
#include "gpulab/cuda/timing.hpp"
#include "steps.hpp"

namespace lu {

namespace {

constexpr int lanes = 32;
constexpr int width = 8; // columns of a panel

/// The distance of two rows in shared memory: 16-byte words, an odd number of them, so that lanes that access 16 bytes
/// of their own rows meet in no bank.
template <int WARPS> constexpr int stride_of = WARPS* width + 2;

/// Shared memory for m, in bytes.
template <int ROWS, int WARPS> constexpr std::size_t shared_of = sizeof(double) * ROWS* lanes* stride_of<WARPS>;

/// How many blocks of a multiprocessor the compiler must leave registers for. For 33 to 96 rows there is shared memory
/// for more than one; 1 demands nothing.
template <int ROWS> constexpr int blocks_of = ROWS == 2 ? 4 : ROWS == 3 ? 2 : 1;

/// Factorises matrix number blockIdx.x, with a warp for each 8 columns. It has at most lanes * ROWS rows and at most
/// WARPS * width columns, no more of these than rows. In global memory row i begins at a[i * row_stride], in shared
/// memory at m[i * stride]. Lane l keeps the rows l, l + 32, ... Those from `rows` on hold whatever shared memory held:
/// they are no candidates for a pivot, and nothing depends on them.
/// @param first_row the number of the matrix's first row, from which pivots are counted
template <int ROWS, int WARPS>
__global__ void __launch_bounds__(WARPS* lanes, blocks_of<ROWS>)
    batch_panels_kernel(double* all, std::size_t matrix_stride, std::size_t row_stride, int rows, int columns,
                        std::int32_t* all_pivots, int first_row) {
    constexpr int stride = stride_of<WARPS>;
    extern __shared__ double2 words[]; // for an alignment of 16 bytes
    double* const m = reinterpret_cast<double*>(words);
    __shared__ alignas(16) double rows_of_u[WARPS][2 * width]; // of each warp
    __shared__ Choice chosen[WARPS * width];
    __shared__ int row_at[ROWS * lanes]; // the row of A that stands there in the end
    double* const a = all + blockIdx.x * matrix_stride;
    const int lane = threadIdx.x % lanes, warp = threadIdx.x / lanes, warps = blockDim.x / lanes;

#pragma unroll 4 // so that several loads are under way
    for (int i = warp; i < rows; i += warps)
#pragma unroll
        for (int j = lane; j < WARPS * width; j += lanes)
            if (j < columns) m[i * stride + j] = a[i * row_stride + j];
    __syncthreads();

    const int first = warp * width; // this warp's columns; those from `columns` on are never used
    double v[ROWS][width];
#pragma unroll
    for (int r = 0; r < ROWS; ++r) load(v[r], m + (lane + r * lanes) * stride + first);

    int position[ROWS];
#pragma unroll
    for (int r = 0; r < ROWS; ++r) position[r] = lane + r * lanes < rows ? lane + r * lanes : -1;

    double* const row_of_u = rows_of_u[warp];
#pragma unroll 1
    for (int k = 0; k < columns; ++k) {
        if (warp == k / width)
            eliminate_column<stride>(v, position, lane, k, min(first + width, columns), m, row_of_u, chosen);
        __syncthreads(); // column k of L and the choice of the step are there
        if (warp <= k / width) continue;
        const Choice choice = chosen[k];
        double* const u = row_of_u + k % 2 * width;
        if (lane == choice.row % lanes) store_row(u, v, choice.row / lanes);
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
    if (warp == warps - 1) { // it knows where all rows stand
#pragma unroll
        for (int r = 0; r < ROWS; ++r)
            if (position[r] >= 0) row_at[position[r]] = lane + r * lanes;
    }
    __syncthreads();
    for (int k = threadIdx.x; k < columns; k += blockDim.x)
        all_pivots[std::size_t(blockIdx.x) * columns + k] = first_row + chosen[k].position;
#pragma unroll 4
    for (int i = warp; i < rows; i += warps)
#pragma unroll
        for (int j = lane; j < WARPS * width; j += lanes)
            if (j < columns) a[i * row_stride + j] = m[row_at[i] * stride + j];
}

/// Starts the kernel for `count` matrices.
template <int ROWS, int WARPS>
void launch(double* all, std::size_t count, std::size_t row_stride, int rows, int columns, std::int32_t* pivots,
            int first_row, cudaStream_t stream) {
    const auto kernel = batch_panels_kernel<ROWS, WARPS>;
    gpulab::ask_for_shared_memory(kernel, shared_of<ROWS, WARPS>, "a matrix");
    const int threads = (columns + width - 1) / width * lanes;
    kernel<<<static_cast<unsigned>(count), threads, shared_of<ROWS, WARPS>, stream>>>(
        all, rows * row_stride, row_stride, rows, columns, pivots, first_row);
}

} // namespace

void factorise_panel_in_block(const DeviceMatrix& d, int k0, int k1, cudaStream_t stream) {
    const int rows = d.n - k0;
    const auto start = rows <= 64 ? launch<2, 8> : rows <= 128 ? launch<4, 8> : launch<8, 8>;
    start(d.at(k0, k0), 1, d.n, rows, k1 - k0, d.pivots + k0, k0, stream);
}

void cuda_batch_panels(const Problem& p, Factors& f, Stopwatch& watch) {
    const auto start = p.n <= 32 ? launch<1, 4> : p.n <= 64 ? launch<2, 8> : p.n <= 96 ? launch<3, 12> : launch<4, 16>;
    const int n = static_cast<int>(p.n);
    DeviceFactors d(p);
    watch.tile(width).tile(lanes);
    gpulab::watch_stream(
        watch, [&](cudaStream_t stream) { start(d.lu.data(), p.count, p.n, n, n, d.pivots.data(), 0, stream); },
        [&](cudaStream_t stream) { d.restore(stream); });
    d.copy_to(f, true);
}

} // namespace lu
