// Rung 4: 2, 4, 8, 16 or 32 lanes per row, chosen by the mean row length.
//
// Changed: only the number of lanes that share a row. A warp is cut into groups of `lanes` lanes, and each group takes
// a row: with five entries per row, 16 groups of two lanes leave fewer lanes without an entry than one group of 32. The
// number is chosen so that a lane has two to four entries on average, as far as 2 to 32 lanes allow. The fourth
// argument of the shuffle is the width of a group: no lane receives a value from another group. The number of lanes is
// a template parameter, so the compiler knows it and unrolls the loop of shuffles.
// Limit: one number of lanes for all rows. A warp waits for its longest row.
#include <algorithm>
#include <bit>

#include "device_problem.hpp"
#include "gpulab/cuda/timing.hpp"

namespace spmv {

namespace {
constexpr unsigned lanes_threads = 128;
}

/// `lanes` neighbouring threads per row, a power of two up to 32.
template <class T, unsigned lanes>
__global__ void lanes_kernel(const int* row_start, const int* column, const T* value, const T* x, T* y, int rows) {
    // ANSWER slice-per-row
    const unsigned lane = threadIdx.x % lanes;
    const unsigned i = blockIdx.x * (lanes_threads / lanes) + threadIdx.x / lanes;
    // Groups beyond the last row stay: the mask of the shuffle below names all 32 lanes of the warp.
    const bool inside = i < static_cast<unsigned>(rows);
    const int begin = inside ? row_start[i] : 0;
    const int end = inside ? row_start[i + 1] : 0;

    T sum = 0;
    for (int k = begin + static_cast<int>(lane); k < end; k += lanes) sum += value[k] * x[column[k]];
#pragma unroll
    for (unsigned distance = lanes / 2; distance > 0; distance /= 2)
        sum += __shfl_down_sync(0xFFFFFFFFu, sum, distance, lanes);
    if (inside && lane == 0) y[i] = sum;
    // END ANSWER
}

template <class T> void cuda_lanes(const Problem<T>& p, Output<T>& y, Stopwatch& watch) {
    const DeviceProblem<T> a(p);
    gpulab::DeviceBuffer<T> out(p.matrix.rows);

    const std::size_t mean = p.matrix.nonzeros() / std::max<std::size_t>(p.matrix.rows, 1);
    const unsigned lanes = std::bit_floor(static_cast<unsigned>(std::clamp<std::size_t>(mean / 2, 2, 32)));
    const auto kernel = lanes == 2    ? lanes_kernel<T, 2>
                        : lanes == 4  ? lanes_kernel<T, 4>
                        : lanes == 8  ? lanes_kernel<T, 8>
                        : lanes == 16 ? lanes_kernel<T, 16>
                                      : lanes_kernel<T, 32>;
    const unsigned blocks = gpulab::grid_size(p.matrix.rows, lanes_threads / lanes);
    watch.tile(lanes_threads / lanes, "rows");
    watch.tile(lanes, "row length");
    const auto launch = [&](cudaStream_t stream) {
        kernel<<<blocks, lanes_threads, 0, stream>>>(a.row_start.data(), a.column.data(), a.value.data(), a.x.data(),
                                                     out.data(), a.rows);
    };
    gpulab::watch_stream(watch, launch, gpulab::poisoning(out));
    out.copy_to(y);
}

INSTANTIATE_RUNG(cuda_lanes);

} // namespace spmv
