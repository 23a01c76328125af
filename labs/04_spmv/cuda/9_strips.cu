// Rung 9: a format of its own, made for columns that fall at random: strips of columns, bins of rows.
//
// Changed: where x is read. With random columns every entry fetches 32 bytes of x from the L2 cache to use one number
// of them, and all CSR rungs end at that rate. Here the columns are cut into strips whose part of x fits in shared
// memory, and the rows into bins whose part of y does, too. The entries are sorted by strip, then by bin, and within
// the bin keep the order of rows; row and column count from the start of bin and strip, so that 16 bits hold them.
//   1. A block loads a strip of x once and runs along the strip's entries: product[k] = value[k] * x[column[k]]. Device
//      memory is read and written in order; the random access is to shared memory.
//   2. A block takes a bin of rows and collects the bin's products, one run of neighbours per strip, by atomic
//      additions in shared memory.
// The sorting, on the CPU and outside the timing, depends on the matrix alone and is used again for every x.
// Limit: the products are written and read again, so 16 bytes per entry in float where CSR has 8, and 28 instead of 12
// in double; and the sums are atomic. On an H200 and a power-law matrix of 4 million rows, whose x the L2 cache holds
// as a whole, it takes 0.70 ms where merge path takes 0.60: avoiding the gather costs more than the gather.
// (Known as propagation blocking: Beamer, Asanovic, Patterson, IPDPS 2017.)
#include <algorithm>
#include <atomic>
#include <thread>

#include "gpulab/cuda/buffer.hpp"
#include "gpulab/cuda/occupancy.hpp"
#include "gpulab/cuda/timing.hpp"
#include "gpulab/device.hpp"
#include "gpulab/math.hpp"
#include "spmv.hpp"

