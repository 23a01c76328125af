// Rung 11: DIA, one thread per row.
//
// Changed: the format of rung 8 without its columns. Every diagonal that holds an entry is stored in full, and the
// column is the row plus the diagonal's offset. At each step the threads of a warp read neighbouring values and
// neighbouring elements of x: nothing is gathered.
// Limit: the padding, which is read and multiplied, too; so x must be finite. A matrix with random columns has an entry
// on nearly every diagonal, and is refused.
#include "device_memory.hpp"
#include "gpulab/cuda/timing.hpp"
#include "gpulab/sparse/convert.hpp"
#include "spmv.hpp"

namespace spmv {

namespace {
constexpr unsigned dia_threads = 128;
}

/// One thread per row; any number of rows. @param offset column - row of each diagonal, the same for all threads
template <class T>
__global__ void dia_kernel(const int* __restrict__ offset, const T* __restrict__ value, const T* __restrict__ x,
                           T* __restrict__ y, std::size_t rows, std::size_t columns, int diagonals) {
    const std::size_t i = blockIdx.x * std::size_t{blockDim.x} + threadIdx.x;
    if (i >= rows) return;
    T sum = 0;
    for (int d = 0; d < diagonals; ++d) {
        const long long j = static_cast<long long>(i) + offset[d];
        if (j >= 0 && j < static_cast<long long>(columns)) // else the diagonal has left the matrix
            sum += __ldcs(&value[d * rows + i]) * x[j];    // 64 bits, as rows has
    }
    y[i] = sum;
}

template <class T> void cuda_dia(const Problem<T>& p, Output<T>& y, Stopwatch& watch) {
    check_finite_x(p, "DIA");
    const gpulab::Dia<T> a = gpulab::to_dia(p.matrix);
    check_device_memory("DIA", a.bytes());
    const gpulab::DeviceBuffer<int> offset(a.offset);
    const gpulab::DeviceBuffer<T> value(a.value), x(p.x);
    gpulab::DeviceBuffer<T> out(a.rows);
    watch.tile(dia_threads, "rows");
    const auto launch = [&](cudaStream_t stream) {
        dia_kernel<<<gpulab::grid_size(a.rows, dia_threads), dia_threads, 0, stream>>>(
            offset.data(), value.data(), x.data(), out.data(), a.rows, a.columns, static_cast<int>(offset.size()));
    };
    gpulab::watch_stream(watch, launch, gpulab::poisoning(out));
    out.copy_to(y);
}

INSTANTIATE_RUNG(cuda_dia);

} // namespace spmv
