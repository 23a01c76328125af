// CUDA rung 6: cyclic reduction first, then parallel cyclic reduction (Zhang, Cohen, Owens, PPoPP 2010).
//
// Changed: CR does little work but runs out of parallelism, PCR is parallel but does too much work. So CR makes the
// system smaller until a block of 128 threads has one thread for each equation that is left; PCR solves these,
// each in the registers of its thread, with a compact copy in shared memory for the other threads; CR's back
// substitution finds the other unknowns. PCR divides each equation by its pivot before the neighbours use it, so that a
// step has one division instead of two, and the copy holds a, c and d only. For 15 equations and blocks of four threads
// it would be:
//
//     equation    0  1  2  3  4  5  6  7  8  9 10 11 12 13 14
//     CR             1     3     5     7     9    11    13       7 are left, more than there are threads
//     CR                   3           7          11             3 are left, step = 4
//     PCR                  3           7          11             a thread each
//     back           1     .     5     .     9     .    13       from these neighbours
//     back        0  .  2  .  4  .  6  .  8  . 10  . 12  . 14
//
// Limit: shared memory. Every step goes through it and ends with a barrier, and the strides of CR cause bank conflicts.
#include <algorithm>

#include "device_problem.hpp"
#include "gpulab/cuda/shared_memory.hpp"
#include "gpulab/cuda/timing.hpp"

namespace tridiagonal {

namespace {
constexpr unsigned hybrid_threads = 128; // and the most equations that PCR gets
}

/// A block per system, any n. Shared memory: 4 n numbers.
template <class T>
__global__ void __launch_bounds__(hybrid_threads)
    hybrid_kernel(const T* a_in, const T* b_in, const T* c_in, const T* d_in, T* x_out, std::int32_t* zero_pivot,
                  unsigned n) {
    extern __shared__ __align__(sizeof(double)) unsigned char memory[];
    T* const a = reinterpret_cast<T*>(memory);
    T* const b = a + n;
    T* const c = b + n;
    T* const d = c + n; // x once it is known
    __shared__ T near_a[hybrid_threads], near_c[hybrid_threads], near_d[hybrid_threads];
    __shared__ unsigned zero;
    const unsigned k = threadIdx.x;
    const std::size_t begin = static_cast<std::size_t>(blockIdx.x) * n;

    if (k == 0) zero = 0xFFFFFFFFu;
    for (unsigned i = k; i < n; i += hybrid_threads) {
        a[i] = i > 0 ? a_in[begin + i] : T{0};
        b[i] = b_in[begin + i];
        c[i] = i + 1 < n ? c_in[begin + i] : T{0};
        d[i] = d_in[begin + i];
    }
    __syncthreads();

    // CR until each equation that is left has a thread: numbers step - 1, 2 step - 1, ...
    // ANSWER cr
    unsigned step = 1;
    for (; n / step > hybrid_threads; step *= 2) {
        for (unsigned i = (k + 1) * 2 * step - 1; i < n; i += hybrid_threads * 2 * step) {
            const unsigned left = i - step, right = i + step;
            const T alpha = a[i] / b[left];
            T new_b = b[i] - alpha * c[left], new_d = d[i] - alpha * d[left], new_c = 0;
            if (right < n) {
                const T beta = c[i] / b[right];
                new_b -= beta * a[right];
                new_d -= beta * d[right];
                new_c = -beta * c[right];
            }
            a[i] = -alpha * a[left];
            b[i] = new_b;
            c[i] = new_c;
            d[i] = new_d;
        }
        __syncthreads();
    }
    // END ANSWER

    // PCR: thread k has equation (k + 1) step - 1, its neighbours are the threads beside it.
    // ANSWER pcr
    const unsigned left_over = n / step, mine = (k + 1) * step - 1;
    const bool active = k < left_over;
    T my_a = 0, my_c = 0, my_d = 0;
    if (active) {
        if (b[mine] == T{0}) atomicMin(&zero, mine);
        const T inverse = T{1} / b[mine];
        my_a = a[mine] * inverse;
        my_c = c[mine] * inverse;
        my_d = d[mine] * inverse;
    }
    for (unsigned distance = 1; distance < left_over; distance *= 2) {
        near_a[k] = my_a;
        near_c[k] = my_c;
        near_d[k] = my_d;
        __syncthreads(); // the copies are there
        if (active) {
            T pivot = 1, new_a = 0, new_c = 0;
            if (k >= distance) {
                pivot -= my_a * near_c[k - distance];
                my_d -= my_a * near_d[k - distance];
                new_a = -my_a * near_a[k - distance];
            }
            if (k + distance < left_over) {
                pivot -= my_c * near_a[k + distance];
                my_d -= my_c * near_d[k + distance];
                new_c = -my_c * near_c[k + distance];
            }
            if (pivot == T{0}) atomicMin(&zero, mine);
            const T inverse = T{1} / pivot;
            my_a = new_a * inverse;
            my_c = new_c * inverse;
            my_d *= inverse;
        }
        __syncthreads(); // and read, before the next step overwrites them
    }
    if (active) d[mine] = my_d;
    // END ANSWER
    __syncthreads();

    // CR's way back, from the last step that it took.
    // ANSWER cr
    while (step > 1) {
        step /= 2;
        for (unsigned i = k * 2 * step + step - 1; i < n; i += hybrid_threads * 2 * step) {
            T sum = d[i];
            if (i >= step) sum -= a[i] * d[i - step];
            if (i + step < n) sum -= c[i] * d[i + step];
            d[i] = sum / b[i];
            if (b[i] == T{0}) atomicMin(&zero, i);
        }
        __syncthreads();
    }
    // END ANSWER
    for (unsigned i = k; i < n; i += hybrid_threads) x_out[begin + i] = d[i];
    if (k == 0) zero_pivot[blockIdx.x] = static_cast<std::int32_t>(zero);
}

template <class T> void cuda_hybrid(const Problem<T>& p, Output<T>& out, Stopwatch& watch) {
    const std::size_t shared_bytes = 4 * p.n * sizeof(T);
    gpulab::ask_for_shared_memory(hybrid_kernel<T>, shared_bytes, "a system");
    const DeviceProblem<T> in(p);
    DeviceOutput<T> result(p);

    watch.tile(hybrid_threads, "unknowns");
    watch.tile(2 * hybrid_threads, "unknowns"); // from 258 on CR takes a second step
    const auto launch = [&](cudaStream_t stream) {
        hybrid_kernel<<<in.systems, hybrid_threads, shared_bytes, stream>>>(
            in.a.data(), in.b.data(), in.c.data(), in.d.data(), result.x.data(), result.zero_pivot.data(), in.n);
    };
    gpulab::watch_stream(watch, launch, gpulab::poisoning(result));
    result.copy_to(out);
}

INSTANTIATE_RUNG(cuda_hybrid);

} // namespace tridiagonal
