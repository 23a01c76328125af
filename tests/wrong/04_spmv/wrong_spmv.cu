// Each kernel has one mistake. The right ones are in labs/04_spmv/cuda.
// No kernel reads outside its arrays: every stray index is pulled back, so that only the mistake itself is at fault.
// Except where that is the mistake: padding_multiplied and reads_one_past read one element outside, in the guard band.
#include <array>

#include "cuda/device_problem.hpp"
#include "gpulab/cuda/timing.hpp"
#include "gpulab/math.hpp"
#include "gpulab/poisoning.hpp"
#include "gpulab/sparse/convert.hpp"
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

__global__ void assumes_sorted(Arguments a) { // a column that is no larger than the one before: taken for the next row
    const int i = row_of_thread();
    if (i >= a.rows) return;
    float sum = 0;
    for (int k = a.row_start[i]; k < a.row_start[i + 1]; ++k) {
        if (k > a.row_start[i] && a.column[k] <= a.column[k - 1]) break;
        sum += term(a, k);
    }
    a.y[i] = sum;
}

__global__ void reads_one_past(Arguments a) { // two entries at a time: an odd row multiplies the next entry by 0
    const int i = row_of_thread();
    if (i >= a.rows) return;
    float sum = 0;
    for (int k = a.row_start[i]; k < a.row_start[i + 1]; k += 2) {
        const float second = k + 1 < a.row_start[i + 1] ? 1.0f : 0.0f;
        sum += a.value[k] * a.x[a.column[k]] + second * a.value[k + 1] * a.x[a.column[k + 1]];
    }
    a.y[i] = sum;
}

/// ELL; nonzeros stands for the width. Padding has value 0, but its column is -1.
__global__ void padding_multiplied(Arguments a) {
    const int i = row_of_thread();
    if (i >= a.rows) return;
    float sum = 0;
    for (int s = 0; s < a.nonzeros; ++s) sum += a.value[s * a.rows + i] * a.x[a.column[s * a.rows + i]];
    a.y[i] = sum;
}

/// COO; row_start stands for the row of each entry, y is zero before. The first entry of a run of a row's entries
/// stores the run's sum, as if a row had only one run.
__global__ void assumes_rows_in_order(Arguments a) {
    const int first = row_of_thread();
    if (first >= a.nonzeros || (first > 0 && a.row_start[first] == a.row_start[first - 1])) return;
    float sum = 0;
    for (int k = first; k < a.nonzeros && a.row_start[k] == a.row_start[first]; ++k) sum += term(a, k);
    a.y[a.row_start[first]] = sum;
}

/// Everything in double but x, which loses 29 of its 53 bits on the way.
__global__ void x_as_float(const int* row_start, const int* column, const double* value, const double* x, double* y,
                           int rows) {
    const int i = row_of_thread();
    if (i >= rows) return;
    double sum = 0;
    for (int k = row_start[i]; k < row_start[i + 1]; ++k) sum += value[k] * static_cast<float>(x[column[k]]);
    y[i] = sum;
}

__global__ void writes_nothing(Arguments) {}

__global__ void right(Arguments a) { // no mistake
    const int i = row_of_thread();
    if (i >= a.rows) return;
    float sum = 0;
    for (int k = a.row_start[i]; k < a.row_start[i + 1]; ++k) sum += term(a, k);
    a.y[i] = sum;
}

__global__ void zeros_skipped(Arguments a) { // a stored 0 is passed over, also where it meets infinity
    const int i = row_of_thread();
    if (i >= a.rows) return;
    float sum = 0;
    for (int k = a.row_start[i]; k < a.row_start[i + 1]; ++k)
        if (a.value[k] != 0) sum += term(a, k);
    a.y[i] = sum;
}

__global__ void columns_in_16_bits(Arguments a) { // counted from the row's first; one too many becomes 0
    const int i = row_of_thread();
    if (i >= a.rows) return;
    float sum = 0;
    const int begin = a.row_start[i];
    for (int k = begin; k < a.row_start[i + 1]; ++k)
        sum += a.value[k] * a.x[a.column[k] - a.column[begin] == 0x10000 ? a.column[begin] : a.column[k]];
    a.y[i] = sum;
}

