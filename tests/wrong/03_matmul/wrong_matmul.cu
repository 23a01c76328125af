// Each kernel has one mistake. The right ones are labs/03_matmul/cuda/3_grid.cu, 4_shared_static.cu, 8_vector_loads.cu
// and 11_by_shape.cu.
#include <algorithm>
#include <array>

#include "gpulab/cuda/buffer.hpp"
#include "gpulab/cuda/timing.hpp"
#include "gpulab/math.hpp"
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
    const int j = blockIdx.x * tile + x, i = blockIdx.y * tile + y;
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

__device__ int row_index() { return blockIdx.y * tile + threadIdx.y; }
__device__ int column_index() { return blockIdx.x * tile + threadIdx.x; }

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
    const int i = row_index(), j = column_index(), begin = blockIdx.z * part, end = min(k, begin + part);
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
template <bool lose, bool twice> void in_parts(const Problem<float>& p, Output<float>& c, Stopwatch& watch) {
    constexpr int part = 128;
    const std::size_t all = gpulab::ceil_div(p.k, part), parts = std::max<std::size_t>(lose ? p.k / part : all, 1);
    const gpulab::DeviceBuffer<float> a(p.a), b(p.b);
    gpulab::DeviceBuffer<float> out(p.size()), shares(parts * p.size());
    gpulab::watch_stream(watch, [&](cudaStream_t stream) {
        if (p.size() == 0) return;
        const dim3 blocks(gpulab::grid_size(p.n, tile), gpulab::grid_size(p.m, tile), static_cast<unsigned>(parts));
        share<<<blocks, dim3(tile, tile), 0, stream>>>(a.data(), b.data(), shares.data(), p.m, p.k, p.n, part);
        add_shares<<<gpulab::grid_size(p.size(), 256), 256, 0, stream>>>(shares.data(), out.data(), p.size(), parts,
                                                                         twice ? 0 : 1);
    });
    out.copy_to(c);
}

template <Kernel* kernel> void launch(const Problem<float>& p, Output<float>& c, Stopwatch& watch) {
    const gpulab::DeviceBuffer<float> a(p.a), b(p.b);
    gpulab::DeviceBuffer<float> out(p.size());
    gpulab::watch_stream(watch, [&](cudaStream_t stream) {
        if (p.size() == 0) return;
        const dim3 blocks(gpulab::grid_size(p.n, tile), gpulab::grid_size(p.m + 1, tile));
        kernel<<<blocks, dim3(tile, tile), 0, stream>>>(a.data(), b.data(), out.data(), p.m, p.k, p.n);
    });
    out.copy_to(c);
}

} // namespace

std::span<const WrongVariant> cuda_variants() {
    constexpr std::size_t int_counts = std::size_t{1} << 31, unsigned_counts = std::size_t{1} << 32;
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
        WrongVariant{"index_of_a_in_int", "i * k + l in an int", launch<a_by<int>>, false, int_counts},
        WrongVariant{"index_of_b_in_int", "l * n + j in an int", launch<b_by<int>>, false, int_counts},
        WrongVariant{"index_of_c_in_int", "i * n + j in an int", launch<c_by<int>>, false, int_counts},
        WrongVariant{"index_of_a_in_unsigned", "as unsigned", launch<a_by<unsigned>>, false, unsigned_counts},
        WrongVariant{"index_of_b_in_unsigned", "as unsigned", launch<b_by<unsigned>>, false, unsigned_counts},
        WrongVariant{"index_of_c_in_unsigned", "as unsigned", launch<c_by<unsigned>>, false, unsigned_counts},
    };
    return table;
}

} // namespace matmul::wrong
