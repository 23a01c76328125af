// CUDA rung 5: Thomas on interleaved systems.
//
// Changed: row i of system s lies at i * systems + s, so the 32 threads of a warp read 32 neighbours: the loads are
// coalesced. The loop is the same.
// The data must first be brought into this order. Unless --layout says that they come interleaved, the time includes
// transposing them, and x back.
// Limit: with few systems, too few loads are in flight to hide their latency. With many, memory: the way down writes c'
// and d', the way up reads them again.
#include "device_problem.hpp"
#include "gpulab/cuda/timing.hpp"
#include "transpose.cuh"

namespace tridiagonal {

namespace {
constexpr unsigned thomas_interleaved_threads = 128;
}

/// A thread per system. @param c_new scratch for c', as large as c; d' is kept in x
template <class T>
__global__ void thomas_interleaved_kernel(const T* __restrict__ a, const T* __restrict__ b, const T* __restrict__ c,
                                          const T* __restrict__ d, T* __restrict__ c_new, T* __restrict__ x,
                                          std::int32_t* zero_pivot, unsigned n, unsigned systems) {
    const unsigned s = blockIdx.x * blockDim.x + threadIdx.x;
    if (s >= systems) return;
    // ANSWER thomas
    std::int32_t zero = no_zero_pivot;
    T c_before = 0, d_before = 0;
    std::size_t at = s;
#pragma unroll 4
    for (unsigned i = 0; i < n; ++i, at += systems) {
        const T pivot = i == 0 ? b[at] : b[at] - a[at] * c_before;
        if (pivot == T{0} && zero == no_zero_pivot) zero = static_cast<std::int32_t>(i);
        const T inverse = T{1} / pivot; // one division for both
        d_before = x[at] = (i == 0 ? d[at] : d[at] - a[at] * d_before) * inverse;
        c_before = c_new[at] = c[at] * inverse;
    }
    at -= systems;
    T x_after = d_before;
#pragma unroll 4
    for (unsigned i = n - 1; i-- > 0;) {
        at -= systems;
        x_after = x[at] -= c_new[at] * x_after;
    }
    zero_pivot[s] = zero;
    // END ANSWER
}

template <class T> void cuda_thomas_interleaved(const Problem<T>& p, Output<T>& out, Stopwatch& watch) {
    check_one_thread(p.n);
    InterleavedProblem<T> in(p);
    gpulab::DeviceBuffer<T> c_new(p.size());
    gpulab::DeviceBuffer<std::int32_t> zero_pivot(p.systems);

    const auto n = static_cast<unsigned>(p.n), systems = static_cast<unsigned>(p.systems);
    const unsigned blocks = gpulab::grid_size(p.systems, thomas_interleaved_threads);
    watch.tile(thomas_interleaved_threads, "systems");
    watch.tile(transpose_side, "systems");
    watch.tile(transpose_side, "unknowns");
    const auto launch = [&](cudaStream_t stream) {
        in.fill(stream); // nothing when the systems came interleaved
        thomas_interleaved_kernel<<<blocks, thomas_interleaved_threads, 0, stream>>>(
            in.a.data(), in.b.data(), in.c.data(), in.d.data(), c_new.data(), in.x.data(), zero_pivot.data(), n,
            systems);
        in.take_out(stream);
    };
    gpulab::watch_stream(watch, launch, gpulab::poisoning(in, c_new, zero_pivot));
    in.copy_x_to(out.x);
    zero_pivot.copy_to(out.zero_pivot);
}

INSTANTIATE_RUNG(cuda_thomas_interleaved);

} // namespace tridiagonal
