// Rung 2: a warp per row, with the 32 partial sums added up in shared memory. Known as CSR-vector (Bell and Garland,
// SC 2009). (Blog, program 2)
//
// Changed: lane l takes entries l, l + 32, ... of the row, so the 32 loads of a warp lie side by side. Then the partial
// sums are added up in halves: lanes 0 ... 15 add those of lanes 16 ... 31, lanes 0 ... 7 those of lanes 8 ... 15, ...
// Only the lanes of one warp exchange data, so __syncwarp(), the barrier of a warp, is enough, and a whole warp beyond
// the last row may leave early.
// The blog's kernel has three faults, which are corrected here. It adds to y without clearing it. Its first halving
// step reads its neighbours' sums before any barrier. Its __syncthreads() stands in a branch that the threads beyond
// the last row do not take.
// Limit: in rows shorter than 32 most lanes have no entry. Each halving step goes through shared memory.
#include "device_problem.hpp"
#include "gpulab/cuda/timing.hpp"

namespace spmv {

namespace {
constexpr unsigned warp_shared_threads = 128;
}

/// A warp per row; blocks of warp_shared_threads threads.
template <class T>
__global__ void warp_shared_kernel(const int* row_start, const int* column, const T* value, const T* x, T* y,
                                   int rows) {
    __shared__ T partial[warp_shared_threads];
    const unsigned lane = threadIdx.x % 32;
    const unsigned i = blockIdx.x * (warp_shared_threads / 32) + threadIdx.x / 32;
    if (i >= static_cast<unsigned>(rows)) return; // the same for all lanes of a warp

    // EXERCISE slice-per-row
    //| // TODO: lane l takes the entries l, l + 32, ... of the row. Then the lanes add up their sums in shared memory,
    //| // and lane 0 writes y. Where do the lanes of the warp have to wait?
    //| (void)row_start, (void)column, (void)value, (void)x;
    //| partial[threadIdx.x] = T{0};
    //| if (lane == 0) y[i] = partial[threadIdx.x];
    T sum = 0;
    for (int k = row_start[i] + static_cast<int>(lane); k < row_start[i + 1]; k += 32) sum += value[k] * x[column[k]];
    partial[threadIdx.x] = sum;
    __syncwarp(); // the first step reads what other lanes have written
    for (unsigned distance = 16; distance > 0; distance /= 2) {
        if (lane < distance) partial[threadIdx.x] += partial[threadIdx.x + distance];
        __syncwarp(); // outside the branch: every lane arrives
    }
    if (lane == 0) y[i] = partial[threadIdx.x];
    // END EXERCISE
}

template <class T> void cuda_warp_shared(const Problem<T>& p, Output<T>& y, Stopwatch& watch) {
    const DeviceProblem<T> a(p);
    gpulab::DeviceBuffer<T> out(p.matrix.rows);

    const unsigned blocks = gpulab::grid_size(p.matrix.rows, warp_shared_threads / 32);
    watch.tile(warp_shared_threads / 32, "rows");
    watch.tile(32, "row length");
    const auto launch = [&](cudaStream_t stream) {
        warp_shared_kernel<<<blocks, warp_shared_threads, 0, stream>>>(a.row_start.data(), a.column.data(),
                                                                       a.value.data(), a.x.data(), out.data(), a.rows);
    };
    gpulab::watch_stream(watch, launch, gpulab::poisoning(out));
    out.copy_to(y);
}

INSTANTIATE_RUNG(cuda_warp_shared);

} // namespace spmv
