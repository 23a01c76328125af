// Study book-launch: cyclic reduction with the launch of the book's measurements. (Book 3.4 and 3.5, section 3.4)
//
// A block of n / 2 threads and 5 n numbers of shared memory for each system, where cuda_cr has 256 threads and 4 n
// numbers. The kernel is that of cuda_cr_one_block, on the system of its block.
#include "device_problem.hpp"
#include "gpulab/cuda/timing.hpp"
#include "studies.hpp"

namespace tridiagonal {

namespace {
constexpr unsigned book_cr_most = 1024; // unknowns: 5 arrays of double take 40 of 48 KiB
}

/// A block of at least n / 2 threads per system. Shared memory: 5 n numbers.
template <class T>
__global__ void __launch_bounds__(book_cr_most / 2)
    book_cr_kernel(const T* a_in, const T* b_in, const T* c_in, const T* d_in, T* x_out, std::int32_t* zero_pivot,
                   unsigned n) {
    // ANSWER cr
    extern __shared__ __align__(sizeof(double)) unsigned char memory[];
    T* const a = reinterpret_cast<T*>(memory);
    T* const b = a + n;
    T* const c = b + n;
    T* const d = c + n;
    T* const x = d + n;
    __shared__ unsigned zero;
    const unsigned k = threadIdx.x;
    const std::size_t begin = static_cast<std::size_t>(blockIdx.x) * n;

    if (k == 0) zero = 0xFFFFFFFFu;
    for (unsigned i = k; i < n; i += blockDim.x) {
        a[i] = a_in[begin + i];
        b[i] = b_in[begin + i];
        c[i] = c_in[begin + i];
        d[i] = d_in[begin + i];
    }
    __syncthreads();

    unsigned step = 1;
    for (; 2 * step <= n; step *= 2) {
        const unsigned i = (k + 1) * 2 * step - 1;
        if (i < n) {
            const unsigned left = i - step, right = i + step;
            const T alpha = a[i] / b[left];
            T new_b = b[i] - alpha * c[left], new_d = d[i] - alpha * d[left], new_c = 0;
            const T new_a = left < step ? T{0} : -alpha * a[left];
            if (right < n) {
                const T beta = c[i] / b[right];
                new_b -= beta * a[right];
                new_d -= beta * d[right];
                if (right + step < n) new_c = -beta * c[right];
            }
            a[i] = new_a;
            b[i] = new_b;
            c[i] = new_c;
            d[i] = new_d;
        }
        __syncthreads();
    }
    for (; step > 0; step /= 2) {
        const unsigned i = k * 2 * step + step - 1;
        if (i < n) {
            T sum = d[i];
            if (i >= step) sum -= a[i] * x[i - step];
            if (i + step < n) sum -= c[i] * x[i + step];
            x[i] = sum / b[i];
            if (b[i] == T{0}) atomicMin(&zero, i);
        }
        __syncthreads();
    }
    for (unsigned i = k; i < n; i += blockDim.x) x_out[begin + i] = x[i];
    if (k == 0) zero_pivot[blockIdx.x] = static_cast<std::int32_t>(zero);
    // END ANSWER
}

template <class T> void cuda_book_cr(const Problem<T>& p, Output<T>& out, Stopwatch& watch) {
    // ANSWER cr
    //| throw gpulab::Unsupported("withheld, because it tells the answer of the exercise cr");
    // END ANSWER
    if (p.n > book_cr_most) throw too_many_unknowns(p.n, book_cr_most);
    const DeviceProblem<T> in(p);
    DeviceOutput<T> result(p);
    const unsigned threads = (in.n + 1) / 2;
    const auto launch = [&](cudaStream_t stream) {
        book_cr_kernel<<<in.systems, threads, 5 * in.n * sizeof(T), stream>>>(
            in.a.data(), in.b.data(), in.c.data(), in.d.data(), result.x.data(), result.zero_pivot.data(), in.n);
    };
    gpulab::watch_stream(watch, launch, gpulab::poisoning(result));
    result.copy_to(out);
}

INSTANTIATE_RUNG(cuda_book_cr);

} // namespace tridiagonal
