// CUDA rung 2: cyclic reduction, a block for each system. (Book 3.4 and 3.5, exercise 3.2)
//
// Changed: block s has system s, whose rows begin at s * n. Blocks do not depend on each other, so one launch solves
// any number of systems. A thread takes every blockDim.x-th equation of a step, so that n is not limited by the size of
// a block, only by its shared memory; x takes the place of d, which saves a fifth of that memory.
// Limit: bank conflicts. Shared memory has 32 banks of 4 bytes; the equations of a step are 2 step apart, so with each
// step twice as many threads of a warp access the same bank and wait for each other. And the last steps have fewer
// equations than a warp has lanes, but their barriers take as long.
#include "device_problem.hpp"
#include "gpulab/cuda/shared_memory.hpp"
#include "gpulab/cuda/timing.hpp"

namespace tridiagonal {

namespace {
constexpr unsigned cr_threads = 256;
}

/// A block per system, any n. Shared memory: 4 n numbers.
template <class T>
__global__ void __launch_bounds__(cr_threads) cr_kernel(const T* a_in, const T* b_in, const T* c_in, const T* d_in,
                                                        T* x_out, std::int32_t* zero_pivot, unsigned n) {
    extern __shared__ __align__(sizeof(double)) unsigned char memory[];
    T* const a = reinterpret_cast<T*>(memory);
    T* const b = a + n;
    T* const c = b + n;
    T* const d = c + n; // x once it is known
    __shared__ unsigned zero;
    const std::size_t begin = static_cast<std::size_t>(blockIdx.x) * n;

    if (threadIdx.x == 0) zero = 0xFFFFFFFFu;
    for (unsigned i = threadIdx.x; i < n; i += blockDim.x) {
        a[i] = a_in[begin + i];
        b[i] = b_in[begin + i];
        c[i] = c_in[begin + i];
        d[i] = d_in[begin + i];
    }
    __syncthreads();

    // EXERCISE cr
    //| // TODO: with step = 1, 2, 4, ... eliminate from every (2 step)-th equation the unknowns of its two neighbours
    //| // at distance step, as long as 2 step <= n. Any n: a neighbour to the right may not exist. Afterwards `step`
    //| // must be what the back substitution begins with.
    //| unsigned step = 1;
    //| while (2 * step <= n) step *= 2;
    unsigned step = 1;
    for (; 2 * step <= n; step *= 2) {
        for (unsigned i = (threadIdx.x + 1) * 2 * step - 1; i < n; i += blockDim.x * 2 * step) {
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
    // END EXERCISE
    for (; step > 0; step /= 2) {
        for (unsigned i = threadIdx.x * 2 * step + step - 1; i < n; i += blockDim.x * 2 * step) {
            T sum = d[i];
            if (i >= step) sum -= a[i] * d[i - step];
            if (i + step < n) sum -= c[i] * d[i + step];
            d[i] = sum / b[i];
            if (b[i] == T{0}) atomicMin(&zero, i);
        }
        __syncthreads();
    }
    for (unsigned i = threadIdx.x; i < n; i += blockDim.x) x_out[begin + i] = d[i];
    if (threadIdx.x == 0) zero_pivot[blockIdx.x] = static_cast<std::int32_t>(zero);
}

template <class T> void cuda_cr(const Problem<T>& p, Output<T>& out, Stopwatch& watch) {
    const std::size_t shared_bytes = 4 * p.n * sizeof(T);
    gpulab::ask_for_shared_memory(cr_kernel<T>, shared_bytes, "a system");
    const DeviceProblem<T> in(p);
    DeviceOutput<T> result(p);

    watch.tile(cr_threads, "unknowns"); // one round of loads; twice as many: one equation per thread in the first step
    watch.tile(2 * cr_threads, "unknowns");
    const auto launch = [&](cudaStream_t stream) {
        cr_kernel<<<in.systems, cr_threads, shared_bytes, stream>>>(in.a.data(), in.b.data(), in.c.data(), in.d.data(),
                                                                    result.x.data(), result.zero_pivot.data(), in.n);
    };
    gpulab::watch_stream(watch, launch, gpulab::poisoning(result));
    result.copy_to(out);
}

INSTANTIATE_RUNG(cuda_cr);

} // namespace tridiagonal
