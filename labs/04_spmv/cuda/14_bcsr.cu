// Rung 14: BCSR, blocks of 2 x 2 elements, one thread per row.
//
// Changed: as rung 1, with blocks for entries. A column is read once for four elements. The two threads of a row of
// blocks read the two rows of each block, two values each, which one load of a pair brings.
// Limit: loads a row of blocks apart, as in rung 1; the padding, which is read and multiplied, too. So x must be
// finite. A block with a single entry stores three zeros.
#include "device_memory.hpp"
#include "gpulab/cuda/timing.hpp"
#include "gpulab/sparse/convert.hpp"
#include "spmv.hpp"

namespace spmv {

namespace {
constexpr unsigned bcsr_threads = 128;

/// A row of a block. Its alignment lets one load bring both values.
template <class T> struct alignas(2 * sizeof(T)) Pair { T left, right; };
} // namespace

/// One thread per row; any number of rows. @param value row i % 2 of block k is pair 2 k + i % 2
template <class T>
__global__ void bcsr_kernel(const std::int64_t* __restrict__ block_start, const int* __restrict__ block_column,
                            const Pair<T>* __restrict__ value, const T* __restrict__ x, T* __restrict__ y,
                            std::size_t rows, std::size_t columns) {
    const std::size_t i = blockIdx.x * std::size_t{blockDim.x} + threadIdx.x;
    if (i >= rows) return;
    const std::int64_t end = block_start[i / 2 + 1];
    T sum = 0;
    for (std::int64_t k = block_start[i / 2]; k < end; ++k) {
        const Pair<T> row_of_block = value[2 * k + static_cast<std::int64_t>(i % 2)];
        const std::size_t j = 2 * static_cast<std::size_t>(block_column[k]);
        sum += row_of_block.left * x[j];
        if (j + 1 < columns) sum += row_of_block.right * x[j + 1]; // the number of columns may be odd
    }
    y[i] = sum;
}

template <class T> void cuda_bcsr(const Problem<T>& p, Output<T>& y, Stopwatch& watch) {
    check_finite_x(p, "BCSR");
    const gpulab::Bcsr<T> a = gpulab::to_bcsr(p.matrix);
    check_device_memory("BCSR", a.bytes());
    const gpulab::DeviceBuffer<std::int64_t> block_start(a.block_start);
    const gpulab::DeviceBuffer<int> block_column(a.block_column);
    const gpulab::DeviceBuffer<T> value(a.value), x(p.x);
    gpulab::DeviceBuffer<T> out(a.rows);
    watch.tile(bcsr_threads, "rows");
    const auto launch = [&](cudaStream_t stream) {
        bcsr_kernel<<<gpulab::grid_size(a.rows, bcsr_threads), bcsr_threads, 0, stream>>>(
            block_start.data(), block_column.data(), reinterpret_cast<const Pair<T>*>(value.data()), x.data(),
            out.data(), a.rows, a.columns);
    };
    gpulab::watch_stream(watch, launch, gpulab::poisoning(out));
    out.copy_to(y);
}

INSTANTIATE_RUNG(cuda_bcsr);

} // namespace spmv