namespace spmv {

namespace {

constexpr unsigned strip_threads = 1024;
constexpr unsigned bin_threads = 512;
/// Rows of a bin at most: 32 KiB of y.
template <class T> constexpr std::size_t bin_rows = 32768 / sizeof(T);

/// The matrix, sorted. Strip s begins at entry start[s * (bins + 1)], a multiple of 4, and its entries of bin b are
/// start[s * (bins + 1) + b] ... start[s * (bins + 1) + b + 1] - 1. Gaps between strips hold zeros in column 0.
template <class T> struct Strips {
    std::size_t width = 0; // columns of a strip
    std::size_t strips = 0;
    std::size_t bins = 0;
    std::vector<int> first_row; // bins + 1: the rows of each bin
    std::vector<int> start;     // strips * (bins + 1)
    std::vector<T> value;
    std::vector<std::uint16_t> column, row;
};

/// @param share non-zeros of a bin, about; a longer row has a bin of its own
template <class T> Strips<T> sort_into_strips(const gpulab::Csr<T>& a, std::size_t width, std::size_t share) {
    Strips<T> s;
    s.width = width;
    s.strips = gpulab::ceil_div(a.columns, width);
    s.first_row.push_back(0);
    for (std::size_t i = 0, begin = 0; i < a.rows; ++i) { // cut a bin before the row that would be too much
        const auto held = static_cast<std::size_t>(a.row_start[i + 1] - a.row_start[begin]);
        if (i > begin && (i - begin == bin_rows<T> || held > share)) {
            s.first_row.push_back(static_cast<int>(i));
            begin = i;
        }
    }
    if (a.rows > 0) s.first_row.push_back(static_cast<int>(a.rows));
    s.bins = s.first_row.size() - 1;
    s.start.assign(s.strips * (s.bins + 1), 0);

    // Every bin is one thread's at a time, so threads share no counter.
    const auto for_bins = [&](const auto& body) {
        std::atomic<std::size_t> next = 0;
        std::vector<std::jthread> workers;
        for (int t = 0; t < gpulab::hardware_threads(); ++t)
            workers.emplace_back([&] {
                for (std::size_t b = next++; b < s.bins; b = next++) body(b);
            });
    };
    const auto for_entries = [&](std::size_t b, const auto& body) {
        for (auto i = static_cast<std::size_t>(s.first_row[b]); i < static_cast<std::size_t>(s.first_row[b + 1]); ++i)
            for (auto k = static_cast<std::size_t>(a.row_start[i]); k < static_cast<std::size_t>(a.row_start[i + 1]);
                 ++k)
                body(i, k, static_cast<std::size_t>(a.column[k]) / width);
    };
    for_bins([&](std::size_t b) { // count
        for_entries(b, [&](std::size_t, std::size_t, std::size_t strip) { ++s.start[strip * (s.bins + 1) + b]; });
    });
    std::size_t total = 0; // counts to offsets
    for (std::size_t strip = 0; strip < s.strips; ++strip) {
        total = gpulab::round_up(total, 4);
        for (std::size_t b = 0; b <= s.bins; ++b) {
            int& at = s.start[strip * (s.bins + 1) + b];
            const int count = at;
            at = static_cast<int>(total);
            total += static_cast<std::size_t>(count);
        }
    }
    total = gpulab::round_up(total, 4);
    if (total > 0x7FFFFFFF) throw gpulab::Unsupported("the padded entries are more than 32-bit offsets reach");
    s.value.resize(total);
    s.column.resize(total);
    s.row.resize(total);
    for_bins([&](std::size_t b) { // place
        std::vector<int> next(s.strips);
        for (std::size_t strip = 0; strip < s.strips; ++strip) next[strip] = s.start[strip * (s.bins + 1) + b];
        for_entries(b, [&](std::size_t i, std::size_t k, std::size_t strip) {
            const auto to = static_cast<std::size_t>(next[strip]++);
            s.value[to] = a.value[k];
            s.column[to] = static_cast<std::uint16_t>(static_cast<std::size_t>(a.column[k]) - strip * width);
            s.row[to] = static_cast<std::uint16_t>(i - static_cast<std::size_t>(s.first_row[b]));
        });
    });
    return s;
}

/// Four consecutive numbers.
template <class T> struct __align__(16) Four { T at[4]; };

} // namespace

/// Block b does the b-th of gridDim.x equal shares of all groups of four entries, strip after strip.
/// @param groups how many groups of four there are
template <class T>
__global__ void __launch_bounds__(strip_threads)
    strip_products_kernel(const T* __restrict__ value, const std::uint16_t* __restrict__ column,
                          const T* __restrict__ x, T* __restrict__ product, const int* __restrict__ start, int bins,
                          int strips, int width, int columns, int groups) {
    extern __shared__ __align__(16) unsigned char shared[];
    T* const part = reinterpret_cast<T*>(shared); // of x
    const int first = static_cast<int>(static_cast<long long>(groups) * blockIdx.x / gridDim.x);
    const int last = static_cast<int>(static_cast<long long>(groups) * (blockIdx.x + 1) / gridDim.x);
    const int me = static_cast<int>(threadIdx.x);

    for (int s = 0; s < strips; ++s) {
        const int begin = max(first, start[s * (bins + 1)] / 4);
        const int end = min(last, s + 1 < strips ? start[(s + 1) * (bins + 1)] / 4 : groups);
        if (begin >= end) continue; // the whole block
        __syncthreads();            // nobody needs the strip before this one any more
        for (int j = me; j < min(width, columns - s * width); j += strip_threads) part[j] = x[s * width + j];
        __syncthreads();
#pragma unroll 2
        for (int g = begin + me; g < end; g += strip_threads) {
            const Four<T> v = reinterpret_cast<const Four<T>*>(value)[g];
            const ushort4 c = __ldcs(reinterpret_cast<const ushort4*>(column) + g);
            reinterpret_cast<Four<T>*>(product)[g] = {v.at[0] * part[c.x], v.at[1] * part[c.y], v.at[2] * part[c.z],
                                                      v.at[3] * part[c.w]};
        }
    }
}

/// A block per bin. A warp takes the strips w, w + warps, ...: the bin's products of one strip are neighbours.
template <class T>
__global__ void __launch_bounds__(bin_threads)
    bin_sums_kernel(const T* __restrict__ product, const std::uint16_t* __restrict__ row, T* __restrict__ y,
                    const int* __restrict__ start, const int* __restrict__ first_row, int bins, int strips) {
    __shared__ T sum[bin_rows<T>];
    const int row_begin = first_row[blockIdx.x], rows = first_row[blockIdx.x + 1] - row_begin;
    for (int i = static_cast<int>(threadIdx.x); i < rows; i += bin_threads) sum[i] = 0;
    __syncthreads();

    const int lane = static_cast<int>(threadIdx.x % 32);
    for (int s = static_cast<int>(threadIdx.x / 32); s < strips; s += bin_threads / 32) {
        const int begin = start[s * (bins + 1) + static_cast<int>(blockIdx.x)];
        const int end = start[s * (bins + 1) + static_cast<int>(blockIdx.x) + 1];
        constexpr int depth = 4; // loads in flight per lane and array
        for (int k = begin; k < end; k += 32 * depth) {
            T p[depth];
            int i[depth];
#pragma unroll
            for (int n = 0; n < depth; ++n) {
                const int at = k + 32 * n + lane;
                p[n] = at < end ? __ldcs(&product[at]) : T{0};
                i[n] = at < end ? __ldcs(&row[at]) : -1;
            }
#pragma unroll
            for (int n = 0; n < depth; ++n) {
                // Rows rise with the lane, so when the first and the last are of one row all 32 are: a long row, for
                // which 32 atomic additions would stand in a queue.
                const int low = __shfl_sync(0xFFFFFFFFu, i[n], 0), high = __shfl_sync(0xFFFFFFFFu, i[n], 31);
                if (low == high) {
                    if (low < 0) break; // the same for all lanes: nothing is left
                    for (int distance = 16; distance > 0; distance /= 2)
                        p[n] += __shfl_down_sync(0xFFFFFFFFu, p[n], distance);
                    if (lane == 0) atomicAdd(&sum[low], p[n]);
                } else if (i[n] >= 0) {
                    atomicAdd(&sum[i[n]], p[n]);
                }
            }
        }
    }
    __syncthreads();
    for (int i = static_cast<int>(threadIdx.x); i < rows; i += bin_threads) __stcs(&y[row_begin + i], sum[i]);
}

template <class T> void cuda_strips(const Problem<T>& p, Output<T>& y, Stopwatch& watch) {
    narrow_offsets(p.matrix); // refuses what 32-bit offsets do not reach
    int device = 0, most_shared = 0;
    CUDA_CHECK(cudaGetDevice(&device));
    CUDA_CHECK(cudaDeviceGetAttribute(&most_shared, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
    const unsigned multiprocessors = gpulab::multiprocessor_count();
    const std::size_t shared = std::min<std::size_t>(static_cast<std::size_t>(most_shared), 192 * 1024) / 1024 * 1024;

    const Strips<T> a = sort_into_strips(p.matrix, shared / sizeof(T), p.matrix.nonzeros() / (8 * multiprocessors) + 1);
    const gpulab::DeviceBuffer<T> value(a.value), x(p.x);
    const gpulab::DeviceBuffer<std::uint16_t> column(a.column), row(a.row);
    const gpulab::DeviceBuffer<int> start(a.start), first_row(a.first_row);
    gpulab::DeviceBuffer<T> product(a.value.size()), out(p.matrix.rows);
    CUDA_CHECK(cudaFuncSetAttribute(strip_products_kernel<T>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                    static_cast<int>(shared)));
    const auto bins = static_cast<unsigned>(a.bins);
    const auto strips = static_cast<int>(a.strips);
    gpulab::watch_stream(watch, [&](cudaStream_t stream) {
        if (bins == 0) return; // no rows: a launch of no blocks is an error
        strip_products_kernel<<<multiprocessors, strip_threads, shared, stream>>>(
            value.data(), column.data(), x.data(), product.data(), start.data(), static_cast<int>(bins), strips,
            static_cast<int>(a.width), static_cast<int>(p.matrix.columns), static_cast<int>(a.value.size() / 4));
        bin_sums_kernel<<<bins, bin_threads, 0, stream>>>(product.data(), row.data(), out.data(), start.data(),
                                                          first_row.data(), static_cast<int>(bins), strips);
    });
    product.check_guard_bands();
    out.copy_to(y);
}

template void cuda_strips(const Problem<float>&, Output<float>&, Stopwatch&);
template void cuda_strips(const Problem<double>&, Output<double>&, Stopwatch&);

} // namespace spmv
