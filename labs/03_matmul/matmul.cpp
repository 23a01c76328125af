#include "matmul.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <type_traits>

#include "gpulab/compare.hpp"
#include "gpulab/device.hpp"
#include "gpulab/error.hpp"
#include "gpulab/input.hpp"
#include "gpulab/math.hpp"
#include "gpulab/parallel.hpp"
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
    const auto work = [&](unsigned) {
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
    gpulab::for_parts(gpulab::parts_for(strips, 1), work);
    return c;
}

template <class T> double tolerance(std::size_t k) {
    return std::sqrt(static_cast<double>(k)) * std::numeric_limits<T>::epsilon();
}

InputError input_error(std::string_view variant) {
    if (variant.ends_with("_fp16")) return {0x1p-11, 0x1p-14};
    if (variant.ends_with("_bf16")) return {0x1p-8};
    if (variant == "cuda_three_tf32") return {0x1p-22};
    return {variant.ends_with("_tf32") ? 0x1p-10 : 0};
}

std::string_view library_of(std::string_view variant) {
    for (const std::string_view library : {"cuda_cublas_fp16", "cuda_cublas_bf16", "cuda_cublas_tf32"})
        if (input_error(variant).relative == input_error(library).relative) return library;
    return "cuda_cublas";
}

template <class T>
gpulab::Comparison compare(const Problem<T>& p, const Output<T>& reference, const Output<T>& c,
                           const InputError& input_error) {
    const auto square = [&](double x) {
        const double length = std::max(std::abs(x), input_error.least);
        return length * length;
    };
    std::vector<double> row(p.m), column(p.n); // squared lengths, then lengths
    const std::size_t rows_worth = (1 << 20) / (p.k + 1) + 1, columns_worth = std::max<std::size_t>(rows_worth, 64);
    gpulab::for_ranges(p.m, rows_worth, [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i)
            for (std::size_t l = 0; l < p.k; ++l) row[i] += square(p.a[i * p.k + l]);
    });
    gpulab::for_ranges(p.n, columns_worth, [&](std::size_t begin, std::size_t end) {
        for (std::size_t l = 0; l < p.k; ++l)
            for (std::size_t j = begin; j < end; ++j) column[j] += square(p.b[l * p.n + j]);
    });
    for (double& length : row) length = std::sqrt(length);
    for (double& length : column) length = std::sqrt(length);
    return gpulab::compare(reference, c, tolerance<T>(p.k) + input_error.relative * (2 + input_error.relative),
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
    constexpr bool in_double = std::is_same_v<T, double>;
#define RUNG(backend, if_built, function, ...) GPULAB_ROW(backend, if_built(function<T>), function, __VA_ARGS__)
#define CUDA_FLOAT_RUNG(function, ...) GPULAB_ROW(cuda, GPULAB_IF_CUDA(float_only<T>(function)), function, __VA_ARGS__)
    static constexpr gpulab::Variant<Run<T>> table[] = {
#include "rungs.inc"
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
template gpulab::Comparison compare(const Problem<float>&, const Output<float>&, const Output<float>&,
                                    const InputError&);
template gpulab::Comparison compare(const Problem<double>&, const Output<double>&, const Output<double>&,
                                    const InputError&);
template std::span<const gpulab::Variant<Run<float>>> variants<float>();
template std::span<const gpulab::Variant<Run<double>>> variants<double>();

} // namespace matmul
