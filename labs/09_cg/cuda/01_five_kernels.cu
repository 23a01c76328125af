// CUDA rung 1: the five kernels of the thesis, the scalars on the host.
//
// As OpenCL rung 2, with as many blocks as the device holds at a time: matrix times vector (a thread per row), dot
// product, next x, next r, next p. Each block of a dot product leaves its partial sum; the host copies the sums and
// adds them up.
//
// Limit: memory: fourteen passes over vectors besides the matrix. For small systems the host: it launches six kernels
// in every iteration and waits twice for sums.
#include <numeric>

#include "csr.cuh"
#include "device.hpp"
#include "gpu_trace.hpp"
#include "scalars.hpp"

namespace cg {

namespace {

/// a . b: a partial sum for each block.
template <class T> __global__ void dot_kernel(const T* a, const T* b, std::size_t n, double* partial) {
    // EXERCISE dot
    //| // TODO: each thread adds up its share: its own element, the one a whole grid further, and so on. The sum of the
    //| // block, from block_sum(), goes to the block's place in `partial`.
    //| (void)a, (void)b, (void)n;
    //| if (threadIdx.x == 0) partial[blockIdx.x] = 0;
    T sum = 0;
    for (std::size_t i = blockIdx.x * std::size_t{blockDim.x} + threadIdx.x; i < n;
         i += gridDim.x * std::size_t{blockDim.x})
        sum += a[i] * b[i];
    const double all = block_sum(static_cast<double>(sum));
    if (threadIdx.x == 0) partial[blockIdx.x] = all;
    // END EXERCISE
}

/// r . z with z = inverse * r (Jacobi).
template <class T> __global__ void dot_jacobi_kernel(const T* r, const T* inverse, std::size_t n, double* partial) {
    // EXERCISE dot
    //| // TODO: the same for r . z.
    //| (void)r, (void)inverse, (void)n;
    //| if (threadIdx.x == 0) partial[blockIdx.x] = 0;
    T sum = 0;
    for (std::size_t i = blockIdx.x * std::size_t{blockDim.x} + threadIdx.x; i < n;
         i += gridDim.x * std::size_t{blockDim.x})
        sum += r[i] * (inverse[i] * r[i]);
    const double all = block_sum(static_cast<double>(sum));
    if (threadIdx.x == 0) partial[blockIdx.x] = all;
    // END EXERCISE
}

/// x += alpha p
template <class T> __global__ void next_x_kernel(T* x, const T* p, T alpha, std::size_t n) {
    for (std::size_t i = blockIdx.x * std::size_t{blockDim.x} + threadIdx.x; i < n;
         i += gridDim.x * std::size_t{blockDim.x})
        x[i] += alpha * p[i];
}

/// r -= alpha q
template <class T> __global__ void next_r_kernel(T* r, const T* q, T alpha, std::size_t n) {
    for (std::size_t i = blockIdx.x * std::size_t{blockDim.x} + threadIdx.x; i < n;
         i += gridDim.x * std::size_t{blockDim.x})
        r[i] -= alpha * q[i];
}

/// p = z + beta p; `inverse` is null without Jacobi.
template <class T> __global__ void next_p_kernel(T* p, const T* r, const T* inverse, T beta, std::size_t n) {
    for (std::size_t i = blockIdx.x * std::size_t{blockDim.x} + threadIdx.x; i < n;
         i += gridDim.x * std::size_t{blockDim.x})
        p[i] = (inverse ? inverse[i] * r[i] : r[i]) + beta * p[i];
}

/// q = A p
template <class T> __global__ void spmv_kernel(CsrRows<T> a, const T* p, T* q) {
    for (std::size_t i = blockIdx.x * std::size_t{blockDim.x} + threadIdx.x; i < a.rows;
         i += gridDim.x * std::size_t{blockDim.x})
        q[i] = a.product(i, p);
}

} // namespace

template <class T> void cuda_five_kernels(const Problem<T>& problem, Output<T>& out, Stopwatch& watch) {
    const DeviceCsr<T> matrix(problem.matrix);
    DeviceVectors<T> v(problem);
    const std::size_t n = v.n;
    const unsigned blocks = blocks_for(spmv_kernel<T>, n), dot_blocks = blocks_for(dot_kernel<T>, n);
    gpulab::DeviceBuffer<double> partial(dot_blocks);
    gpulab::PinnedBuffer<double> on_host(dot_blocks);

    GpuTrace times; // of the kernels; off at first
    const auto solve = [&](cudaStream_t stream, Output<T>& result) {
        const auto sum = [&] { // waits for the partial sums and adds them up
            CUDA_CHECK(
                cudaMemcpyAsync(on_host.data(), partial.data(), partial.bytes(), cudaMemcpyDeviceToHost, stream));
            CUDA_CHECK(cudaStreamSynchronize(stream));
            return std::accumulate(on_host.data(), on_host.data() + dot_blocks, 0.0);
        };
        const auto dot = [&](const T* a, const T* b) {
            times.begin("dot", stream);
            dot_kernel<<<dot_blocks, block_threads, 0, stream>>>(a, b, n, partial.data());
            times.end(stream);
            return sum();
        };
        const auto dot_jacobi = [&] {
            times.begin("dot", stream);
            dot_jacobi_kernel<<<dot_blocks, block_threads, 0, stream>>>(v.r.data(), v.weights(), n, partial.data());
            times.end(stream);
            return sum();
        };
        const auto spmv = [&] {
            times.begin("spmv", stream);
            spmv_kernel<<<blocks, block_threads, 0, stream>>>(matrix.view(), v.p.data(), v.q.data());
            times.end(stream);
        };
        const auto next_r = [&](T alpha) {
            times.begin("next_r", stream);
            next_r_kernel<<<blocks, block_threads, 0, stream>>>(v.r.data(), v.q.data(), alpha, n);
            times.end(stream);
        };
        const auto next_p = [&](T beta) {
            times.begin("next_p", stream);
            next_p_kernel<<<blocks, block_threads, 0, stream>>>(v.p.data(), v.r.data(), v.weights(), beta, n);
            times.end(stream);
        };

        Scalars<T> scalars(problem, result);
        spmv(); // p holds x_0 here
        next_r(1);
        double rr = dot(v.r.data(), v.r.data());
        scalars.begin(rr, v.jacobi ? dot_jacobi() : rr);
        next_p(0);
        while (scalars.wants_more()) {
            spmv();                                                             // 1 of the eight steps
            const bool positive = scalars.accepts(dot(v.p.data(), v.q.data())); // 2 and 3
            times.collect(); // the dot product has waited for all kernels
            if (!positive) break;
            const T alpha = static_cast<T>(scalars.alpha());
            times.begin("next_x", stream); // 4
            next_x_kernel<<<blocks, block_threads, 0, stream>>>(v.x.data(), v.p.data(), alpha, n);
            times.end(stream);
            next_r(alpha);                                  // 5
            rr = dot(v.r.data(), v.r.data());               // 6
            scalars.next(rr, v.jacobi ? dot_jacobi() : rr); // 7
            next_p(static_cast<T>(scalars.beta()));         // 8
        }
        CUDA_CHECK_LAUNCH();
    };

    gpulab::watch_stream(
        watch, [&](cudaStream_t stream) { solve(stream, out); },
        [&](cudaStream_t stream) {
            v.reset(stream);
            gpulab::poisoning(partial)(stream);
        });
    v.solution(out.x);
    partial.check_guard_bands();

    watch.leave_out([&] { // once more, with events around every kernel
        Output<T> again;
        const gpulab::Stream stream;
        v.reset(stream);
        times.start(stream);
        solve(stream, again);
        stream.synchronize();
        times.collect();
        out.kernel_ms = longest_times({times.ms()});
    });
}

INSTANTIATE_RUNG(cuda_five_kernels);

} // namespace cg
