// Baselines: the vendor's library, three of its solvers.
//
//   - gtsv2StridedBatch: systems one after the other, cyclic and parallel cyclic reduction without exchanging rows;
//   - gtsvInterleavedBatch, algorithm 0: Thomas on interleaved systems. As in cuda_thomas_interleaved, transposing them
//     is timed unless --layout says that they come interleaved;
//   - gtsv2_nopivot: one system of any size.
// All take at least three unknowns, want a of row 0 and c of the last row to be zero, and overwrite d with x;
// gtsvInterleavedBatch overwrites a, b and c, too. What they overwrite is restored before every run, untimed. They
// report no zero pivot.
#include <algorithm>

#include "device_problem.hpp"
#include "gpulab/cuda/cusparse.hpp"
#include "gpulab/cuda/timing.hpp"
#include "transpose.cuh"

namespace tridiagonal {

namespace {

// The library has one function name per type; these overloads choose it.
#define GTSV_OVERLOADS(T, Letter)                                                                                   \
    std::size_t strided_bytes(cusparseHandle_t h, int n, const T* a, const T* b, const T* c, const T* x,            \
                              int systems) {                                                                        \
        std::size_t bytes = 0;                                                                                      \
        CUSPARSE_CHECK(cusparse##Letter##gtsv2StridedBatch_bufferSizeExt(h, n, a, b, c, x, systems, n, &bytes));    \
        return bytes;                                                                                               \
    }                                                                                                               \
    void strided(cusparseHandle_t h, int n, const T* a, const T* b, const T* c, T* x, int systems, void* work) {    \
        CUSPARSE_CHECK(cusparse##Letter##gtsv2StridedBatch(h, n, a, b, c, x, systems, n, work));                    \
    }                                                                                                               \
    std::size_t interleaved_bytes(cusparseHandle_t h, int n, const T* a, const T* b, const T* c, const T* x,        \
                                  int systems) {                                                                    \
        std::size_t bytes = 0;                                                                                      \
        CUSPARSE_CHECK(cusparse##Letter##gtsvInterleavedBatch_bufferSizeExt(h, 0, n, a, b, c, x, systems, &bytes)); \
        return bytes;                                                                                               \
    }                                                                                                               \
    void interleaved(cusparseHandle_t h, int n, T* a, T* b, T* c, T* x, int systems, void* work) {                  \
        CUSPARSE_CHECK(cusparse##Letter##gtsvInterleavedBatch(h, 0, n, a, b, c, x, systems, work));                 \
    }                                                                                                               \
    std::size_t nopivot_bytes(cusparseHandle_t h, int n, const T* a, const T* b, const T* c, const T* x) {          \
        std::size_t bytes = 0;                                                                                      \
        CUSPARSE_CHECK(cusparse##Letter##gtsv2_nopivot_bufferSizeExt(h, n, 1, a, b, c, x, n, &bytes));              \
        return bytes;                                                                                               \
    }                                                                                                               \
    void nopivot(cusparseHandle_t h, int n, const T* a, const T* b, const T* c, T* x, void* work) {                 \
        CUSPARSE_CHECK(cusparse##Letter##gtsv2_nopivot(h, n, 1, a, b, c, x, n, work));                              \
    }
GTSV_OVERLOADS(float, S)
GTSV_OVERLOADS(double, D)
#undef GTSV_OVERLOADS

/// The problem with zeros where numbers have no meaning.
/// @throws Unsupported when a system is too small for the library
template <class T> Problem<T> as_wanted(const Problem<T>& p) {
    if (p.n < 3) throw gpulab::Unsupported("cuSPARSE takes at least three unknowns");
    Problem<T> q = p;
    for (std::size_t s = 0; s < p.systems; ++s) q.a[s * p.n] = q.c[(s + 1) * p.n - 1] = 0;
    return q;
}

/// Solves in place in x, which holds d at the start of every run.
/// @param solve `solve(handle, work)` @param bytes of work space
template <class T, class Solve>
void in_place(const gpulab::CusparseHandle& handle, const DeviceProblem<T>& in, std::size_t bytes,
              gpulab::DeviceBuffer<T>& x, Output<T>& out, Stopwatch& watch, const Solve& solve) {
    gpulab::DeviceBuffer<unsigned char> work(bytes);
    const auto launch = [&](cudaStream_t stream) {
        CUSPARSE_CHECK(cusparseSetStream(handle, stream));
        solve(work.data());
    };
    const auto reset = [&](cudaStream_t stream) {
        CUDA_CHECK(cudaMemcpyAsync(x.data(), in.d.data(), x.bytes(), cudaMemcpyDeviceToDevice, stream));
    };
    gpulab::watch_stream(watch, launch, reset);
    x.copy_to(out.x);
    std::fill(out.zero_pivot.begin(), out.zero_pivot.end(), no_zero_pivot);
}

} // namespace

template <class T> void cuda_cusparse_gtsv2(const Problem<T>& p, Output<T>& out, Stopwatch& watch) {
    const DeviceProblem<T> in(as_wanted(p));
    gpulab::DeviceBuffer<T> x(p.size());
    const gpulab::CusparseHandle handle;
    const int n = static_cast<int>(in.n), systems = static_cast<int>(in.systems);
    const std::size_t bytes = strided_bytes(handle, n, in.a.data(), in.b.data(), in.c.data(), x.data(), systems);
    in_place(handle, in, bytes, x, out, watch,
             [&](void* work) { strided(handle, n, in.a.data(), in.b.data(), in.c.data(), x.data(), systems, work); });
}

template <class T> void cuda_cusparse_gtsv2_nopivot(const Problem<T>& p, Output<T>& out, Stopwatch& watch) {
    if (p.systems > 1) throw gpulab::Unsupported("gtsv2_nopivot solves one system");
    const DeviceProblem<T> in(as_wanted(p));
    gpulab::DeviceBuffer<T> x(p.size());
    const gpulab::CusparseHandle handle;
    const int n = static_cast<int>(in.n);
    const std::size_t bytes = nopivot_bytes(handle, n, in.a.data(), in.b.data(), in.c.data(), x.data());
    in_place(handle, in, bytes, x, out, watch,
             [&](void* work) { nopivot(handle, n, in.a.data(), in.b.data(), in.c.data(), x.data(), work); });
}

template <class T> void cuda_cusparse_gtsv_interleaved(const Problem<T>& p, Output<T>& out, Stopwatch& watch) {
    InterleavedProblem<T> in(as_wanted(p));
    std::vector<gpulab::DeviceBuffer<T>> original; // what came interleaved and is overwritten
    if (!in.transposes())
        for (const std::vector<T>* const array : {&p.a, &p.b, &p.c, &p.d}) original.emplace_back(array->size());
    if (!in.transposes()) {
        const gpulab::DeviceBuffer<T>* const from[] = {&in.a, &in.b, &in.c, &in.d};
        for (std::size_t k = 0; k < 4; ++k)
            CUDA_CHECK(cudaMemcpy(original[k].data(), from[k]->data(), original[k].bytes(), cudaMemcpyDeviceToDevice));
    }
    const gpulab::CusparseHandle handle;
    const int n = static_cast<int>(p.n), systems = static_cast<int>(p.systems);
    gpulab::DeviceBuffer<unsigned char> work(
        interleaved_bytes(handle, n, in.a.data(), in.b.data(), in.c.data(), in.x.data(), systems));
    const auto launch = [&](cudaStream_t stream) {
        CUSPARSE_CHECK(cusparseSetStream(handle, stream));
        in.fill(stream, true);
        interleaved(handle, n, in.a.data(), in.b.data(), in.c.data(), in.x.data(), systems, work.data());
        in.take_out(stream);
    };
    const auto reset = [&](cudaStream_t stream) {
        in.poison_async(stream);
        gpulab::DeviceBuffer<T>* const to[] = {&in.a, &in.b, &in.c, &in.x};
        for (std::size_t k = 0; k < original.size(); ++k)
            CUDA_CHECK(cudaMemcpyAsync(to[k]->data(), original[k].data(), original[k].bytes(), cudaMemcpyDeviceToDevice,
                                       stream));
    };
    gpulab::watch_stream(watch, launch, reset);
    in.copy_x_to(out.x);
    std::fill(out.zero_pivot.begin(), out.zero_pivot.end(), no_zero_pivot);
}

INSTANTIATE_RUNG(cuda_cusparse_gtsv2);
INSTANTIATE_RUNG(cuda_cusparse_gtsv2_nopivot);
INSTANTIATE_RUNG(cuda_cusparse_gtsv_interleaved);

} // namespace tridiagonal
