// CUDA rung 1: cyclic reduction in one block, one system. (Book 3.2 and 3.3)
//
// The steps of cpu_cr, each shared out among n / 2 threads: thread k has equation (k + 1) 2 step - 1. A step reads what
// other threads wrote in the step before, hence the barriers. Within a step no thread reads what another one writes:
// counted from 1, the equations that change are even multiples of `step`, and they read their odd neighbours.
// The system is copied into shared memory first, because every number is read several times.
//   - `extern __shared__` is an array in shared memory whose size is the third argument of the launch. A kernel for
//     several types needs one array for all of them, an array of bytes.
//   - Zero pivots: each equation is a pivot once. atomicMin() on shared memory keeps the lowest such row; it begins
//     with the largest unsigned number, which read as an int is -1, no_zero_pivot.
// The printed kernel has faults that are corrected here:
//   - substitution: it takes c[i] and x[i +- var] for c[i1] and x[i1 +- var]. The thread's number is not the number of
//     its equation;
//   - in place of a neighbour outside the system it reads the last row, which is right only if c of that row is 0;
//   - n must be a power of two.
// Limit: one block occupies one multiprocessor; and in each step half of the active threads become idle.
#include "device_problem.hpp"
#include "gpulab/cuda/timing.hpp"

namespace tridiagonal {

namespace {
constexpr unsigned cr_one_block_most = 1024; // unknowns: 5 arrays of double take 40 of 48 KiB
}

/// One block of at least n / 2 threads. Shared memory: 5 n numbers.
template <class T>
__global__ void cr_one_block_kernel(const T* a_in, const T* b_in, const T* c_in, const T* d_in, T* x_out,
                                    std::int32_t* zero_pivot, unsigned n) {
    // ANSWER cr
    extern __shared__ __align__(sizeof(double)) unsigned char memory[];
    T* const a = reinterpret_cast<T*>(memory);
    T* const b = a + n;
    T* const c = b + n;
    T* const d = c + n;
    T* const x = d + n;
    __shared__ unsigned zero;
    const unsigned k = threadIdx.x;

    if (k == 0) zero = 0xFFFFFFFFu;
    for (unsigned i = k; i < n; i += blockDim.x) {
        a[i] = a_in[i];
        b[i] = b_in[i];
        c[i] = c_in[i];
        d[i] = d_in[i];
    }
    __syncthreads(); // all equations are here before anyone reads a neighbour

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
        __syncthreads(); // outside the branch: every thread of the block arrives
    }
    for (; step > 0; step /= 2) { // begins with the one equation that is left
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
    for (unsigned i = k; i < n; i += blockDim.x) x_out[i] = x[i];
    if (k == 0) *zero_pivot = static_cast<std::int32_t>(zero);
    // END ANSWER
}

template <class T> void cuda_cr_one_block(const Problem<T>& p, Output<T>& out, Stopwatch& watch) {
    if (p.systems > 1) throw gpulab::Unsupported("one block solves one system");
    if (p.n > cr_one_block_most) throw too_many_unknowns(p.n, cr_one_block_most);
    const DeviceProblem<T> in(p); // allocate, copy in
    DeviceOutput<T> result(p);

    const unsigned threads = (in.n + 1) / 2; // the last step back has as many equations
    watch.tile(cr_one_block_most, "unknowns");
    const auto launch = [&](cudaStream_t stream) { // only this is kernel time
        cr_one_block_kernel<<<1, threads, 5 * in.n * sizeof(T), stream>>>(
            in.a.data(), in.b.data(), in.c.data(), in.d.data(), result.x.data(), result.zero_pivot.data(), in.n);
    };
    gpulab::watch_stream(watch, launch, gpulab::poisoning(result));
    result.copy_to(out); // copy out
}

INSTANTIATE_RUNG(cuda_cr_one_block);

} // namespace tridiagonal
