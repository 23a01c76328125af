// Each kernel has one mistake. The right ones are in labs/04_spmv/cuda.
// No kernel reads outside its arrays: every stray index is pulled back, so that only the mistake itself is at fault.
#include <array>

#include "cuda/device_problem.hpp"
#include "gpulab/cuda/timing.hpp"
#include "gpulab/math.hpp"
#include "wrong_spmv.hpp"

namespace spmv::wrong {

namespace {

/// What every kernel gets.
struct Arguments {
    const int* row_start;
    const int* column;
    const float* value;
    const float* x;
    float* y;
    int rows;
    int columns;
    int nonzeros;
};
using Kernel = void(Arguments);

__device__ int row_of_thread() { return static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x); }
__device__ int row_of_warp() { return static_cast<int>((blockIdx.x * blockDim.x + threadIdx.x) / 32); }
__device__ float term(const Arguments& a, int k) { return k < a.nonzeros ? a.value[k] * a.x[a.column[k]] : 0.0f; }

/// A delay of microseconds. It makes no kernel wrong: it makes a race that a kernel has come out badly every time.
__device__ void dawdle() {
    for (int i = 0; i < 20; ++i) __nanosleep(1000);
}

__global__ void pointer_as_count(Arguments a) { // the blog's text: the row pointer taken for a number of entries
    const int i = row_of_thread();
    if (i >= a.rows) return;
    float sum = 0;
    for (int n = 0; n < a.row_start[i + 1]; ++n) sum += term(a, a.row_start[i] + n);
    a.y[i] = sum;
}

__global__ void accumulates(Arguments a) { // the blog's y +=, on memory that nobody cleared
    const int i = row_of_thread();
    if (i >= a.rows) return;
    float sum = 0;
    for (int k = a.row_start[i]; k < a.row_start[i + 1]; ++k) sum += term(a, k);
    a.y[i] += sum;
}

__global__ void no_bounds_check(Arguments a) { // threads beyond the last row write too
    const int i = row_of_thread();
    float sum = 0;
    if (i < a.rows)
        for (int k = a.row_start[i]; k < a.row_start[i + 1]; ++k) sum += term(a, k);
    a.y[i] = sum;
}

__global__ void last_entry_twice(Arguments a) { // <= for <: the first entry of the next row is added too
    const int i = row_of_thread();
    if (i >= a.rows) return;
    float sum = 0;
    for (int k = a.row_start[i]; k <= a.row_start[i + 1]; ++k) sum += term(a, k);
    a.y[i] = sum;
}

__global__ void empty_rows_unwritten(Arguments a) { // y is written only where there is something to add
    const int i = row_of_thread();
    if (i >= a.rows || a.row_start[i] == a.row_start[i + 1]) return;
    float sum = 0;
    for (int k = a.row_start[i]; k < a.row_start[i + 1]; ++k) sum += term(a, k);
    a.y[i] = sum;
}

__global__ void x_by_position(Arguments a) { // x[k] for x[column[k]]
    const int i = row_of_thread();
    if (i >= a.rows) return;
    float sum = 0;
    for (int k = a.row_start[i]; k < a.row_start[i + 1]; ++k) sum += a.value[k] * a.x[k % a.columns];
    a.y[i] = sum;
}

__global__ void writes_nothing(Arguments) {}

__global__ void one_step_short(Arguments a) { // the shuffles stop at 2: lane 1 is lost
    const int i = row_of_warp();
    if (i >= a.rows) return;
    float sum = 0;
    for (int k = a.row_start[i] + static_cast<int>(threadIdx.x % 32); k < a.row_start[i + 1]; k += 32)
        sum += term(a, k);
    for (int distance = 16; distance > 1; distance /= 2) sum += __shfl_down_sync(0xFFFFFFFFu, sum, distance);
    if (threadIdx.x % 32 == 0) a.y[i] = sum;
}

__global__ void long_rows_cut(Arguments a) { // one entry per lane, whatever the length of the row
    const int i = row_of_warp();
    if (i >= a.rows) return;
    const int k = a.row_start[i] + static_cast<int>(threadIdx.x % 32);
    float sum = k < a.row_start[i + 1] ? term(a, k) : 0.0f;
    for (int distance = 16; distance > 0; distance /= 2) sum += __shfl_down_sync(0xFFFFFFFFu, sum, distance);
    if (threadIdx.x % 32 == 0) a.y[i] = sum;
}

__global__ void no_atomics(Arguments a) { // COO, one thread per entry, and plain += where threads share a row
    const int k = row_of_thread();
    if (k < a.rows) a.y[k] = 0; // a launch of its own should do this: blocks do not wait for one another
    if (k >= a.nonzeros) return;
    int i = 0;
    while (a.row_start[i + 1] <= k) ++i; // the row that a COO array would name
    const float before = a.y[i];
    dawdle();
    a.y[i] = before + term(a, k);
}

/// A block of 64 threads, two warps, per row. The second warp is late, and the first does not wait for it.
__global__ void no_first_barrier(Arguments a) { // the blog: the first step reads neighbours' sums before any barrier
    __shared__ volatile float partial[64];
    const int i = static_cast<int>(blockIdx.x), t = static_cast<int>(threadIdx.x);
    if (i >= a.rows) return;
    partial[t] = 0;
    __syncthreads();
    float sum = 0;
    for (int k = a.row_start[i] + t; k < a.row_start[i + 1]; k += 64) sum += term(a, k);
    if (t >= 32) dawdle();
    partial[t] = sum;
    for (int distance = 32; distance > 0; distance /= 2) { // a barrier is missing before the first step
        if (t < distance) partial[t] = partial[t] + partial[t + distance];
        __syncthreads();
    }
    if (t == 0) a.y[i] = partial[0];
}

/// A warp per row, and the block's last warp writes the results of all its rows. In the last block that warp may have
/// no row: it skips the branch with the barriers in it, and its one barrier is taken for the others' first.
__global__ void barrier_in_branch(Arguments a) {
    __shared__ volatile float partial[128];
    const int i = row_of_warp(), t = static_cast<int>(threadIdx.x), lane = t % 32;
    partial[t] = 0;
    if (i < a.rows) {
        float sum = 0;
        for (int k = a.row_start[i] + lane; k < a.row_start[i + 1]; k += 32) sum += term(a, k);
        __syncthreads();
        dawdle();
        partial[t] = sum;
        __syncthreads();
        for (int distance = 16; distance > 0; distance /= 2) {
            if (lane < distance) partial[t] = partial[t] + partial[t + distance];
            __syncthreads();
        }
    }
    __syncthreads();
    const int warp = t - 96, row = static_cast<int>(blockIdx.x) * 4 + warp;
    if (warp >= 0 && warp < 4 && row < a.rows) a.y[row] = partial[32 * warp];
}

template <Kernel* kernel, unsigned threads_per_row, unsigned threads = 128>
void launch(const Problem<float>& p, Output<float>& y, Stopwatch& watch) {
    const DeviceProblem<float> a(p);
    gpulab::DeviceBuffer<float> out(p.matrix.rows);
    const Arguments arguments{a.row_start.data(),
                              a.column.data(),
                              a.value.data(),
                              a.x.data(),
                              out.data(),
                              a.rows,
                              static_cast<int>(p.matrix.columns),
                              a.nonzeros};
    // threads_per_row = 0: a thread per entry
    const std::size_t n =
        threads_per_row ? p.matrix.rows * threads_per_row : std::max(p.matrix.nonzeros(), p.matrix.rows);
    gpulab::watch_stream(
        watch, [&](cudaStream_t stream) { kernel<<<gpulab::grid_size(n, threads), threads, 0, stream>>>(arguments); });
    out.copy_to(y);
}

} // namespace

