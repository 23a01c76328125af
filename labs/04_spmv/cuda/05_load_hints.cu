// Rung 5: the kernel of rung 4 with hints on its loads.
//
// Changed: only what the compiler and the caches are told about the arrays.
//   - Each value and each column is read once, but x is read again and again. __ldcs loads a number that will not be
//     needed again: the caches should evict it first, so that more of x stays in them.
//   - __restrict__ promises that y overlaps none of the arrays that are read. The compiler may then load them as
//     read-only data and move loads past stores. This kernel has a single store at its end, so only the kind of load
//     changes (ld.global.nc in the PTX code).
// The rungs below have both hints, unless they say otherwise.
// On an H200 the hints do not pay everywhere. On the Laplacian the rung is about a tenth slower than rung 4. On the
// power-law matrix it is as fast in float and about a tenth faster in double. An inference, not a measurement: when
// rows are short, the lanes of neighbouring rows share sectors of the values and columns, and a sector that may be
// evicted first can be gone before the neighbours have used it.
// Limit: the same as in rung 4; with short rows also the hints.
#include <algorithm>
#include <bit>

#include "device_problem.hpp"
#include "gpulab/cuda/timing.hpp"

namespace spmv {

namespace {
constexpr unsigned load_hints_threads = 128;
}

/// `lanes` neighbouring threads per row, a power of two up to 32.
template <class T, unsigned lanes>
__global__ void load_hints_kernel(const int* __restrict__ row_start, const int* __restrict__ column,
                                  const T* __restrict__ value, const T* __restrict__ x, T* __restrict__ y, int rows) {
    // ANSWER slice-per-row
    const unsigned lane = threadIdx.x % lanes;
    const unsigned i = blockIdx.x * (load_hints_threads / lanes) + threadIdx.x / lanes;
    // Groups beyond the last row stay: the mask of the shuffle below names all 32 lanes of the warp.
    const bool inside = i < static_cast<unsigned>(rows);
    const int begin = inside ? row_start[i] : 0;
    const int end = inside ? row_start[i + 1] : 0;

    T sum = 0;
    for (int k = begin + static_cast<int>(lane); k < end; k += lanes) sum += __ldcs(&value[k]) * x[__ldcs(&column[k])];
#pragma unroll
    for (unsigned distance = lanes / 2; distance > 0; distance /= 2)
        sum += __shfl_down_sync(0xFFFFFFFFu, sum, distance, lanes);
    if (inside && lane == 0) y[i] = sum;
    // END ANSWER
}

template <class T> void cuda_load_hints(const Problem<T>& p, Output<T>& y, Stopwatch& watch) {
    const DeviceProblem<T> a(p);
    gpulab::DeviceBuffer<T> out(p.matrix.rows);

    const std::size_t mean = p.matrix.nonzeros() / std::max<std::size_t>(p.matrix.rows, 1);
    const unsigned lanes = std::bit_floor(static_cast<unsigned>(std::clamp<std::size_t>(mean / 2, 2, 32)));
    const auto kernel = lanes == 2    ? load_hints_kernel<T, 2>
                        : lanes == 4  ? load_hints_kernel<T, 4>
                        : lanes == 8  ? load_hints_kernel<T, 8>
                        : lanes == 16 ? load_hints_kernel<T, 16>
                                      : load_hints_kernel<T, 32>;
    const unsigned blocks = gpulab::grid_size(p.matrix.rows, load_hints_threads / lanes);
    watch.tile(load_hints_threads / lanes, "rows");
    watch.tile(lanes, "row length");
    const auto launch = [&](cudaStream_t stream) {
        kernel<<<blocks, load_hints_threads, 0, stream>>>(a.row_start.data(), a.column.data(), a.value.data(),
                                                          a.x.data(), out.data(), a.rows);
    };
    gpulab::watch_stream(watch, launch, gpulab::poisoning(out));
    out.copy_to(y);
}

INSTANTIATE_RUNG(cuda_load_hints);

} // namespace spmv
