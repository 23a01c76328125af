// Rung 9: COO, coordinates, one thread per entry.
//
// Changed: the format. Every thread has exactly one entry, so the work is even whatever the rows look like. But the
// entries of a row now belong to several threads, which must all add to the same element of y. With one atomic addition
// per entry, the additions of a long row would wait for each other. So a warp first adds up its runs of entries of the
// same row by shuffles (a segmented sum), and only the first lane of each run adds to y. This is right for entries in
// any order, and fast when they are sorted by row.
// Limit: 4 more bytes per entry for its row, the clearing of y, and the atomic additions that remain.
#include "gpulab/cuda/timing.hpp"
#include "gpulab/sparse/convert.hpp"
#include "products.hpp"
#include "spmv.hpp"

namespace spmv {

/// One thread per entry. Adds to y, which must be zero before the product. blockDim.x is a multiple of 32.
template <class T>
__global__ void coo_kernel(const int* __restrict__ row, const int* __restrict__ column, const T* __restrict__ value,
                           const T* __restrict__ x, T* y, std::size_t nonzeros) {
    const std::size_t k = blockIdx.x * std::size_t{blockDim.x} + threadIdx.x;
    const bool inside = k < nonzeros;
    const int i = inside ? __ldcs(&row[k]) : -1; // threads beyond the end stay for the shuffles
    T sum = inside ? __ldcs(&value[k]) * x[__ldcs(&column[k])] : T{0};

    const unsigned lane = threadIdx.x % 32;
    // A lane adds the sum of lane + distance only if that lane is in the same run of equal rows. Comparing the two rows
    // would not be enough: a row may come up twice in a warp, with another row in between.
    const int row_before = __shfl_up_sync(0xFFFFFFFFu, i, 1);
    const bool head = lane == 0 || row_before != i;
    // Bit l of __ballot_sync says whether lane l is a head; __ffs gives the place of the lowest 1, counted from 1.
    const unsigned heads = __ballot_sync(0xFFFFFFFFu, head);
    const unsigned later_heads = lane == 31 ? 0 : heads >> (lane + 1);
    const unsigned run_end = later_heads ? lane + static_cast<unsigned>(__ffs(static_cast<int>(later_heads))) : 32;
#pragma unroll
    for (unsigned distance = 1; distance < 32; distance *= 2) {
        const T other = __shfl_down_sync(0xFFFFFFFFu, sum, distance);
        if (lane + distance < run_end) sum += other;
    }
    if (head && inside) atomicAdd(&y[i], sum);
}

template <class T>
void add_coo_product(const gpulab::DeviceBuffer<int>& row, const gpulab::DeviceBuffer<int>& column,
                     const gpulab::DeviceBuffer<T>& value, const gpulab::DeviceBuffer<T>& x, gpulab::DeviceBuffer<T>& y,
                     cudaStream_t stream) {
    coo_kernel<<<gpulab::grid_size(value.size(), coo_threads), coo_threads, 0, stream>>>(
        row.data(), column.data(), value.data(), x.data(), y.data(), value.size());
}

template <class T>
void coo_product(const gpulab::DeviceBuffer<int>& row, const gpulab::DeviceBuffer<int>& column,
                 const gpulab::DeviceBuffer<T>& value, const gpulab::DeviceBuffer<T>& x, gpulab::DeviceBuffer<T>& y,
                 cudaStream_t stream) {
    CUDA_CHECK(cudaMemsetAsync(y.data(), 0, y.bytes(), stream)); // += needs zeros to start from: part of the product
    add_coo_product(row, column, value, x, y, stream);
}

template <class T>
void cuda_multiply_coo(const gpulab::Coo<T>& a, const std::vector<T>& x_host, Output<T>& y, Stopwatch& watch) {
    const gpulab::DeviceBuffer<int> row(a.row), column(a.column);
    const gpulab::DeviceBuffer<T> value(a.value), x(x_host);
    gpulab::DeviceBuffer<T> out(a.rows);
    watch.tile(32, "nnz"); // that a warp adds up by row
    watch.tile(coo_threads, "nnz");
    gpulab::watch_stream(
        watch, [&](cudaStream_t stream) { coo_product(row, column, value, x, out, stream); }, gpulab::poisoning(out));
    out.copy_to(y);
}

template <class T> void cuda_coo(const Problem<T>& p, Output<T>& y, Stopwatch& watch) {
    cuda_multiply_coo(gpulab::to_coo(p.matrix), p.x, y, watch);
}

#define INSTANTIATE(T)                                                                                     \
    template void add_coo_product(const gpulab::DeviceBuffer<int>&, const gpulab::DeviceBuffer<int>&,      \
                                  const gpulab::DeviceBuffer<T>&, const gpulab::DeviceBuffer<T>&,          \
                                  gpulab::DeviceBuffer<T>&, cudaStream_t);                                 \
    template void coo_product(const gpulab::DeviceBuffer<int>&, const gpulab::DeviceBuffer<int>&,          \
                              const gpulab::DeviceBuffer<T>&, const gpulab::DeviceBuffer<T>&,              \
                              gpulab::DeviceBuffer<T>&, cudaStream_t);                                     \
    template void cuda_multiply_coo(const gpulab::Coo<T>&, const std::vector<T>&, Output<T>&, Stopwatch&); \
    template void cuda_coo(const Problem<T>&, Output<T>&, Stopwatch&);
INSTANTIATE(float)
INSTANTIATE(double)

} // namespace spmv
