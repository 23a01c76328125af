#include "series.hpp"

#include <numbers>
#include <type_traits>

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
    constexpr bool in_double = std::is_same_v<T, double>;
#define RUNG(backend, if_built, function, ...) GPULAB_ROW(backend, if_built(function<T>), function, __VA_ARGS__)
    static constexpr gpulab::Variant<SeriesRun<T>> table[] = {
#include "rungs_series.inc"
    };
    return table;
}

template Expected<float> expected_series(const SeriesProblem<float>&);
template Expected<double> expected_series(const SeriesProblem<double>&);
template std::span<const gpulab::Variant<SeriesRun<float>>> series_variants<float>();
template std::span<const gpulab::Variant<SeriesRun<double>>> series_variants<double>();

} // namespace reduction
