// CUDA rung 4: Thomas, a thread for each system. (Book, exercise 3.3)
//
// Changed: no work is shared within a system. Thousands of systems keep thousands of threads busy, each with the loop
// of cpu_thomas and its eight operations per unknown.
// Limit: neighbouring threads read numbers that lie n apart, so each load of a warp touches 32 different
// sectors of 32 bytes, where eight would hold 32 neighbouring doubles. And a single system has a single thread.
#include "device_problem.hpp"
#include "gpulab/cuda/timing.hpp"

namespace tridiagonal {

namespace {
constexpr unsigned thomas_threads = 128;
}

/// A thread per system. @param c_new scratch for c', as large as c
template <class T>
__global__ void thomas_kernel(const T* a, const T* b, const T* c, const T* d, T* c_new, T* x, std::int32_t* zero_pivot,
                              unsigned n, unsigned systems) {
    const unsigned s = blockIdx.x * blockDim.x + threadIdx.x;
    if (s >= systems) return;
    const std::size_t begin = static_cast<std::size_t>(s) * n;
    std::int32_t zero = no_zero_pivot;
    // EXERCISE thomas
    //| // TODO: down the rows, eliminate the unknown before: c' goes to c_new, d' to x. Note the first row whose pivot
    //| // is 0 in `zero`. Then up the rows: subtract c' times the unknown after. a of row 0 and c of row n - 1 have no
    //| // meaning.
    //| (void)a, (void)b, (void)c, (void)d, (void)c_new;
    //| for (unsigned i = 0; i < n; ++i) x[begin + i] = T{0};
    T c_before = 0, d_before = 0;
    for (unsigned i = 0; i < n; ++i) {
        const std::size_t at = begin + i;
        const T pivot = i == 0 ? b[at] : b[at] - a[at] * c_before;
        if (pivot == T{0} && zero == no_zero_pivot) zero = static_cast<std::int32_t>(i);
        d_before = x[at] = (i == 0 ? d[at] : d[at] - a[at] * d_before) / pivot;
        c_before = c_new[at] = c[at] / pivot;
    }
    T x_after = d_before;
    for (unsigned i = n - 1; i-- > 0;) x_after = x[begin + i] -= c_new[begin + i] * x_after;
    // END EXERCISE
    zero_pivot[s] = zero;
}

template <class T> void cuda_thomas(const Problem<T>& p, Output<T>& out, Stopwatch& watch) {
    check_one_thread(p.n);
    const DeviceProblem<T> in(p);
    DeviceOutput<T> result(p);
    gpulab::DeviceBuffer<T> c_new(p.size());

    const unsigned blocks = gpulab::grid_size(p.systems, thomas_threads);
    watch.tile(thomas_threads, "systems");
    const auto launch = [&](cudaStream_t stream) {
        thomas_kernel<<<blocks, thomas_threads, 0, stream>>>(in.a.data(), in.b.data(), in.c.data(), in.d.data(),
                                                             c_new.data(), result.x.data(), result.zero_pivot.data(),
                                                             in.n, in.systems);
    };
    gpulab::watch_stream(watch, launch, gpulab::poisoning(result, c_new));
    result.copy_to(out);
}

INSTANTIATE_RUNG(cuda_thomas);

} // namespace tridiagonal
