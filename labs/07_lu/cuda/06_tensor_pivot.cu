// Rung 6: the update on tensor cores.
//
// A tensor core multiplies two small matrices with one instruction of a whole warp, here 16 x 8 times 8 x 8 in double
// precision. The matrices are spread over the registers of the warp; the part in one lane is called a fragment. The
// instruction determines which elements it holds (PTX manual, "matrix fragments for mma.m16n8k8"). With g = lane / 4
// and t = lane % 4:
//     A, 16 x 8: (g, t), (g + 8, t), (g, t + 4), (g + 8, t + 4)
//     B, 8 x 8:  (t, g), (t + 4, g)
//     C, 16 x 8: (g, 2t), (g, 2t + 1), (g + 8, 2t), (g + 8, 2t + 1)
// By lanes:
//
//     A                         B                         C
//      0  1  2  3  0  1  2  3    0  4  8 12 16 20 24 28    0  0  1  1  2  2  3  3
//      4  5  6  7  4  5  6  7    1  5  9 13 17 21 25 29    4  4  5  5  6  6  7  7
//           ...                  2  6 10 14 18 22 26 30         ...
//     28 29 30 31 28 29 30 31    3  7 11 15 19 23 27 31   28 28 29 29 30 30 31 31
//     the same lanes again      the same lanes again      the same lanes again
//
// Devices of compute capability 8.x multiply 8 x 4 times 4 x 8 only: four such instructions do the same, with the same
// fragments.
// Changed: the update uses tensor cores. A block of 256 threads computes 64 x 64 elements of C, a warp 32 x 16 of them.
// The 64 columns of A and 64 rows of B that the block needs fit in its shared memory. Asynchronous copies load them in
// four groups, so that the product of the first 16 columns begins while the others are under way. C is loaded before
// that, during these copies. Copies and loads have 16 bytes, or 8 where a row begins between two multiples of 16 bytes.
// A panel of cuda_critical_path_pivot may have more columns: then (`wide`) the block loads 64 at a time into the same
// tiles, and the sums stay in registers. Where B is wide, too, arithmetic counts most, and ring_update_kernel()
// follows.
// Limit: the panel. The update alone is limited by memory: 16 bytes of C for 128 operations.
#include <algorithm>
#include <cstdint>

#include "device_factors.hpp"
#include "early.cuh"
#include "gpulab/cuda/async_copy.cuh"
#include "gpulab/cuda/built_for.hpp"
#include "gpulab/cuda/timing.hpp"
#include "steps.hpp"

