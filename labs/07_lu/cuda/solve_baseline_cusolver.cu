// Baseline of the solvers: the vendor's library, Dgetrs, with the factors and right-hand sides column by column.
#include "gpulab/cuda/cusolver.hpp"
#include "gpulab/cuda/timing.hpp"
#include "solve.hpp"
#include "transpose.hpp"

namespace lu {

void cuda_solve_cusolver(const SolveProblem& p, Solution& x, Stopwatch& watch) {
    if (p.b.empty()) return watch.time([] {}, [] {}); // it takes no empty matrix
    const int n = static_cast<int>(p.n), count = static_cast<int>(p.count);
    std::vector<std::int32_t> from_one = p.factors.pivots;
    for (std::int32_t& pivot : from_one) ++pivot;
    const gpulab::DeviceBuffer<double> lu(transposed(p.factors.lu, p.n, p.n)), b(transposed(p.b, p.n, p.count));
    const gpulab::DeviceBuffer<std::int32_t> pivots(from_one);
    gpulab::DeviceBuffer<double> out(p.b.size());
    gpulab::DeviceBuffer<std::int32_t> info(1);
    const gpulab::CusolverHandle handle;
    const auto launch = [&](cudaStream_t stream) {
        CUSOLVER_CHECK(cusolverDnSetStream(handle, stream));
        CUDA_CHECK(cudaMemcpyAsync(out.data(), b.data(), b.bytes(), cudaMemcpyDeviceToDevice, stream));
        CUSOLVER_CHECK(
            cusolverDnDgetrs(handle, CUBLAS_OP_N, n, count, lu.data(), n, pivots.data(), out.data(), n, info.data()));
    };
    gpulab::watch_stream(watch, launch, gpulab::poisoning(out));
    std::vector<double> by_columns(p.b.size());
    out.copy_to(by_columns);
    x = transposed(by_columns, p.count, p.n);
}

} // namespace lu
