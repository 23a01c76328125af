// Solver 1 on the device: substitution in blocks. (Alfaro Vigo & Rossetto, exercise 3.5)
//
// There are two kernels per block of 64 unknowns. One solves with the 64 x 64 numbers on the diagonal, in shared
// memory, with a block of threads for 32 right-hand sides. The other eliminates the solved unknowns from all other
// equations, with the product of cuda_blocked_pivot. First L from the top down, then U from the bottom up.
// Limit: for few right-hand sides the launches, and most threads have no column to work on. For many, memory: the
// factors are read once for every 64 right-hand sides.
#include <algorithm>

#include "gpulab/cuda/timing.hpp"
#include "solve.hpp"
#include "solve_steps.hpp"
#include "steps.hpp"

namespace lu {

namespace {

constexpr int most = max_panel_columns;
constexpr int lanes = 32; // right-hand sides of a block
constexpr int groups = 8; // rows that it works on at a time

/// X = U^-1 X for one block on the diagonal; 32 columns of X per block.
__global__ void __launch_bounds__(lanes* groups)
    solve_upper_kernel(const double* u, int u_stride, double* x, int x_stride, int rows, int columns) {
    __shared__ double upper[most][most];
    __shared__ double tile[most][lanes];
    const int lane = threadIdx.x, y = threadIdx.y, j = blockIdx.x * lanes + lane;
    for (int i = y; i < rows; i += groups) {
        for (int k = lane; k < rows; k += lanes) upper[i][k] = u[std::size_t(i) * u_stride + k];
        tile[i][lane] = j < columns ? x[std::size_t(i) * x_stride + j] : 0;
    }
    __syncthreads();

    // EXERCISE triangular-solve
    //| // TODO: substitution from the bottom up: row k of the tile becomes final, then multiples of it are subtracted
    //| // from all rows above. Where do all threads have to wait?
    //| if (y == 0 && rows == 1) tile[0][lane] /= upper[0][0]; // a single unknown: now for any number of them
    for (int k = rows - 1; k >= 0; --k) {
        if (y == 0) tile[k][lane] /= upper[k][k];
        __syncthreads(); // row k is final: subtract multiples of it from all rows above
        for (int i = y; i < k; i += groups) tile[i][lane] -= upper[i][k] * tile[k][lane];
        __syncthreads();
    }
    // END EXERCISE
    for (int i = y; i < rows; i += groups)
        if (j < columns) x[std::size_t(i) * x_stride + j] = tile[i][lane];
}

} // namespace

void solve_in_blocks(const double* lu, double* x, int n, int count, cudaStream_t stream) {
    if (n == 0 || count == 0) return;
    const auto a = [&](int i, int j) { return lu + std::size_t(i) * n + j; };
    const auto row = [&](int i) { return x + std::size_t(i) * count; };
    for (int k0 = 0; k0 < n; k0 += most) {
        const int k1 = std::min(k0 + most, n);
        solve_unit_lower(a(k0, k0), n, row(k0), count, k1 - k0, count, stream);
        if (k1 < n) update_tiled(a(k1, k0), n, row(k0), row(k1), count, n - k1, count, k1 - k0, stream);
    }
    for (int k1 = n; k1 > 0;) {
        const int k0 = (k1 - 1) / most * most;
        solve_upper_kernel<<<gpulab::grid_size(count, lanes), dim3(lanes, groups), 0, stream>>>(a(k0, k0), n, row(k0),
                                                                                                count, k1 - k0, count);
        update_tiled(a(0, k0), n, row(k0), row(0), count, k0, count, k1 - k0, stream);
        k1 = k0;
    }
}

void cuda_solve_blocked(const SolveProblem& p, Solution& x, Stopwatch& watch) {
    const gpulab::DeviceBuffer<double> lu(p.factors.lu), b(permuted(p));
    gpulab::DeviceBuffer<double> out(p.b.size());
    watch.tile(most).tile(lanes, "right-hand sides").tile(64, "right-hand sides");
    const auto launch = [&](cudaStream_t stream) {
        CUDA_CHECK(cudaMemcpyAsync(out.data(), b.data(), b.bytes(), cudaMemcpyDeviceToDevice, stream));
        solve_in_blocks(lu.data(), out.data(), static_cast<int>(p.n), static_cast<int>(p.count), stream);
    };
    gpulab::watch_stream(watch, launch, gpulab::poisoning(out));
    out.copy_to(x);
}

} // namespace lu
