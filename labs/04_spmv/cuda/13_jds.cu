// Rung 13: JDS, jagged diagonals: the rows sorted by falling length, one thread per row.
//
// Changed: the format of rung 8 with its rows sorted. The threads of a warp read neighbouring entries as there, but
// the rows of a warp are about equally long, so there is no padding to read and hardly any thread waits for another.
// Limit: the longest row is the work of one thread. y is written in the order of the sorted rows, which is scattered,
// and rows that were neighbours no longer share elements of x.
#include "gpulab/cuda/timing.hpp"
#include "gpulab/sparse/convert.hpp"
#include "spmv.hpp"

namespace spmv {

namespace {
constexpr unsigned jds_threads = 128;
}

/// One thread per row; any number of rows. Entry s of the r-th longest row is element start[s] + r. The jagged
/// diagonals become shorter, so the row ends at the first one that does not reach r.
/// @param width entries of the longest row
template <class T>
__global__ void jds_kernel(const int* __restrict__ row, const std::int64_t* __restrict__ start,
                           const int* __restrict__ column, const T* __restrict__ value, const T* __restrict__ x,
                           T* __restrict__ y, std::size_t rows, std::size_t width) {
    const std::size_t r = blockIdx.x * std::size_t{blockDim.x} + threadIdx.x;
    if (r >= rows) return;
    T sum = 0;
    for (std::size_t s = 0; s < width; ++s) {
        const std::int64_t k = start[s] + static_cast<std::int64_t>(r);
        if (k >= start[s + 1]) break;
        sum += __ldcs(&value[k]) * x[__ldcs(&column[k])];
    }
    y[row[r]] = sum;
}

template <class T> void cuda_jds(const Problem<T>& p, Output<T>& y, Stopwatch& watch) {
    const gpulab::Jds<T> a = gpulab::to_jds(p.matrix);
    const gpulab::DeviceBuffer<int> row(a.row), column(a.column);
    const gpulab::DeviceBuffer<std::int64_t> start(a.start);
    const gpulab::DeviceBuffer<T> value(a.value), x(p.x);
    gpulab::DeviceBuffer<T> out(a.rows);
    watch.tile(jds_threads, "rows");
    const auto launch = [&](cudaStream_t stream) {
        jds_kernel<<<gpulab::grid_size(a.rows, jds_threads), jds_threads, 0, stream>>>(
            row.data(), start.data(), column.data(), value.data(), x.data(), out.data(), a.rows, start.size() - 1);
    };
    gpulab::watch_stream(watch, launch, gpulab::poisoning(out));
    out.copy_to(y);
}

INSTANTIATE_RUNG(cuda_jds);

} // namespace spmv
