// Rung 1: one block, one thread per element. (Alfaro Vigo & Rossetto, program 2.8)
//
// The block has the shape of C. A block has at most 1024 threads, so C has at most 1024 elements; k may be any number.
// In the book's kernel threadIdx.x is the row index, as in the next rung; here it is the column index.
// Limit: one multiprocessor works, all others are idle.
#include <string>

#include "gpulab/cuda/timing.hpp"
#include "gpulab/error.hpp"
#include "matmul.hpp"

namespace matmul {

/// One thread per element of C, which is m = blockDim.y by n = blockDim.x.
template <class T> __global__ void one_block_kernel(const T* a, const T* b, T* c, int k) {
    // ANSWER one-thread-per-element
    const int i = threadIdx.y, j = threadIdx.x, n = blockDim.x;
    T sum = 0;
    for (int l = 0; l < k; ++l) sum += a[std::size_t(i) * k + l] * b[std::size_t(l) * n + j];
    c[i * n + j] = sum;
    // END ANSWER
}

template <class T> void cuda_one_block(const Problem<T>& p, Output<T>& c, Stopwatch& watch) {
    constexpr std::size_t most = 1024; // threads of a block, on every device since compute capability 2.0
    if (p.size() > most)
        throw gpulab::Unsupported("C has " + std::to_string(p.size()) + " elements, a block has at most " +
                                  std::to_string(most) + " threads");

    const gpulab::DeviceBuffer<T> a(p.a), b(p.b);
    gpulab::DeviceBuffer<T> out(p.size());
    watch.tile(most, "m").tile(most, "n");
    const auto launch = [&](cudaStream_t stream) {
        if (p.size() == 0) return; // a block of no threads is an error
        const dim3 threads(p.n, p.m);
        one_block_kernel<<<1, threads, 0, stream>>>(a.data(), b.data(), out.data(), p.k);
    };
    gpulab::watch_stream(watch, launch, gpulab::poisoning(out));
    out.copy_to(c);
}

INSTANTIATE_RUNG(cuda_one_block);

} // namespace matmul
