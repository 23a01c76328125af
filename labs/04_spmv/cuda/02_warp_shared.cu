// Rung 2: a warp per row, known as CSR-vector (Bell and Garland, SC 2009), the 32 partial sums added up in shared
// memory. (Blog)
//
// Changed: lane l takes entries l, l + 32, ... of the row, so a warp's loads are neighbours. Then the 32 partial sums
// are halved: lane l adds that of lane l + 16, then l + 8, ...
// The blog's kernel has three faults, mended here. It adds to y without clearing it. Its first halving step reads
// neighbours' sums before any barrier. And its __syncthreads() stands in a branch that warps beyond the last row do not
// take. Only lanes of one warp work together, so __syncwarp() is enough, and a whole warp may leave early.
// Blocks have 512 threads instead of 128.
// Limit: rows shorter than 32, where most lanes have nothing to do; and the trip through shared memory.
#include "device_problem.hpp"
#include "gpulab/cuda/timing.hpp"
#include "gpulab/math.hpp"
#include "gpulab/poisoning.hpp"

namespace spmv {

namespace {
constexpr unsigned warp_shared_threads = 512;
}

/// A warp per row, blockDim.x / 32 rows per block.
template <class T>
__global__ void __launch_bounds__(warp_shared_threads)
    warp_shared_kernel(const int* row_start, const int* column, const T* value, const T* x, T* y, int rows) {
    __shared__ T partial[warp_shared_threads];
    const unsigned lane = threadIdx.x % 32;
    const unsigned i = blockIdx.x * (warp_shared_threads / 32) + threadIdx.x / 32;
    if (i >= static_cast<unsigned>(rows)) return; // the same for all lanes of a warp

    T sum = 0;
    for (int k = row_start[i] + static_cast<int>(lane); k < row_start[i + 1]; k += 32) sum += value[k] * x[column[k]];
    partial[threadIdx.x] = sum;
    __syncwarp(); // the first step reads what other lanes have written
    for (unsigned distance = 16; distance > 0; distance /= 2) {
        if (lane < distance) partial[threadIdx.x] += partial[threadIdx.x + distance];
        __syncwarp(); // outside the branch: every lane arrives
    }
    if (lane == 0) y[i] = partial[threadIdx.x];
}

template <class T> void cuda_warp_shared(const Problem<T>& p, Output<T>& y, Stopwatch& watch) {
    const DeviceProblem<T> a(p);
    gpulab::DeviceBuffer<T> out(p.matrix.rows);

    const unsigned blocks = gpulab::grid_size(p.matrix.rows, warp_shared_threads / 32);
    watch.tile(warp_shared_threads / 32, "rows");
    watch.tile(32, "row length");
    gpulab::watch_stream(
        watch,
        [&](cudaStream_t stream) {
            warp_shared_kernel<<<blocks, warp_shared_threads, 0, stream>>>(
                a.row_start.data(), a.column.data(), a.value.data(), a.x.data(), out.data(), a.rows);
        },
        gpulab::poisoning(out));
    out.copy_to(y);
}

template void cuda_warp_shared(const Problem<float>&, Output<float>&, Stopwatch&);
template void cuda_warp_shared(const Problem<double>&, Output<double>&, Stopwatch&);

} // namespace spmv
