#include "matmul.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <limits>
#include <thread>

#include "gpulab/compare.hpp"
#include "gpulab/device.hpp"
#include "gpulab/error.hpp"
#include "gpulab/input.hpp"
#include "gpulab/math.hpp"
#include "rungs.hpp"

namespace matmul {

template <class T> double Problem<T>::flops() const {
    return 2.0 * static_cast<double>(m) * static_cast<double>(k) * static_cast<double>(n);
}

template <class T> double Problem<T>::bytes() const {
    return static_cast<double>(sizeof(T)) * (static_cast<double>(a.size() + b.size()) + static_cast<double>(size()));
}

template <class T> Problem<T> make_problem(std::size_t m, std::size_t k, std::size_t n, std::uint64_t seed) {
    return {m, k, n, gpulab::random_vector<T>(m * k, seed + 1), gpulab::random_vector<T>(k * n, seed + 2)};
}

template <class T> Output<T> reference_product(const Problem<T>& p) {
    // A thread takes a strip of 16 columns of B, copies it to contiguous doubles once, and multiplies all rows of A
    // with it, four at a time: 4 x 16 sums stay in registers.
    constexpr std::size_t strip = 16, rows = 4;
    Output<T> c(p.size());
    std::atomic<std::size_t> next{0};
    const auto work = [&] {
        std::vector<double> panel(p.k * strip);
        for (std::size_t j0 = strip * next++; j0 < p.n; j0 = strip * next++) {
            const std::size_t width = std::min(strip, p.n - j0);
            for (std::size_t l = 0; l < p.k; ++l)
                for (std::size_t j = 0; j < strip; ++j)
                    panel[l * strip + j] = j < width ? static_cast<double>(p.b[l * p.n + j0 + j]) : 0;
            for (std::size_t i0 = 0; i0 < p.m; i0 += rows) {
                const std::size_t height = std::min(rows, p.m - i0);
                const T* a[rows]; // below the last row: that row again; its sums are not stored
                for (std::size_t i = 0; i < rows; ++i) a[i] = p.a.data() + std::min(i0 + i, p.m - 1) * p.k;
                double sum[rows][strip] = {};
                for (std::size_t l = 0; l < p.k; ++l) {
                    const double* const b = &panel[l * strip];
                    for (std::size_t i = 0; i < rows; ++i) {
                        const auto factor = static_cast<double>(a[i][l]);
                        for (std::size_t j = 0; j < strip; ++j) sum[i][j] += factor * b[j];
                    }
                }
                for (std::size_t i = 0; i < height; ++i)
                    for (std::size_t j = 0; j < width; ++j) c[(i0 + i) * p.n + j0 + j] = static_cast<T>(sum[i][j]);
            }
        }
    };
    const std::size_t strips = gpulab::ceil_div(p.n, strip);
    std::vector<std::jthread> workers;
    for (std::size_t t = 1; t < std::min<std::size_t>(strips, gpulab::hardware_threads()); ++t)
        workers.emplace_back(work);
    work();
    workers.clear(); // joins
    return c;
}

template <class T> double tolerance(std::size_t k) {
    return std::sqrt(static_cast<double>(k)) * std::numeric_limits<T>::epsilon();
}

template <class T> gpulab::Comparison compare(const Problem<T>& p, const Output<T>& reference, const Output<T>& c) {
    std::vector<double> row(p.m), column(p.n); // squared lengths, then lengths
    for (std::size_t i = 0; i < p.m; ++i)
        for (std::size_t l = 0; l < p.k; ++l) row[i] += double{p.a[i * p.k + l]} * p.a[i * p.k + l];
    for (std::size_t l = 0; l < p.k; ++l)
        for (std::size_t j = 0; j < p.n; ++j) column[j] += double{p.b[l * p.n + j]} * p.b[l * p.n + j];
    for (double& length : row) length = std::sqrt(length);
    for (double& length : column) length = std::sqrt(length);
    return gpulab::compare(reference, c, tolerance<T>(p.k),
                           [&](std::size_t e) { return row[e / p.n] * column[e % p.n]; });
}

namespace {

template <class T> void not_in_double(const Problem<T>&, Output<T>&, Stopwatch&) {
    throw gpulab::Unsupported("this rung is written for float");
}

/// The rung itself in the table for float; in the table for double, one that refuses.
template <class T> constexpr Run<T>* float_only(Run<float>* run) {
    if constexpr (std::is_same_v<T, float>) return run;
    else return not_in_double<T>;
}

} // namespace

template <class T> std::span<const gpulab::Variant<Run<T>>> variants() {
    using enum gpulab::Backend;
    using Row = gpulab::Variant<Run<T>>;
    constexpr gpulab::Needs precision{.fp64 = std::is_same_v<T, double>}; // CUDA devices all have it
    static constexpr std::array table = {
        Row{"cpu_ijk", "three loops, one element of C after another", cpu, cpu_ijk<T>},
        Row{"cpu_ikj", "the two inner loops exchanged: B is read along its rows", cpu, cpu_ikj<T>},
        Row{"cpu_blocked", "blocks of B that stay in the cache", cpu, cpu_blocked<T>},
        Row{"cpu_element_tasks", "one task per element of C, on all cores", cpu, cpu_element_tasks<T>},
        Row{"cpu_row_tasks", "one task per row of C", cpu, cpu_row_tasks<T>},
        Row{"cpu_threads", "one thread per core, each with a band of rows, in blocks", cpu, cpu_threads<T>},
        Row{"opencl_naive", "one work-item per element", opencl, GPULAB_IF_OPENCL(opencl_naive<T>), precision},
        Row{"opencl_local_tile", "tiles of A and B in local memory", opencl, GPULAB_IF_OPENCL(opencl_local_tile<T>),
            precision},
        Row{"opencl_register_tile", "the same, and 8 x 8 elements per work-item in registers", opencl,
            GPULAB_IF_OPENCL(opencl_register_tile<T>), precision},
        Row{"cuda_one_block", "one thread per element, one block: C has at most 1024 elements", cuda,
            GPULAB_IF_CUDA(cuda_one_block<T>)},
        Row{"cuda_grid_as_printed", "a grid of blocks, threadIdx.x along the rows", cuda,
            GPULAB_IF_CUDA(cuda_grid_as_printed<T>)},
        Row{"cuda_grid", "threadIdx.x along the columns: coalesced", cuda, GPULAB_IF_CUDA(cuda_grid<T>)},
        Row{"cuda_shared_static", "tiles of A and B in shared memory", cuda, GPULAB_IF_CUDA(cuda_shared_static<T>)},
        Row{"cuda_shared_dynamic", "tiles in shared memory, their size chosen at the launch", cuda,
            GPULAB_IF_CUDA(cuda_shared_dynamic<T>)},
        Row{"cuda_register_1d", "a column of 8 elements per thread, in registers", cuda,
            GPULAB_IF_CUDA(float_only<T>(cuda_register_1d))},
        Row{"cuda_register_2d", "8 x 8 elements per thread, in registers", cuda,
            GPULAB_IF_CUDA(float_only<T>(cuda_register_2d))},
        Row{"cuda_vector_loads", "16-byte loads, A's tile transposed in shared memory", cuda,
            GPULAB_IF_CUDA(float_only<T>(cuda_vector_loads))},
        Row{"cuda_pipeline", "asynchronous copies; the next numbers are loaded during the arithmetic", cuda,
            GPULAB_IF_CUDA(float_only<T>(cuda_pipeline))},
        Row{"cuda_warp_tiles", "64 x 64 elements per warp, 8 x 16 per thread", cuda,
            GPULAB_IF_CUDA(float_only<T>(cuda_warp_tiles))},
        Row{"cuda_by_shape", "tile and number of parts of k chosen for the shape", cuda,
            GPULAB_IF_CUDA(float_only<T>(cuda_by_shape))},
        Row{"cuda_cublas",
            "the vendor's library, in true single precision",
            cuda,
            GPULAB_IF_CUDA(cuda_cublas<T>),
            {},
            true},
    };
    return table;
}

template struct Problem<float>;
template struct Problem<double>;
template Problem<float> make_problem(std::size_t, std::size_t, std::size_t, std::uint64_t);
template Problem<double> make_problem(std::size_t, std::size_t, std::size_t, std::uint64_t);
template Output<float> reference_product(const Problem<float>&);
template Output<double> reference_product(const Problem<double>&);
template double tolerance<float>(std::size_t);
template double tolerance<double>(std::size_t);
template gpulab::Comparison compare(const Problem<float>&, const Output<float>&, const Output<float>&);
template gpulab::Comparison compare(const Problem<double>&, const Output<double>&, const Output<double>&);
template std::span<const gpulab::Variant<Run<float>>> variants<float>();
template std::span<const gpulab::Variant<Run<double>>> variants<double>();

} // namespace matmul
