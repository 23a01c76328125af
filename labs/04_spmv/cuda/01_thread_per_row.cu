// Rung 1: one thread per row. Known as CSR-scalar (Bell and Garland, SC 2009). (Aula 17, program 1; Blog,
// program 1)
//
// The loop of cpu_sequential, with the outer loop spread over the threads. Rows are independent, so nothing is shared.
// Limit: at each step neighbouring threads read entries that lie a row apart. In rows of 16 floats the 32 loads of a
// warp lie 64 bytes apart: they touch 32 sectors of 32 bytes, 1024 bytes, and use 128 of them. A warp also runs until
// its longest row is done.
#include "device_problem.hpp"
#include "gpulab/cuda/timing.hpp"

namespace spmv {

/// One thread per row; any number of rows.
template <class T>
__global__ void thread_per_row_kernel(const int* row_start, const int* column, const T* value, const T* x, T* y,
                                      int rows) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x; // rows < 2^31, so 32 bits hold it
    if (i >= static_cast<unsigned>(rows)) return;
    // EXERCISE thread-per-row
    //| // TODO: multiply row i by x. Its entries are row_start[i] ... row_start[i + 1] - 1 of column and value.
    //| (void)row_start, (void)column, (void)value, (void)x;
    //| y[i] = T{0};
    T sum = 0;
    for (int k = row_start[i]; k < row_start[i + 1]; ++k) sum += value[k] * x[column[k]];
    y[i] = sum;
    // END EXERCISE
}

template <class T> void cuda_thread_per_row(const Problem<T>& p, Output<T>& y, Stopwatch& watch) {
    const DeviceProblem<T> a(p); // allocate, copy in
    gpulab::DeviceBuffer<T> out(p.matrix.rows);

    constexpr unsigned threads = 128;
    const unsigned blocks = gpulab::grid_size(p.matrix.rows, threads);
    watch.tile(threads, "rows");
    const auto launch = [&](cudaStream_t stream) { // only this is kernel time
        thread_per_row_kernel<<<blocks, threads, 0, stream>>>(a.row_start.data(), a.column.data(), a.value.data(),
                                                              a.x.data(), out.data(), a.rows);
    };
    gpulab::watch_stream(watch, launch, gpulab::poisoning(out));

    out.copy_to(y); // copy out
}

INSTANTIATE_RUNG(cuda_thread_per_row);

} // namespace spmv
