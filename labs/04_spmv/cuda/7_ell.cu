// Rung 7: ELLPACK, one thread per row.
//
// Changed: the format, not the mapping. Slot s of row i stands at s * rows + i, so the thread-per-row loop, which did
// not coalesce with CSR, reads 32 neighbours at each step here. No row pointers, no sum across threads.
// Limit: the padding is read too. With rows of equal length there is none; with a few long rows the format explodes and
// the matrix is refused.
#include "device_problem.hpp"
#include "gpulab/cuda/timing.hpp"
#include "gpulab/math.hpp"
#include "gpulab/sparse/convert.hpp"

namespace spmv {

/// One thread per row; any number of rows.
template <class T>
__global__ void ell_kernel(const int* __restrict__ column, const T* __restrict__ value, const T* __restrict__ x,
                           T* __restrict__ y, std::size_t rows, std::size_t width) {
    const std::size_t i = blockIdx.x * std::size_t{blockDim.x} + threadIdx.x;
    if (i >= rows) return;
    T sum = 0;
    for (std::size_t s = 0; s < width; ++s) { // 64 bits: s * rows may pass 2^31
        const int j = __ldcs(&column[s * rows + i]);
        if (j >= 0) sum += __ldcs(&value[s * rows + i]) * x[j]; // padding has column -1
    }
    y[i] = sum;
}

template <class T> void cuda_ell(const Problem<T>& p, Output<T>& y, Stopwatch& watch) {
    const gpulab::Ell<T> a = gpulab::to_ell(p.matrix);
    const gpulab::DeviceBuffer<int> column(a.column);
    const gpulab::DeviceBuffer<T> value(a.value), x(p.x);
    gpulab::DeviceBuffer<T> out(a.rows);

    constexpr unsigned threads = 128;
    const unsigned blocks = gpulab::grid_size(a.rows, threads);
    gpulab::watch_stream(watch, [&](cudaStream_t stream) {
        ell_kernel<<<blocks, threads, 0, stream>>>(column.data(), value.data(), x.data(), out.data(), a.rows, a.width);
    });
    out.copy_to(y);
}

template void cuda_ell(const Problem<float>&, Output<float>&, Stopwatch&);
template void cuda_ell(const Problem<double>&, Output<double>&, Stopwatch&);

} // namespace spmv