/// Tiles of 64 entries add up their parts of a row; one that is carried on to the row's end is left out when it is NaN.
__global__ void nan_left_over_lost(Arguments a) {
    const int i = row_of_thread();
    if (i >= a.rows) return;
    float sum = 0;
    int k = a.row_start[i];
    const int end = a.row_start[i + 1];
    while (k < end) {
        float part = 0;
        const int edge = min(end, (k / 64 + 1) * 64);
        for (; k < edge; ++k) part += term(a, k);
        if (k == end || part > 0 || part < 0) sum += part;
    }
    a.y[i] = sum;
}

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

/// The block's sums in shared memory, a row for each thread; the entries of its rows are spread over all threads.
__global__ void not_cleared_in_time(Arguments a) { // sums are added to before all are cleared
    __shared__ float sums[128];
    const int first = static_cast<int>(blockIdx.x * blockDim.x), i = row_of_thread();
    const int last = min(first + static_cast<int>(blockDim.x), a.rows);
    sums[threadIdx.x] = 0; // a barrier is missing behind it
    for (int row = first; row < last; ++row)
        for (int k = a.row_start[row] + static_cast<int>(threadIdx.x); k < a.row_start[row + 1]; k += 128)
            atomicAdd(&sums[row - first], term(a, k));
    __syncthreads();
    if (i < a.rows) a.y[i] = sums[threadIdx.x];
}

__global__ void reads_outside(Arguments a) { // the row pointer behind the last one, also where it is not needed
    const int i = row_of_thread();
    if (i >= a.rows) return;
    float sum = 0;
    for (int k = a.row_start[i]; k < a.row_start[i + 1]; ++k) sum += term(a, k);
    a.y[i] = a.row_start[i + 2] >= 0 ? sum : sum + 0.0f;
}

__global__ void reads_unset(Arguments a) { // y, which nobody has written yet
    const int i = row_of_thread();
    if (i >= a.rows) return;
    float sum = a.y[i] > 0 ? 0.0f : -0.0f;
    for (int k = a.row_start[i]; k < a.row_start[i + 1]; ++k) sum += term(a, k);
    a.y[i] = sum;
}

/// What is wrong on the host, if anything.
enum class Host { right, first_run_only, last_block_of_one_lost };

template <Kernel* kernel, unsigned threads_per_row, unsigned threads = 128, Host host = Host::right>
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
    std::size_t n = threads_per_row ? p.matrix.rows * threads_per_row : std::max(p.matrix.nonzeros(), p.matrix.rows);
    if (host == Host::last_block_of_one_lost && n > 1) --n;
    watch.tile(threads, "rows");
    watch.tile(64, "nnz"); // of nan_left_over_lost
    int run = 0;
    gpulab::watch_stream(
        watch,
        [&](cudaStream_t stream) {
            if (host == Host::first_run_only && run++ > 0) return;
            kernel<<<gpulab::grid_size(n, threads), threads, 0, stream>>>(arguments);
        },
        gpulab::poisoning(out));
    out.copy_to(y);
}

void launch_ell(const Problem<float>& p, Output<float>& y, Stopwatch& watch) {
    const gpulab::Ell<float> a = gpulab::to_ell(p.matrix);
    const gpulab::DeviceBuffer<int> column(a.column);
    const gpulab::DeviceBuffer<float> value(a.value), x(p.x);
    gpulab::DeviceBuffer<float> out(a.rows);
    const Arguments arguments{nullptr,
                              column.data(),
                              value.data(),
                              x.data(),
                              out.data(),
                              static_cast<int>(a.rows),
                              static_cast<int>(a.columns),
                              static_cast<int>(a.width)};
    watch.tile(128, "rows");
    gpulab::watch_stream(
        watch,
        [&](cudaStream_t stream) { padding_multiplied<<<gpulab::grid_size(a.rows, 128), 128, 0, stream>>>(arguments); },
        gpulab::poisoning(out));
    out.copy_to(y);
}

void launch_coo(const gpulab::Coo<float>& a, const std::vector<float>& x_host, Output<float>& y, Stopwatch& watch) {
    const gpulab::DeviceBuffer<int> row(a.row), column(a.column);
    const gpulab::DeviceBuffer<float> value(a.value), x(x_host);
    gpulab::DeviceBuffer<float> out(a.rows);
    const Arguments arguments{row.data(),
                              column.data(),
                              value.data(),
                              x.data(),
                              out.data(),
                              static_cast<int>(a.rows),
                              static_cast<int>(a.columns),
                              static_cast<int>(a.nonzeros())};
    gpulab::watch_stream(
        watch,
        [&](cudaStream_t stream) {
            CUDA_CHECK(cudaMemsetAsync(out.data(), 0, out.bytes(), stream));
            assumes_rows_in_order<<<gpulab::grid_size(a.nonzeros(), 128), 128, 0, stream>>>(arguments);
        },
        gpulab::poisoning(out));
    out.copy_to(y);
}

