// CUDA rung 3: parallel cyclic reduction, a block for each system and a thread for each equation. (Book 3.7, exercises
// 3.1 and 3.2)
//
// Changed: every thread reduces its equation in every step, so none becomes idle, there is no back substitution, and
// neighbouring threads read neighbouring words: no bank conflicts. A thread keeps its own equation in registers; shared
// memory holds a copy for the others. All equations change in a step, so there are two barriers: one between reading
// the neighbours and overwriting them, one before the next step reads what was written. The printed kernel has three.
// As in cuda_cr_one_block, a neighbour outside the system is left out, and n may be any number.
// Limit: n log2 n reductions, each with two divisions, where Thomas has n of them. And n threads must fit in a block.
#include "device_problem.hpp"
#include "gpulab/cuda/timing.hpp"

namespace tridiagonal {

namespace {
constexpr unsigned pcr_most = 1024; // threads of a block
}

/// A block of at least n threads per system. Shared memory: 4 n numbers.
template <class T>
__global__ void __launch_bounds__(pcr_most) pcr_kernel(const T* a_in, const T* b_in, const T* c_in, const T* d_in,
                                                       T* x_out, std::int32_t* zero_pivot, unsigned n) {
    extern __shared__ __align__(sizeof(double)) unsigned char memory[];
    T* const a = reinterpret_cast<T*>(memory);
    T* const b = a + n;
    T* const c = b + n;
    T* const d = c + n;
    __shared__ unsigned zero;
    const unsigned i = threadIdx.x;
    const bool inside = i < n; // threads beyond the last equation only take part in barriers
    const std::size_t at = static_cast<std::size_t>(blockIdx.x) * n + i;

    T my_a = 0, my_b = 1, my_c = 0, my_d = 0;
    if (i == 0) zero = 0xFFFFFFFFu;
    if (inside) {
        if (i > 0) my_a = a_in[at];
        if (i + 1 < n) my_c = c_in[at];
        my_b = b_in[at];
        my_d = d_in[at];
        a[i] = my_a;
        b[i] = my_b;
        c[i] = my_c;
        d[i] = my_d;
    }
    __syncthreads();

    for (unsigned step = 1; step < n; step *= 2) {
        if (inside) {
            // EXERCISE pcr
            //| // TODO: note a pivot of 0 with atomicMin(&zero, i). Eliminate the unknowns i - step and i + step from
            //| // my equation with the equations of these two neighbours. A neighbour outside the system is left out.
            if (my_b == T{0}) atomicMin(&zero, i); // the neighbours divide by it now
            T new_a = 0, new_c = 0;
            if (i >= step) {
                const unsigned left = i - step;
                const T alpha = my_a / b[left];
                my_b -= alpha * c[left];
                my_d -= alpha * d[left];
                new_a = -alpha * a[left];
            }
            if (i + step < n) {
                const unsigned right = i + step;
                const T beta = my_c / b[right];
                my_b -= beta * a[right];
                my_d -= beta * d[right];
                new_c = -beta * c[right];
            }
            my_a = new_a;
            my_c = new_c;
            // END EXERCISE
        }
        __syncthreads(); // everyone has read its neighbours
        if (inside) {
            a[i] = my_a;
            b[i] = my_b;
            c[i] = my_c;
            d[i] = my_d;
        }
        __syncthreads(); // and everyone has written
    }
    if (inside) {
        if (my_b == T{0}) atomicMin(&zero, i);
        x_out[at] = my_d / my_b;
    }
    __syncthreads();
    if (i == 0) zero_pivot[blockIdx.x] = static_cast<std::int32_t>(zero);
}

template <class T> void cuda_pcr(const Problem<T>& p, Output<T>& out, Stopwatch& watch) {
    if (p.n > pcr_most) throw too_many_unknowns(p.n, pcr_most);
    const DeviceProblem<T> in(p);
    DeviceOutput<T> result(p);

    const auto threads = static_cast<unsigned>(gpulab::round_up(p.n, 32));
    watch.tile(32, "unknowns");
    watch.tile(pcr_most, "unknowns");
    const auto launch = [&](cudaStream_t stream) {
        pcr_kernel<<<in.systems, threads, 4 * in.n * sizeof(T), stream>>>(
            in.a.data(), in.b.data(), in.c.data(), in.d.data(), result.x.data(), result.zero_pivot.data(), in.n);
    };
    gpulab::watch_stream(watch, launch, gpulab::poisoning(result));
    result.copy_to(out);
}

INSTANTIATE_RUNG(cuda_pcr);

} // namespace tridiagonal
