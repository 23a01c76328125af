// Rung 3: a warp per row, with the partial sums added up by shuffles.
//
// Changed: only how the partial sums are added up. __shfl_down_sync(mask, sum, d) gives lane l the `sum` of lane l + d,
// straight from its register: no shared memory and no barrier.
// Limit: in rows shorter than 32 most lanes still have no entry.
#include "device_problem.hpp"
#include "gpulab/cuda/timing.hpp"

namespace spmv {

/// A warp per row; blockDim.x is a multiple of 32.
template <class T>
__global__ void warp_shuffle_kernel(const int* row_start, const int* column, const T* value, const T* x, T* y,
                                    int rows) {
    // ANSWER slice-per-row
    const unsigned lane = threadIdx.x % 32;
    const unsigned i = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    if (i >= static_cast<unsigned>(rows)) return; // the same for all lanes of a warp

    T sum = 0;
    for (int k = row_start[i] + static_cast<int>(lane); k < row_start[i + 1]; k += 32) sum += value[k] * x[column[k]];
    for (int distance = 16; distance > 0; distance /= 2) sum += __shfl_down_sync(0xFFFFFFFFu, sum, distance);
    if (lane == 0) y[i] = sum;
    // END ANSWER
}

template <class T> void cuda_warp_shuffle(const Problem<T>& p, Output<T>& y, Stopwatch& watch) {
    const DeviceProblem<T> a(p);
    gpulab::DeviceBuffer<T> out(p.matrix.rows);

    constexpr unsigned threads = 128;
    const unsigned blocks = gpulab::grid_size(p.matrix.rows, threads / 32);
    watch.tile(threads / 32, "rows");
    watch.tile(32, "row length");
    const auto launch = [&](cudaStream_t stream) {
        warp_shuffle_kernel<<<blocks, threads, 0, stream>>>(a.row_start.data(), a.column.data(), a.value.data(),
                                                            a.x.data(), out.data(), a.rows);
    };
    gpulab::watch_stream(watch, launch, gpulab::poisoning(out));
    out.copy_to(y);
}

INSTANTIATE_RUNG(cuda_warp_shuffle);

} // namespace spmv