void launch_x_as_float(const Problem<double>& p, Output<double>& y, Stopwatch& watch) {
    const DeviceProblem<double> a(p);
    gpulab::DeviceBuffer<double> out(p.matrix.rows);
    watch.tile(128, "rows");
    gpulab::watch_stream(
        watch,
        [&](cudaStream_t stream) {
            x_as_float<<<gpulab::grid_size(p.matrix.rows, 128), 128, 0, stream>>>(
                a.row_start.data(), a.column.data(), a.value.data(), a.x.data(), out.data(), a.rows);
        },
        gpulab::poisoning(out));
    out.copy_to(y);
}

} // namespace

void cuda_right(const Problem<float>& p, Output<float>& y, Stopwatch& watch) { launch<right, 1>(p, y, watch); }

std::span<const WrongVariant<Run<double>>> cuda_double_variants() {
    static const std::array table = {
        WrongVariant<Run<double>>{"x_as_float", "x in float on the way", launch_x_as_float}};
    return table;
}

std::span<const WrongVariant<RunCoo<float>>> cuda_coo_variants() {
    static const std::array table = {
        WrongVariant<RunCoo<float>>{"assumes_rows_in_order", "entries of a row taken to stand together", launch_coo}};
    return table;
}

std::span<const WrongVariant<Run<float>>> cuda_variants() {
    using V = WrongVariant<Run<float>>;
    static const std::array table = {
        V{"pointer_as_count", "the cumulative row pointer taken for a count", launch<pointer_as_count, 1>},
        V{"accumulates", "y += on memory that nobody cleared", launch<accumulates, 1>},
        V{"no_bounds_check", "threads beyond the last row write", launch<no_bounds_check, 1>},
        V{"last_entry_twice", "<= for < at the end of a row", launch<last_entry_twice, 1>},
        V{"empty_rows_unwritten", "rows without entries left out", launch<empty_rows_unwritten, 1>},
        V{"x_by_position", "x[k] for x[column[k]]", launch<x_by_position, 1>},
        V{"assumes_sorted", "columns taken to rise along a row", launch<assumes_sorted, 1>},
        V{"reads_one_past", "the entry behind the last one multiplied by 0", launch<reads_one_past, 1>},
        V{"padding_multiplied", "ELL padding not left out", launch_ell},
        V{"writes_nothing", "an empty kernel", launch<writes_nothing, 1>},
        V{"first_run_only", "works in its first run only", launch<right, 1, 128, Host::first_run_only>},
        V{"last_block_of_one_lost", "m tile + 1 rows lose the last", launch<right, 1, 96, Host::last_block_of_one_lost>,
          "sizes next to its tiles"},
        V{"nan_left_over_lost", "a part of a row that is NaN is not carried on", launch<nan_left_over_lost, 1>,
          "NaN and infinities"},
        V{"zeros_skipped", "0 times infinity left out", launch<zeros_skipped, 1>, "NaN and infinities"},
        V{"columns_in_16_bits", "a distance of 65536 taken for 0", launch<columns_in_16_bits, 1>, "columns far apart"},
        V{"one_step_short", "the sum over lanes ends too early", launch<one_step_short, 32>},
        V{"long_rows_cut", "no loop over a row longer than the warp", launch<long_rows_cut, 32>},
        V{"no_atomics", "+= by several threads without an atomic", launch<no_atomics, 0>},
        V{"no_first_barrier", "neighbours' sums read before any barrier", launch<no_first_barrier, 64, 64>},
        V{"barrier_in_branch", "a barrier that not every thread reaches", launch<barrier_in_branch, 32>},
        V{"not_cleared_in_time", "no barrier behind the clearing", launch<not_cleared_in_time, 1>, "",
          Forgiven::by_all},
        V{"reads_outside", "a row pointer too many read", launch<reads_outside, 1>, "", Forgiven::by_all},
        V{"reads_unset", "y read before it is written", launch<reads_unset, 1>, "", Forgiven::by_all},
    };
    return table;
}

} // namespace spmv::wrong
