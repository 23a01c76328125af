// Solver 2 on the device: one step of iterative refinement.
//
// Changed: after the first solution X, the residual R = B - A X is computed, with its rows in the order of P A. Then
// A D = R is solved with the same factors, and D is added to X. Everything stays on the device.
// Limit: three passes over n x n numbers, twice the factors and once A; the launches of two solutions.
#include "gpulab/cuda/timing.hpp"
#include "solve.hpp"
#include "solve_steps.hpp"
#include "steps.hpp"

namespace lu {

namespace {

/// y[i] = x[order[i]], row by row; one thread per element.
__global__ void permute_kernel(const double* x, const int* order, double* y, int n, int count) {
    const std::size_t e = blockIdx.x * std::size_t{blockDim.x} + threadIdx.x;
    if (e < std::size_t(n) * count) y[e] = x[std::size_t(order[e / count]) * count + e % count];
}

__global__ void add_kernel(double* x, const double* d, std::size_t n) {
    const std::size_t e = blockIdx.x * std::size_t{blockDim.x} + threadIdx.x;
    if (e < n) x[e] += d[e];
}

} // namespace

void cuda_solve_refined(const SolveProblem& p, Solution& x, Stopwatch& watch) {
    constexpr unsigned threads = 256;
    const int n = static_cast<int>(p.n), count = static_cast<int>(p.count);
    std::vector<std::int32_t> rows;
    for (const std::size_t row : row_order(p.factors)) rows.push_back(static_cast<std::int32_t>(row));
    const gpulab::DeviceBuffer<double> a(p.a), lu(p.factors.lu), b(p.b);
    const gpulab::DeviceBuffer<std::int32_t> order(rows);
    gpulab::DeviceBuffer<double> out(p.b.size()), r(p.b.size()), d(p.b.size());
    const unsigned blocks = gpulab::grid_size(out.size(), threads);
    watch.tile(64).tile(threads, "right-hand sides").tile(64, "right-hand sides");
    const auto launch = [&](cudaStream_t stream) {
        permute_kernel<<<blocks, threads, 0, stream>>>(b.data(), order.data(), out.data(), n, count);
        solve_in_blocks(lu.data(), out.data(), n, count, stream);

        CUDA_CHECK(cudaMemcpyAsync(r.data(), b.data(), b.bytes(), cudaMemcpyDeviceToDevice, stream));
        update_tiled(a.data(), n, out.data(), r.data(), count, n, count, n, stream); // R = B - A X
        permute_kernel<<<blocks, threads, 0, stream>>>(r.data(), order.data(), d.data(), n, count);
        solve_in_blocks(lu.data(), d.data(), n, count, stream);
        add_kernel<<<blocks, threads, 0, stream>>>(out.data(), d.data(), out.size());
    };
    gpulab::watch_stream(watch, launch, gpulab::poisoning(out, r, d));
    out.copy_to(x);
}

} // namespace lu
