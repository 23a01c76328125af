// Rung 8: ELLPACK, one thread per row.
//
// Changed: the format; a thread still has a row, as in rung 1. The slots are stored column-major, so at each step of
// the loop the 32 threads of a warp read 32 neighbours. No row pointers, no sum across threads.
// There are three small differences from rung 1 besides the format: the hints of rung 5; offsets of 64 bits, because
// the number of slots may pass 2^31; and a comparison per slot that leaves out the padding.
// Limit: the padding, which is read too. With rows of equal length there is none. With a few long rows the format would
// take many times the memory of CSR, and the matrix is refused.
#include "device_memory.hpp"
#include "gpulab/cuda/timing.hpp"
#include "gpulab/sparse/convert.hpp"
#include "products.hpp"
#include "spmv.hpp"

namespace spmv {

/// One thread per row; any number of rows.
template <class T>
__global__ void ell_kernel(const int* __restrict__ column, const T* __restrict__ value, const T* __restrict__ x,
                           T* __restrict__ y, std::size_t rows, std::size_t width) {
    const std::size_t i = blockIdx.x * std::size_t{blockDim.x} + threadIdx.x;
    if (i >= rows) return;
    T sum = 0;
    // EXERCISE repair-ell
    //| // TODO: these lines have a mistake. Find it and repair it.
    for (std::size_t s = 0; s < width; ++s) { // 64 bits: s * rows may pass 2^31
        const int j = __ldcs(&column[s * rows + i]);
        if (j >= 0) sum += __ldcs(&value[s * rows + i]) * x[j]; // padding has column -1
    }
    // END EXERCISE
    y[i] = sum;
}

template <class T>
void ell_product(const gpulab::DeviceBuffer<int>& column, const gpulab::DeviceBuffer<T>& value,
                 const gpulab::DeviceBuffer<T>& x, gpulab::DeviceBuffer<T>& y, std::size_t width, cudaStream_t stream) {
    ell_kernel<<<gpulab::grid_size(y.size(), ell_threads), ell_threads, 0, stream>>>(
        column.data(), value.data(), x.data(), y.data(), y.size(), width);
}

template <class T> void cuda_ell(const Problem<T>& p, Output<T>& y, Stopwatch& watch) {
    const gpulab::Ell<T> a = gpulab::to_ell(p.matrix);
    check_device_memory("ELL", a.bytes());
    const gpulab::DeviceBuffer<int> column(a.column);
    const gpulab::DeviceBuffer<T> value(a.value), x(p.x);
    gpulab::DeviceBuffer<T> out(a.rows);
    watch.tile(ell_threads, "rows");
    gpulab::watch_stream(
        watch, [&](cudaStream_t stream) { ell_product(column, value, x, out, a.width, stream); },
        gpulab::poisoning(out));
    out.copy_to(y);
}

#define INSTANTIATE(T)                                                                                              \
    template void ell_product(const gpulab::DeviceBuffer<int>&, const gpulab::DeviceBuffer<T>&,                     \
                              const gpulab::DeviceBuffer<T>&, gpulab::DeviceBuffer<T>&, std::size_t, cudaStream_t); \
    template void cuda_ell(const Problem<T>&, Output<T>&, Stopwatch&);
INSTANTIATE(float)
INSTANTIATE(double)

} // namespace spmv
