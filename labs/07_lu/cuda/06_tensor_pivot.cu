// Rung 6: the update on tensor cores.
//
// A tensor core multiplies two small matrices with one instruction of a whole warp, here 16 x 8 times 8 x 8 in double
// precision. The matrices are spread over the registers of the warp; the part in one lane is called a fragment. The
// instruction determines which elements it holds (PTX manual, "matrix fragments for mma.m16n8k8"). With g = lane / 4
// and t = lane % 4:
//     A, 16 x 8: (g, t), (g + 8, t), (g, t + 4), (g + 8, t + 4)
//     B, 8 x 8:  (t, g), (t + 4, g)
//     C, 16 x 8: (g, 2t), (g, 2t + 1), (g + 8, 2t), (g + 8, 2t + 1)
// Devices of compute capability 8.x multiply 8 x 4 times 4 x 8 only: four such instructions do the same, with the same
// fragments.
// Changed: the update uses tensor cores. A block of 256 threads computes 128 x 64 elements of C, a warp 32 x 32 of
// them. Asynchronous copies load the tiles of A and B three steps ahead. C is loaded before the loop, during these
// copies. Limit: the panel. The update alone is limited by memory: 16 bytes of C for 128 operations.
#include <algorithm>

#include "built_for.hpp"
#include "device_factors.hpp"
#include "gpulab/cuda/timing.hpp"
#include "gpulab/math.hpp"
#include "steps.hpp"

namespace lu {

namespace {

constexpr int rows = 128, columns = 64, depth = 8; // of a block's tiles
constexpr int stages = 4;                          // tiles under way or in use
constexpr int threads = 256;                       // 4 x 2 warps
// Rows of the tiles in shared memory, padded so that the 16 lanes that load at a time meet all 32 banks once.
constexpr int a_row = depth + 4, b_row = columns + 4;
constexpr std::size_t shared_bytes = stages * (rows * a_row + depth * b_row) * sizeof(double);

/// Starts a copy of one double to shared memory; where `inside` is false nothing is read and the destination becomes 0.
__device__ void copy_async(double* shared, const double* global, bool inside) {
#if __CUDA_ARCH__ >= 800
    const auto to = static_cast<unsigned>(__cvta_generic_to_shared(shared));
    asm volatile("cp.async.ca.shared.global [%0], [%1], 8, %2;" ::"r"(to), "l"(global), "r"(inside ? 8 : 0) : "memory");
#else
    *shared = inside ? *global : 0;
#endif
}

/// Closes a group: the copies that this thread started since the last call belong together.
__device__ void commit_copies() {
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}

/// Waits until at most `pending` of the latest groups of this thread are under way.
template <int pending> __device__ void wait_for_copies() {
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_group %0;" ::"n"(pending) : "memory");
#endif
}

/// C += A B for fragments of 16 x 8, 8 x 8 and 16 x 8.
__device__ void multiply_add(double (&c)[4], const double (&a)[4], const double (&b)[2]) {
#if __CUDA_ARCH__ >= 900
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
                 "{%0,%1,%2,%3};"
                 : "+d"(c[0]), "+d"(c[1]), "+d"(c[2]), "+d"(c[3])
                 : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(b[0]), "d"(b[1]));
#elif __CUDA_ARCH__ >= 800
    for (int k = 0; k < 2; ++k)     // columns 4k ... 4k + 3 of A
        for (int i = 0; i < 2; ++i) // rows 8i ... 8i + 7
            asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1}, {%2}, {%3}, {%0,%1};"
                         : "+d"(c[2 * i]), "+d"(c[2 * i + 1])
                         : "d"(a[2 * k + i]), "d"(b[k]));
#endif
}