std::span<const WrongVariant> cuda_variants() {
    static const std::array table = {
        WrongVariant{"pointer_as_count", "the cumulative row pointer taken for a count", launch<pointer_as_count, 1>},
        WrongVariant{"accumulates", "y += on memory that nobody cleared", launch<accumulates, 1>},
        WrongVariant{"no_bounds_check", "threads beyond the last row write", launch<no_bounds_check, 1>},
        WrongVariant{"last_entry_twice", "<= for < at the end of a row", launch<last_entry_twice, 1>},
        WrongVariant{"empty_rows_unwritten", "rows without entries left out", launch<empty_rows_unwritten, 1>},
        WrongVariant{"x_by_position", "x[k] for x[column[k]]", launch<x_by_position, 1>},
        WrongVariant{"writes_nothing", "an empty kernel", launch<writes_nothing, 1>},
        WrongVariant{"one_step_short", "the sum over lanes ends too early", launch<one_step_short, 32>},
        WrongVariant{"long_rows_cut", "no loop over a row longer than the warp", launch<long_rows_cut, 32>},
        WrongVariant{"no_atomics", "+= by several threads without an atomic", launch<no_atomics, 0>},
        WrongVariant{"no_first_barrier", "neighbours' sums read before any barrier", launch<no_first_barrier, 64, 64>},
        WrongVariant{"barrier_in_branch", "a barrier that not every thread reaches", launch<barrier_in_branch, 32>},
    };
    return table;
}

} // namespace spmv::wrong
