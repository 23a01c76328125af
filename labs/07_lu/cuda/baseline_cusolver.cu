// Baseline: the vendor's library, with and without pivoting.
//
// cuSOLVER takes matrices column by column, as Fortran does. The matrix is transposed before it is copied in and the
// factors after they are copied out, outside the timing.
#include <algorithm>

#include "device_factors.hpp"
#include "gpulab/cuda/cusolver.hpp"
#include "gpulab/cuda/timing.hpp"
#include "transpose.hpp"

namespace lu {

namespace {

void factorise(const Problem& p, Factors& f, Stopwatch& watch, bool pivoting) {
    if (p.n == 0) return watch.time([] {}, [] {}); // it takes no empty matrix
    const int n = static_cast<int>(p.n);
    const gpulab::DeviceBuffer<double> a(transposed(p.a, p.n, p.n));
    gpulab::DeviceBuffer<double> lu(p.a.size());
    gpulab::DeviceBuffer<std::int32_t> pivots(p.n), info(1);
    const gpulab::CusolverHandle handle;
    int work_size = 0;
    CUSOLVER_CHECK(cusolverDnDgetrf_bufferSize(handle, n, n, lu.data(), n, &work_size));
    gpulab::DeviceBuffer<double> work_space(static_cast<std::size_t>(work_size));
    const auto launch = [&](cudaStream_t stream) {
        CUSOLVER_CHECK(cusolverDnSetStream(handle, stream));
        CUSOLVER_CHECK(cusolverDnDgetrf(handle, n, n, lu.data(), n, work_space.data(),
                                        pivoting ? pivots.data() : nullptr, info.data()));
    };
    const auto reset = [&](cudaStream_t stream) {
        CUDA_CHECK(cudaMemcpyAsync(lu.data(), a.data(), a.bytes(), cudaMemcpyDeviceToDevice, stream));
        gpulab::poison(pivots, stream);
    };
    gpulab::watch_stream(watch, launch, reset);
    std::vector<double> by_columns(p.a.size());
    lu.copy_to(by_columns);
    f.lu = transposed(by_columns, p.n, p.n);
    if (pivoting) {
        pivots.copy_to(f.pivots);
        for (std::int32_t& pivot : f.pivots) --pivot; // it counts from 1
    } else {
        no_exchanges(f);
    }
    check_pivots(f, pivoting);
}

} // namespace

void cuda_cusolver(const Problem& p, Factors& f, Stopwatch& watch) { factorise(p, f, watch, false); }
void cuda_cusolver_pivot(const Problem& p, Factors& f, Stopwatch& watch) { factorise(p, f, watch, true); }

} // namespace lu