__global__ void __launch_bounds__(threads, 2)
    tensor_update_kernel(const double* a, int a_stride, const double* b, int b_stride, double* c, int c_stride, int m,
                         int n, int k) {
    extern __shared__ double tiles[];
    const int t = threadIdx.x, warp = t / 32, group = t % 32 / 4, quad = t % 4;
    const int row = blockIdx.y * rows, column = blockIdx.x * columns;
    const int warp_row = warp / 2 * 32, warp_column = warp % 2 * 32; // within the block's tile
    const auto a_tile = [&](int stage) { return tiles + stage * (rows * a_row + depth * b_row); };
    const auto b_tile = [&](int stage) { return a_tile(stage) + rows * a_row; };

    // The tiles of step s, into the stage that it uses. Beyond the last step: nothing, but still a group.
    const int steps = (k + depth - 1) / depth;
    const auto load = [&](int s) {
        if (s < steps) {
            double* const a_to = a_tile(s % stages);
            double* const b_to = b_tile(s % stages);
            for (int e = t; e < rows * depth; e += threads) {
                const int i = e / depth, l = e % depth;
                const bool inside = row + i < m && s * depth + l < k;
                copy_async(&a_to[i * a_row + l], inside ? a + std::size_t(row + i) * a_stride + s * depth + l : a,
                           inside);
            }
            for (int e = t; e < depth * columns; e += threads) {
                const int l = e / columns, j = e % columns;
                const bool inside = s * depth + l < k && column + j < n;
                copy_async(&b_to[l * b_row + j], inside ? b + std::size_t(s * depth + l) * b_stride + column + j : b,
                           inside);
            }
        }
        commit_copies();
    };
    for (int s = 0; s < stages - 1; ++s) load(s);

    // -C, to which A B is added. Fragment (i, j) covers rows 16 i ... and columns 8 j ... of the warp's 32 x 32.
    double sum[2][4][4];
    const auto each_element = [&](const auto& action) {
#pragma unroll
        for (int i = 0; i < 2; ++i)
#pragma unroll
            for (int j = 0; j < 4; ++j)
#pragma unroll
                for (int e = 0; e < 4; ++e) {
                    const int r = row + warp_row + 16 * i + group + e / 2 * 8;
                    const int s = column + warp_column + 8 * j + 2 * quad + e % 2;
                    action(sum[i][j][e], r < m && s < n, std::size_t(r) * c_stride + s);
                }
    };
    each_element([&](double& x, bool inside, std::size_t at) { x = inside ? -c[at] : 0; });

    for (int s = 0; s < steps; ++s) {
        wait_for_copies<stages - 2>(); // the tiles of step s have come, as far as this thread copied them
        __syncthreads();               // and those of all threads; and nobody reads those of step s - 1 any more
        load(s + stages - 1);          // into their place
        const double* const left = a_tile(s % stages);
        const double* const right = b_tile(s % stages);
        double fa[2][4], fb[4][2];
#pragma unroll
        for (int i = 0; i < 2; ++i)
#pragma unroll
            for (int e = 0; e < 4; ++e)
                fa[i][e] = left[(warp_row + 16 * i + group + e % 2 * 8) * a_row + quad + e / 2 * 4];
#pragma unroll
        for (int j = 0; j < 4; ++j)
#pragma unroll
            for (int e = 0; e < 2; ++e) fb[j][e] = right[(quad + 4 * e) * b_row + warp_column + 8 * j + group];
#pragma unroll
        for (int i = 0; i < 2; ++i)
#pragma unroll
            for (int j = 0; j < 4; ++j) multiply_add(sum[i][j], fa[i], fb[j]);
    }
    wait_for_copies<0>();
    each_element([&](double& x, bool inside, std::size_t at) {
        if (inside) c[at] = -x;
    });
}

} // namespace

void require_tensor_cores() { require_built_for(tensor_update_kernel, 80); }

void update_tensor(const double* a, int a_stride, const double* b, int b_stride, double* c, int c_stride, int m, int n,
                   int k, cudaStream_t stream) {
    if (m <= 0 || n <= 0) return;
    CUDA_CHECK(cudaFuncSetAttribute(tensor_update_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes));
    const dim3 blocks(gpulab::grid_size(n, columns), gpulab::grid_size(m, rows));
    tensor_update_kernel<<<blocks, threads, shared_bytes, stream>>>(a, a_stride, b, b_stride, c, c_stride, m, n, k);
}

void cuda_tensor_pivot(const Problem& p, Factors& f, Stopwatch& watch) {
    require_tensor_cores();
    constexpr int width = most_panel_columns;
    DeviceFactors d(p);
    const DeviceMatrix a{d.lu.data(), static_cast<int>(p.n), d.pivots.data()};
    const int n = a.n;
    watch.tile(width), watch.tile(rows), watch.tile(columns), watch.tile(depth), watch.tile(32);
    gpulab::watch_stream(
        watch,
        [&](cudaStream_t stream) {
            for (int k0 = 0; k0 < n; k0 += width) {
                const int k1 = std::min(k0 + width, n);
                factorise_columns(a, k0, k1, stream);
                exchange_rows(a, k0, k1, 0, n, k0, k1, stream);
                if (k1 == n) break;
                solve_unit_lower(a.at(k0, k0), n, a.at(k0, k1), n, k1 - k0, n - k1, stream);
                update_tensor(a.at(k1, k0), n, a.at(k0, k1), n, a.at(k1, k1), n, n - k1, n - k1, k1 - k0, stream);
            }
        },
        [&](cudaStream_t stream) { d.restore(stream); });
    d.copy_to(f, true);
}

} // namespace lu
