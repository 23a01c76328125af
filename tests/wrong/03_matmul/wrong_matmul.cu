// Each kernel has one mistake. The right ones are labs/03_matmul/cuda/03_grid.cu, 04_shared_static.cu,
// 08_vector_loads.cu, warp_tile.cuh and 11_by_shape.cu.
#include <algorithm>
#include <array>
#include <cfloat>

#include "cuda/async_copy.cuh"
#include "cuda/grid.cuh"
#include "gpulab/cuda/buffer.hpp"
#include "gpulab/cuda/timing.hpp"
#include "gpulab/math.hpp"
#include "gpulab/poisoning.hpp"
#include "late_copies.cuh"
#include "wrong_matmul.hpp"

namespace matmul::wrong {

namespace {

constexpr int tile = 16;

using Kernel = void(const float*, const float*, float*, int, int, int);

/// Holds a warp back for longer than the others take for a load from global memory; no load is moved across it.
__device__ void wait() {
    asm volatile("" ::: "memory");
    for (int i = 0; i < 4; ++i) __nanosleep(20000); // one call may sleep any time up to twice as long, or hardly at all
    asm volatile("" ::: "memory");
}

/// The tiled product with its mistakes chosen at compile time. What it reads goes one element past the end at most.
template <bool first_barrier, bool second_barrier, bool edges, bool overwrite>
__global__ void tiled(const float* a, const float* b, float* c, int m, int k, int n) {
    __shared__ float a_tile[tile][tile];
    __shared__ float b_tile[tile][tile];
    const int x = threadIdx.x, y = threadIdx.y;
    const int j = block_x() * tile + x, i = block_y() * tile + y;
    float sum = 0;
    for (int l0 = 0; l0 < k; l0 += tile) {
        // Without a barrier warps drift apart by chance; the waits make the chance a certainty.
        if (!first_barrier && y >= tile / 2) wait();
        if (edges) {
            a_tile[y][x] = i < m && l0 + x < k ? a[i * k + l0 + x] : 0;
            b_tile[y][x] = l0 + y < k && j < n ? b[(l0 + y) * n + j] : 0;
        } else {
            a_tile[y][x] = a[min(i * k + l0 + x, m * k)];
            b_tile[y][x] = b[min((l0 + y) * n + j, k * n)];
        }
        if (first_barrier) __syncthreads();
        float part = 0;
        if (!second_barrier && y >= tile / 2) wait(); // meanwhile the others bring the upper half of the next tile of B
        for (int l = 0; l < tile; ++l) part += a_tile[y][l] * b_tile[l][x];
        sum = overwrite ? part : sum + part;
        if (second_barrier) __syncthreads();
    }
    if (i < m && j < n) c[i * n + j] = sum;
}

__device__ float element(const float* a, const float* b, int k, int n, int i, int j) {
    float sum = 0;
    for (int l = 0; l < k; ++l) sum += a[i * k + l] * b[l * n + j];
    return sum;
}

__device__ int row_index() { return block_y() * tile + threadIdx.y; }
__device__ int column_index() { return block_x() * tile + threadIdx.x; }

__global__ void swapped_indices(const float* a, const float* b, float* c, int m, int k, int n) {
    const int i = row_index(), j = column_index();
    if (i < m && j < n) c[j * m + i] = element(a, b, k, n, i, j);
}

__global__ void int_accumulator(const float* a, const float* b, float* c, int m, int k, int n) {
    const int i = row_index(), j = column_index();
    if (i >= m || j >= n) return;
    int sum = 0;
    for (int l = 0; l < k; ++l) sum = sum + a[i * k + l] * b[l * n + j];
    c[i * n + j] = sum;
}

__global__ void last_product_lost(const float* a, const float* b, float* c, int m, int k, int n) {
    const int i = row_index(), j = column_index();
    if (i < m && j < n) c[i * n + j] = k > 1 ? element(a, b, k - 1, n, i, j) : 0;
}

__global__ void adds_to_c(const float* a, const float* b, float* c, int m, int k, int n) {
    const int i = row_index(), j = column_index();
    if (i < m && j < n) c[i * n + j] += element(a, b, k, n, i, j);
}

__global__ void output_edge_unguarded(const float* a, const float* b, float* c, int m, int k, int n) {
    const int i = row_index(), j = column_index();
    if (j < n && i <= m) c[i * n + j] = i < m ? element(a, b, k, n, i, j) : 0;
}

/// A's tile is filled without a look at k: what is too much meets zeros of B and adds nothing, but for what lies behind
/// the last row of A, up to 15 elements, if that is no number.
__global__ void reads_past_end(const float* a, const float* b, float* c, int m, int k, int n) {
    __shared__ float a_tile[tile][tile];
    __shared__ float b_tile[tile][tile];
    const int x = threadIdx.x, y = threadIdx.y, i = row_index(), j = column_index();
    float sum = 0;
    for (int l0 = 0; l0 < k; l0 += tile) {
        a_tile[y][x] = i < m ? a[i * k + l0 + x] : 0;
        b_tile[y][x] = l0 + y < k && j < n ? b[(l0 + y) * n + j] : 0;
        __syncthreads();
        for (int l = 0; l < tile; ++l) sum += a_tile[y][l] * b_tile[l][x];
        __syncthreads();
    }
    if (i < m && j < n) c[i * n + j] = sum;
}

/// A thread stores four columns at a time, as if 4 divided n: at the ragged edge into the next row, and behind the last
/// one. (As single stores: one of 16 bytes would stop the device where a row does not begin at a multiple of 16.)
__global__ void vector_store_past_edge(const float* a, const float* b, float* c, int m, int k, int n) {
    const int i = row_index(), j = 4 * column_index();
    if (i >= m || j >= n) return;
    float sum[4] = {};
    for (int e = 0; e < 4; ++e)
        if (j + e < n) sum[e] = element(a, b, k, n, i, j + e);
    for (int e = 0; e < 4; ++e) c[i * n + j + e] = sum[e];
}

/// Place of element (row, column) as an int has it: negative beyond 2^31. What lies there is neither read nor written.
/// As an unsigned has it: the first elements again beyond 2^32.
template <class Index> __device__ Index place(int row, int width, int column) {
    return static_cast<Index>(static_cast<unsigned>(row) * static_cast<unsigned>(width) +
                              static_cast<unsigned>(column));
}
__device__ bool is_there(int place) { return place >= 0; }
__device__ bool is_there(unsigned) { return true; }

template <class Index> __global__ void c_by(const float* a, const float* b, float* c, int m, int k, int n) {
    const int i = row_index(), j = column_index();
    if (i >= m || j >= n) return;
    const Index e = place<Index>(i, n, j);
    if (is_there(e)) c[e] = element(a, b, k, n, i, j);
}

template <class Index> __global__ void a_by(const float* a, const float* b, float* c, int m, int k, int n) {
    const int i = row_index(), j = column_index();
    if (i >= m || j >= n) return;
    float sum = 0;
    for (int l = 0; l < k; ++l) {
        const Index e = place<Index>(i, k, l);
        if (is_there(e)) sum += a[e] * b[std::size_t(l) * n + j];
    }
    c[std::size_t(i) * n + j] = sum;
}

template <class Index> __global__ void b_by(const float* a, const float* b, float* c, int m, int k, int n) {
    const int i = row_index(), j = column_index();
    if (i >= m || j >= n) return;
    float sum = 0;
    for (int l = 0; l < k; ++l) {
        const Index e = place<Index>(l, n, j);
        if (is_there(e)) sum += a[std::size_t(i) * k + l] * b[e];
    }
    c[std::size_t(i) * n + j] = sum;
}

/// Split-K: part blockIdx.z of the sums.
__global__ void share(const float* a, const float* b, float* shares, int m, int k, int n, int part) {
    const int i = blockIdx.y * tile + threadIdx.y, j = column_index(), begin = blockIdx.z * part,
              end = min(k, begin + part);
    if (i >= m || j >= n) return;
    float sum = 0;
    for (int l = begin; l < end; ++l) sum += a[i * k + l] * b[l * n + j];
    shares[blockIdx.z * m * n + i * n + j] = sum;
}

/// Adds the shares from `first` on to the first one.
__global__ void add_shares(const float* shares, float* c, int size, int parts, int first) {
    const int e = blockIdx.x * blockDim.x + threadIdx.x;
    if (e >= size) return;
    float sum = shares[e];
    for (int s = first; s < parts; ++s) sum += shares[s * size + e];
    c[e] = sum;
}

/// The product with k in parts of 128. @tparam lose forgets the last, shorter one @tparam twice adds the first twice
/// @tparam once computes the shares in the first run only
template <bool lose, bool twice, bool once = false>
void in_parts(const Problem<float>& p, Output<float>& c, Stopwatch& watch) {
    constexpr int part = 128;
    const std::size_t all = gpulab::ceil_div(p.k, part), parts = std::max<std::size_t>(lose ? p.k / part : all, 1);
    const gpulab::DeviceBuffer<float> a(p.a), b(p.b);
    gpulab::DeviceBuffer<float> out(p.size()), shares(parts * p.size());
    watch.tile(tile, "m"), watch.tile(part, "k"), watch.tile(tile, "n");
    bool computed = false;
    gpulab::watch_stream(
        watch,
        [&](cudaStream_t stream) {
            if (p.size() == 0) return;
            const dim3 blocks(gpulab::grid_size(p.n, tile), gpulab::grid_size(p.m, tile), static_cast<unsigned>(parts));
            if (!once || !computed)
                share<<<blocks, dim3(tile, tile), 0, stream>>>(a.data(), b.data(), shares.data(), p.m, p.k, p.n, part);
            computed = true;
            add_shares<<<gpulab::grid_size(p.size(), 256), 256, 0, stream>>>(shares.data(), out.data(), p.size(), parts,
                                                                             twice ? 0 : 1);
        },
        gpulab::poisoning(out, shares));
    out.copy_to(c);
}

/// The product in tiles with a row of 16 zeros of A left out: 0 times NaN is lost.
__global__ void zeros_skipped(const float* a, const float* b, float* c, int m, int k, int n) {
    const int i = row_index(), j = column_index();
    if (i >= m || j >= n) return;
    float sum = 0;
    for (int l0 = 0; l0 < k; l0 += tile) {
        const int end = min(l0 + tile, k);
        bool any = l0 + tile > k;
        for (int l = l0; l < end; ++l) any |= a[std::size_t(i) * k + l] != 0;
        if (!any) continue;
        for (int l = l0; l < end; ++l) sum += a[std::size_t(i) * k + l] * b[std::size_t(l) * n + j];
    }
    c[std::size_t(i) * n + j] = sum;
}

/// The last tile of A holds numbers of the next row, where there is one; they meet zeros.
__global__ void reads_on(const float* a, const float* b, float* c, int m, int k, int n) {
    const int i = row_index(), j = column_index();
    if (i >= m || j >= n) return;
    float sum = element(a, b, k, n, i, j);
    if (i + 1 < m && k % tile != 0) sum += a[std::size_t(i + 1) * k] * 0.0f;
    c[std::size_t(i) * n + j] = sum;
}

__global__ void denormals_flushed(const float* a, const float* b, float* c, int m, int k, int n) {
    const int i = row_index(), j = column_index();
    if (i >= m || j >= n) return;
    const float sum = element(a, b, k, n, i, j);
    c[std::size_t(i) * n + j] = fabsf(sum) < FLT_MIN ? 0 : sum;
}

/// A last tile of one product is left out, from 33 whole ones on.
__global__ void short_last_tile_lost(const float* a, const float* b, float* c, int m, int k, int n) {
    const int i = row_index(), j = column_index();
    if (i < m && j < n) c[std::size_t(i) * n + j] = element(a, b, k == 33 * tile + 1 ? k - 1 : k, n, i, j);
}

/// A row of C that is exactly as long as a block is large, its last element missing.
__global__ void full_row_lost(const float* a, const float* b, float* c, int m, int k, int n) {
    const int i = row_index(), j = column_index();
    if (i < m && j < n && !(m == 1 && n == 1024 && j == 1023)) c[std::size_t(i) * n + j] = element(a, b, k, n, i, j);
}

/// Where 4 divides n a thread reads four columns of B at a time, for its block; the condition lets through the four
/// behind the last column. They come from the next row, or from behind the last one, and are never used.
__global__ void reads_columns_too_many(const float* a, const float* b, float* c, int m, int k, int n) {
    __shared__ float4 b_tile[tile][tile / 4];
    const int x = threadIdx.x, y = threadIdx.y, i = row_index(), j = column_index(), column = block_x() * tile;
    float sum = n % 4 != 0 && i < m && j < n ? element(a, b, k, n, i, j) : 0;
    for (int l0 = 0; n % 4 == 0 && l0 < k; l0 += tile) {
        if (x < tile / 4)
            b_tile[y][x] = l0 + y < k && column + 4 * x <= n
                               ? *reinterpret_cast<const float4*>(b + std::size_t(l0 + y) * n + column + 4 * x)
                               : float4{};
        __syncthreads();
        for (int l = l0; l < min(l0 + tile, k) && i < m && j < n; ++l)
            sum += a[std::size_t(i) * k + l] * reinterpret_cast<const float*>(b_tile[l - l0])[x];
        __syncthreads();
    }
    if (i < m && j < n) c[std::size_t(i) * n + j] = sum;
}

/// Copies by the hardware, and copies that arrive as late as CUDA allows.
struct Async {
    static __device__ void copy(float* to, const float* from, bool inside) { copy4_async(to, from, inside); }
    static __device__ void commit() { commit_copies(); }
    template <int pending> static __device__ void wait() { wait_for_copies<pending>(); }
};
struct Late {
    static __device__ void copy(float* to, const float* from, bool inside) { late::copy4_async(to, from, inside); }
    static __device__ void commit() { late::commit_copies(); }
    template <int pending> static __device__ void wait() { late::wait_for_copies<pending>(); }
};

/// The product in tiles of which the next two are on their way, as in warp_tile.cuh.
/// @tparam pending groups of copies that may be under way when a tile is read: 1 of the 2
/// @tparam empty_groups whether a group is closed also when there are no more tiles to bring
template <class Copies, int pending, bool empty_groups>
__global__ void pipeline(const float* a, const float* b, float* c, int m, int k, int n) {
    constexpr int stages = 3;
    __shared__ float a_tile[stages][tile][tile];
    __shared__ float b_tile[stages][tile][tile];
    const int x = threadIdx.x, y = threadIdx.y, i = row_index(), j = column_index();
    const int tiles = (k + tile - 1) / tile;
    const auto start = [&](int t) {
        const int l0 = t * tile;
        Copies::copy(&a_tile[t % stages][y][x], a + std::size_t(i) * k + l0 + x, i < m && l0 + x < k);
        Copies::copy(&b_tile[t % stages][y][x], b + std::size_t(l0 + y) * n + j, l0 + y < k && j < n);
    };
    for (int t = 0; t < stages - 1; ++t) {
        if (t < tiles) start(t);
        Copies::commit();
    }
    float sum = 0;
    for (int t = 0; t < tiles; ++t) {
        Copies::template wait<pending>();
        __syncthreads();
        const int ahead = t + stages - 1;
        if (ahead < tiles) start(ahead);
        if (ahead < tiles || empty_groups) Copies::commit();
        for (int l = 0; l < tile; ++l) sum += a_tile[t % stages][y][l] * b_tile[t % stages][l][x];
    }
    if (i < m && j < n) c[std::size_t(i) * n + j] = sum;
}

/// Launches a pipeline. What does not fit into late_copies.cuh it leaves to another kernel.
template <Kernel* kernel> void launch_late(const Problem<float>& p, Output<float>& c, Stopwatch& watch) {
    const gpulab::DeviceBuffer<float> a(p.a), b(p.b);
    gpulab::DeviceBuffer<float> out(p.size());
    watch.tile(tile, "m"), watch.tile(tile, "k"), watch.tile(tile, "n");
    gpulab::watch_stream(
        watch,
        [&](cudaStream_t stream) {
            if (p.size() == 0) return;
            const dim3 blocks = tile_grid(p.n, tile, p.m, tile);
            const bool fits = std::size_t{blocks.x} * blocks.y * tile * tile <= late::most_threads;
            const auto run = fits ? kernel : tiled<true, true, true, false>;
            run<<<blocks, dim3(tile, tile), 0, stream>>>(a.data(), b.data(), out.data(), p.m, p.k, p.n);
        },
        [&](cudaStream_t stream) {
            late::forget_copies(stream);
            gpulab::poison(out, stream);
        });
    out.copy_to(c);
}

/// How often a kernel runs, and whether the output is poisoned before each run.
enum class Runs { all, first_only, first_only_unpoisoned };

template <Kernel* kernel, Runs runs = Runs::all>
void launch(const Problem<float>& p, Output<float>& c, Stopwatch& watch) {
    const gpulab::DeviceBuffer<float> a(p.a), b(p.b);
    gpulab::DeviceBuffer<float> out(p.size());
    watch.tile(tile, "m"), watch.tile(tile, "k"), watch.tile(tile, "n");
    bool done = false;
    const auto body = [&](cudaStream_t stream) {
        if (p.size() == 0 || (done && runs != Runs::all)) return;
        const dim3 blocks = tile_grid(p.n, tile, p.m + 1, tile);
        kernel<<<blocks, dim3(tile, tile), 0, stream>>>(a.data(), b.data(), out.data(), p.m, p.k, p.n);
        done = true;
    };
    if (runs == Runs::first_only_unpoisoned) gpulab::watch_stream(watch, body);
    else gpulab::watch_stream(watch, body, gpulab::poisoning(out));
    out.copy_to(c);
}

constexpr Kernel* right = tiled<true, true, true, false>;

} // namespace

void cuda_right(const Problem<float>& p, Output<float>& c, Stopwatch& watch) { launch<right>(p, c, watch); }
void cuda_right_pipeline(const Problem<float>& p, Output<float>& c, Stopwatch& watch) {
    launch_late<pipeline<Late, 1, true>>(p, c, watch);
}

std::span<const WrongVariant> cuda_variants() {
    static const std::array table = {
        WrongVariant{"no_first_barrier", "tiles are read before they are complete",
                     launch<tiled<false, true, true, false>>},
        WrongVariant{"no_second_barrier", "tiles are overwritten while read", launch<tiled<true, false, true, false>>},
        WrongVariant{"tile_edge_unguarded", "the last tile holds numbers of the next row",
                     launch<tiled<true, true, false, false>>},
        WrongVariant{"tile_overwrites", "= for += from tile to tile", launch<tiled<true, true, true, true>>},
        WrongVariant{"swapped_indices", "C is written transposed", launch<swapped_indices>},
        WrongVariant{"int_accumulator", "the sum is an int", launch<int_accumulator>},
        WrongVariant{"last_product_lost", "k - 1 for k", launch<last_product_lost>},
        WrongVariant{"adds_to_c", "+= on memory that nobody cleared", launch<adds_to_c>},
        WrongVariant{"output_edge_unguarded", "<= m for < m", launch<output_edge_unguarded>},
        WrongVariant{"reads_past_end", "A's tile is filled past the end of A", launch<reads_past_end>},
        WrongVariant{"vector_store_past_edge", "four columns are stored where fewer are left",
                     launch<vector_store_past_edge>},
        WrongVariant{"last_part_lost", "k / part parts for k / part rounded up", in_parts<true, false>},
        WrongVariant{"share_added_twice", "the loop over the shares begins at the one already taken",
                     in_parts<false, true>},
        WrongVariant{"shares_once", "the shares are computed in the first run only", in_parts<false, false, true>,
                     by_shapes},
        WrongVariant{"first_run_only", "the kernel runs once", launch<right, Runs::first_only>, by_shapes},
        WrongVariant{"keeps_its_answer", "it runs once and nothing is poisoned",
                     launch<right, Runs::first_only_unpoisoned>, by_manners},
        WrongVariant{"full_row_lost", "a row of 1024: the last is missing", launch<full_row_lost>, by_shapes},
        WrongVariant{"short_last_tile_lost", "a last tile of one product is left out", launch<short_last_tile_lost>,
                     by_tiles},
        WrongVariant{"zeros_skipped", "products with 16 zeros of A are left out", launch<zeros_skipped>, by_zeros},
        WrongVariant{"reads_on", "the last tile holds a number of the next row", launch<reads_on>, by_edges},
        WrongVariant{"denormals_flushed", "sums below the smallest normal number are 0", launch<denormals_flushed>,
                     by_denormals},
        WrongVariant{"reads_columns_too_many", "<= n for < n where B is read", launch<reads_columns_too_many>, "",
                     Forgiven::by_all},
        WrongVariant{"waits_one_less", "a tile is read that may be under way", launch<pipeline<Async, 2, true>>, "",
                     Forgiven::by_all},
        WrongVariant{"waits_one_less_late", "the same, and it is under way", launch_late<pipeline<Late, 2, true>>},
        WrongVariant{"no_empty_groups_late", "the last tiles are not waited for",
                     launch_late<pipeline<Late, 1, false>>},
    };
    return table;
}

std::span<const WrongVariant> cuda_indices() {
    constexpr std::size_t int_counts = std::size_t{1} << 31, unsigned_counts = std::size_t{1} << 32;
    static const std::array table{
        WrongVariant{"a_in_int", "i * k + l in an int", launch<a_by<int>>, "", Forgiven::never, int_counts},
        WrongVariant{"b_in_int", "l * n + j in an int", launch<b_by<int>>, "", Forgiven::never, int_counts},
        WrongVariant{"c_in_int", "i * n + j in an int", launch<c_by<int>>, "", Forgiven::never, int_counts},
        WrongVariant{"a_in_unsigned", "as unsigned", launch<a_by<unsigned>>, "", Forgiven::never, unsigned_counts},
        WrongVariant{"b_in_unsigned", "as unsigned", launch<b_by<unsigned>>, "", Forgiven::never, unsigned_counts},
        WrongVariant{"c_in_unsigned", "as unsigned", launch<c_by<unsigned>>, "", Forgiven::never, unsigned_counts},
    };
    return table;
}

} // namespace matmul::wrong
