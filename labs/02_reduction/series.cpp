#include "series.hpp"

#include <array>
#include <numbers>

#include "compensated.hpp"
#include "rungs.hpp"

namespace reduction {

double series_term(Series series, double x, std::size_t i) {
    if (series == Series::pi) {
        const double term = 4 / (2 * static_cast<double>(i) + 1);
        return i % 2 == 0 ? term : -term;
    }
    const auto power = static_cast<double>(i + 1);
    const double term = std::pow(std::abs(x), power) / power;
    // The sign of x^(i+1) times that of the alternation: for negative x every term is negative.
    return x > 0 && i % 2 == 0 ? term : -term;
}

double series_limit(Series series, double x) { return series == Series::pi ? std::numbers::pi : std::log1p(x); }

template <class T> Expected<T> expected_series(const SeriesProblem<T>& p) {
    CompensatedSum sum, magnitude;
    for (std::size_t i = 0; i < p.terms; ++i) {
        const double term = series_term(p.series, p.x, i);
        sum.add(term);
        magnitude.add(std::abs(term));
    }
    return {{static_cast<T>(sum.value())}, magnitude.value()};
}

template <class T> std::span<const gpulab::Variant<SeriesRun<T>>> series_variants() {
    using enum gpulab::Backend;
    using V = gpulab::Variant<SeriesRun<T>>;
    static constexpr std::array table = {
        V{"cpu_series", "one loop on one core", cpu, cpu_series<T>},
        V{"cpu_series_threads", "one thread per core, each a consecutive part of the series", cpu,
          cpu_series_threads<T>},
        V{"opencl_series", "each work-item every G-th term, then as opencl_multi_stage", opencl,
          GPULAB_IF_OPENCL(opencl_series<T>), gpulab::Needs{.fp64 = std::is_same_v<T, double>}},
        V{"cuda_series", "each thread every G-th term, then as cuda_single_pass", cuda, GPULAB_IF_CUDA(cuda_series<T>)},
    };
    return table;
}

template Expected<float> expected_series(const SeriesProblem<float>&);
template Expected<double> expected_series(const SeriesProblem<double>&);
template std::span<const gpulab::Variant<SeriesRun<float>>> series_variants<float>();
template std::span<const gpulab::Variant<SeriesRun<double>>> series_variants<double>();

} // namespace reduction