namespace lu {

namespace {

constexpr int side = 64;                 // rows and columns of a block of C
constexpr int depth = max_panel_columns; // columns of A that fit
constexpr int part = 16;                 // of them, in a group of copies
constexpr int threads = 256;             // 2 x 4 warps
constexpr int warp_rows = 32, warp_columns = 16;
// Rows in shared memory, padded so that the 16 lanes that load at a time meet all 32 banks once.
constexpr int a_row = depth + 4, b_row = side + 4;
constexpr std::size_t shared_bytes = (side * a_row + depth * b_row) * sizeof(double);

/// A thread waits for the copies that it started, the barrier for those of the others.
template <int pending> __device__ void wait_for_part() {
    gpulab::wait_for_copies<pending>();
    __syncthreads();
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

/// Loads the negatives of two neighbours in a row, or of one where there is no other.
template <int doubles> struct NegativeOfC {
    __device__ void operator()(double& x, double& y, const double* at, bool both) const {
        if constexpr (doubles == 2) {
            const double2 pair = *reinterpret_cast<const double2*>(at);
            x = -pair.x;
            y = -pair.y;
        } else {
            x = -at[0];
            if (both) y = -at[1];
        }
    }
};
/// Stores the negatives.
template <int doubles> struct StoreNegative {
    __device__ void operator()(double x, double y, double* at, bool both) const {
        if constexpr (doubles == 2) {
            *reinterpret_cast<double2*>(at) = make_double2(-x, -y);
        } else {
            at[0] = -x;
            if (both) at[1] = -y;
        }
    }
};

/// @tparam doubles of an access. 2: all rows begin at a multiple of 16 bytes, and n and k are even
/// @tparam wide whether A may have more columns than fit: then the block takes `depth` of them at a time
template <int doubles, bool wide>
__global__ void __launch_bounds__(threads, 2)
    tensor_update_kernel(const double* a, const double* b, double* c, int stride, int m, int n, int k) {
    extern __shared__ double tiles[];
    double* const a_tile = tiles;
    double* const b_tile = tiles + side * a_row;
    const int t = threadIdx.x, warp = t / 32, group = t % 32 / 4, quad = t % 4;
    const int row = blockIdx.y * side, column = blockIdx.x * side;
    const int warp_row = warp / 4 * warp_rows, warp_column = warp % 4 * warp_columns; // within the block's tile

    // Starts the copies of `part` columns of A from first + l0 on, and of these rows of B. In the tiles they begin at
    // l0.
    const auto start_copies = [&](int first, int l0) {
#pragma unroll
        for (int e0 = 0; e0 < side * part; e0 += threads * doubles) {
            const int e = e0 + t * doubles, i = e / part, l = l0 + e % part;
            const bool inside = row + i < m && first + l < k;
            gpulab::copy_async<8 * doubles>(&a_tile[i * a_row + l],
                                            inside ? a + std::size_t(row + i) * stride + first + l : a, inside);
        }
#pragma unroll
        for (int e0 = 0; e0 < part * side; e0 += threads * doubles) {
            const int e = e0 + t * doubles, l = l0 + e / side, j = e % side;
            const bool inside = first + l < k && column + j < n;
            gpulab::copy_async<8 * doubles>(&b_tile[l * b_row + j],
                                            inside ? b + std::size_t(first + l) * stride + column + j : b, inside);
        }
        gpulab::commit_copies();
    };
    const auto start_all_copies = [&](int first) {
#pragma unroll
        for (int l0 = 0; l0 < depth; l0 += part) start_copies(first, l0); // constant bounds: all loops are unrolled
    };
    wait_for_previous();
    start_all_copies(0);

    // -C, to which A B is added, because the instruction only adds; the negative sum is stored. Fragment (i, j) covers
    // rows 16 i ... and columns 8 j ... of the warp's 32 x 16.
    double sum[warp_rows / 16][warp_columns / 8][4];
    const auto each_pair = [&](const auto& action) { // of neighbours in a row
#pragma unroll
        for (int i = 0; i < warp_rows / 16; ++i)
#pragma unroll
            for (int j = 0; j < warp_columns / 8; ++j)
#pragma unroll
                for (int e = 0; e < 4; e += 2) {
                    const int r = row + warp_row + 16 * i + group + e / 2 * 8;
                    const int s = column + warp_column + 8 * j + 2 * quad;
                    if (r < m && s < n)
                        action(sum[i][j][e], sum[i][j][e + 1], c + std::size_t(r) * stride + s, s + 1 < n);
                }
    };
    for (auto& fragments : sum)
        for (auto& fragment : fragments)
            for (double& x : fragment) x = 0;
    each_pair(NegativeOfC<doubles>{});

    const auto multiply = [&](int first, int l0) { // these columns of A and rows of B
        if (first + l0 >= k) return;
#pragma unroll
        for (int l = l0; l < l0 + part; l += 8) {
            double fa[warp_rows / 16][4], fb[warp_columns / 8][2];
#pragma unroll
            for (int i = 0; i < warp_rows / 16; ++i)
#pragma unroll
                for (int e = 0; e < 4; ++e)
                    fa[i][e] = a_tile[(warp_row + 16 * i + group + e % 2 * 8) * a_row + l + quad + e / 2 * 4];
#pragma unroll
            for (int j = 0; j < warp_columns / 8; ++j)
#pragma unroll
                for (int e = 0; e < 2; ++e) fb[j][e] = b_tile[(l + quad + 4 * e) * b_row + warp_column + 8 * j + group];
#pragma unroll
            for (int i = 0; i < warp_rows / 16; ++i)
#pragma unroll
                for (int j = 0; j < warp_columns / 8; ++j) multiply_add(sum[i][j], fa[i], fb[j]);
        }
    };
    for (int first = 0; first < (wide ? k : 1); first += depth) { // not wide: once
        if (first > 0) {
            __syncthreads(); // every warp has read the tiles
            start_all_copies(first);
        }
        wait_for_part<3>();
        multiply(first, 0);
        wait_for_part<2>();
        multiply(first, part);
        wait_for_part<1>();
        multiply(first, 2 * part);
        wait_for_part<0>();
        multiply(first, 3 * part);
    }

    each_pair(StoreNegative<doubles>{});
}

/// The sizes of ring_update_kernel(): also 64 x 64 elements of C in a block, but 32 x 32 in a warp, from tiles `part`
/// deep.
struct Ring {
    static constexpr int stages = 4, threads = 128, warp_side = 32, blocks_per_sm = 3;
    static constexpr int band_height = 8; // blocks from top to bottom before the next column of blocks, as in lab 03
    static constexpr int a_row = part + 4, b_row = side + 4, stage = side * a_row + part * b_row;
    static constexpr std::size_t shared_bytes = sizeof(double) * stages * stage;
};

/// C -= A B where A has more columns than fit and B has many: the rest of the matrix, for a wide panel. A warp loads 64
/// numbers from shared memory for 1024 multiply-adds, and tiles pass through a ring of stages, as in lab 03.
/// @tparam doubles of an access, as above
template <int doubles>
__global__ void __launch_bounds__(Ring::threads, Ring::blocks_per_sm)
    ring_update_kernel(const double* a, const double* b, double* c, int stride, int m, int n, int k) {
    constexpr int warp_side = Ring::warp_side, stages = Ring::stages;
    extern __shared__ double tiles[];
    const int t = threadIdx.x, warp = t / 32, group = t % 32 / 4, quad = t % 4;
    const int block_rows = (m + side - 1) / side, block_columns = (n + side - 1) / side;
    const int band = blockIdx.x / (Ring::band_height * block_columns);
    const int within = blockIdx.x - band * Ring::band_height * block_columns;
    const int height = min(Ring::band_height, block_rows - band * Ring::band_height);
    const int row = (band * Ring::band_height + within % height) * side, column = within / height * side;
    const int warp_row = warp / 2 * warp_side, warp_column = warp % 2 * warp_side; // within the block's tile
    wait_for_previous();

    const auto start = [&](int stage, int l0) {
        double* const a_tile = tiles + stage * Ring::stage;
        double* const b_tile = a_tile + side * Ring::a_row;
#pragma unroll
        for (int e0 = 0; e0 < side * part; e0 += Ring::threads * doubles) {
            const int e = e0 + t * doubles, i = e / part, l = e % part;
            const bool inside = row + i < m && l0 + l < k;
            gpulab::copy_async<8 * doubles>(&a_tile[i * Ring::a_row + l],
                                            inside ? a + std::size_t(row + i) * stride + l0 + l : a, inside);
        }
#pragma unroll
        for (int e0 = 0; e0 < part * side; e0 += Ring::threads * doubles) {
            const int e = e0 + t * doubles, l = e / side, j = e % side;
            const bool inside = l0 + l < k && column + j < n;
            gpulab::copy_async<8 * doubles>(&b_tile[l * Ring::b_row + j],
                                            inside ? b + std::size_t(l0 + l) * stride + column + j : b, inside);
        }
    };
    const int steps = (k + part - 1) / part;
#pragma unroll
    for (int s = 0; s < stages - 1; ++s) {
        if (s < steps) start(s, s * part);
        gpulab::commit_copies(); // also when there is nothing: the count of groups must agree
    }

    double sum[warp_side / 16][warp_side / 8][4] = {}; // -C + A B
    const auto each_pair = [&](const auto& action) {   // of neighbours in a row
#pragma unroll
        for (int i = 0; i < warp_side / 16; ++i)
#pragma unroll
            for (int j = 0; j < warp_side / 8; ++j)
#pragma unroll
                for (int e = 0; e < 4; e += 2) {
                    const int r = row + warp_row + 16 * i + group + e / 2 * 8;
                    const int s = column + warp_column + 8 * j + 2 * quad;
                    if (r < m && s < n)
                        action(sum[i][j][e], sum[i][j][e + 1], c + std::size_t(r) * stride + s, s + 1 < n);
                }
    };
    each_pair(NegativeOfC<doubles>{});

    int reading = 0, writing = stages - 1;
    for (int step = 0; step < steps; ++step) {
        wait_for_part<stages - 2>(); // the tiles of this step are there, and nobody reads those of the step before
        if (step + stages - 1 < steps) start(writing, (step + stages - 1) * part);
        gpulab::commit_copies();
        writing = writing + 1 == stages ? 0 : writing + 1;
        const double* const a_tile = tiles + reading * Ring::stage;
        const double* const b_tile = a_tile + side * Ring::a_row;
        reading = reading + 1 == stages ? 0 : reading + 1;
#pragma unroll
        for (int l = 0; l < part; l += 8) {
            double fa[warp_side / 16][4], fb[warp_side / 8][2];
#pragma unroll
            for (int i = 0; i < warp_side / 16; ++i)
#pragma unroll
                for (int e = 0; e < 4; ++e)
                    fa[i][e] = a_tile[(warp_row + 16 * i + group + e % 2 * 8) * Ring::a_row + l + quad + e / 2 * 4];
#pragma unroll
            for (int j = 0; j < warp_side / 8; ++j)
#pragma unroll
                for (int e = 0; e < 2; ++e)
                    fb[j][e] = b_tile[(l + quad + 4 * e) * Ring::b_row + warp_column + 8 * j + group];
#pragma unroll
            for (int i = 0; i < warp_side / 16; ++i)
#pragma unroll
                for (int j = 0; j < warp_side / 8; ++j) multiply_add(sum[i][j], fa[i], fb[j]);
        }
    }
    each_pair(StoreNegative<doubles>{});
}

/// Does the matrix begin at a multiple of 16 bytes?
bool aligned(const double* matrix) { return reinterpret_cast<std::uintptr_t>(matrix) % 16 == 0; }

} // namespace

void require_tensor_cores() { gpulab::require_built_for(tensor_update_kernel<1, false>, 80); }

void update_tensor(const double* a, const double* b, double* c, int stride, int m, int n, int k, cudaStream_t stream) {
    if (m <= 0 || n <= 0) return;
    const bool pairs = aligned(a) && aligned(b) && aligned(c) && stride % 2 == 0 && n % 2 == 0 && k % 2 == 0;
    if (k > depth && n > most_columns_of_chain) {
        const auto kernel = pairs ? ring_update_kernel<2> : ring_update_kernel<1>;
        CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, Ring::shared_bytes));
        kernel<<<gpulab::grid_size(m, side) * gpulab::grid_size(n, side), Ring::threads, Ring::shared_bytes, stream>>>(
            a, b, c, stride, m, n, k);
        return;
    }
    const auto kernel = k <= depth ? (pairs ? tensor_update_kernel<2, false> : tensor_update_kernel<1, false>)
                                   : (pairs ? tensor_update_kernel<2, true> : tensor_update_kernel<1, true>);
    CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes));
    const dim3 blocks(gpulab::grid_size(n, side), gpulab::grid_size(m, side));
    launch_in_chain(kernel, blocks, threads, shared_bytes, stream, n, a, b, c, stride, m, n, k);
}

void cuda_tensor_pivot(const Problem& p, Factors& f, Stopwatch& watch) {
    require_tensor_cores();
    constexpr int width = max_panel_columns;
    DeviceFactors d(p);
    const DeviceMatrix a{d.lu.data(), static_cast<int>(p.n), d.pivots.data()};
    const int n = a.n;
    watch.tile(width).tile(side).tile(32);
    const auto launch = [&](cudaStream_t stream) {
        for (int k0 = 0; k0 < n; k0 += width) {
            const int k1 = std::min(k0 + width, n);
            factorise_columns(a, k0, k1, stream);
            exchange_rows(a, k0, k1, 0, n, k0, k1, stream);
            if (k1 == n) break;
            solve_unit_lower(a.at(k0, k0), n, a.at(k0, k1), n, k1 - k0, n - k1, stream);
            update_tensor(a.at(k1, k0), a.at(k0, k1), a.at(k1, k1), n, n - k1, n - k1, k1 - k0, stream);
        }
    };
    const auto reset = [&](cudaStream_t stream) { d.restore(stream); };
    gpulab::watch_stream(watch, launch, reset);
    d.copy_to(f, true);
}

} // namespace lu
