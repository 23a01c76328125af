#include "histogram.hpp"

#include <type_traits>

#include "gpulab/input.hpp"

namespace reduction {

template <class T> HistogramProblem<T> make_histogram_problem(std::size_t n, unsigned bins, std::uint64_t seed) {
    return {bins, gpulab::random_vector<T>(n, seed, T{0}, static_cast<T>(bins))};
}

template <class T> Counts expected_histogram(const HistogramProblem<T>& p) {
    std::vector<std::uint64_t> counts(p.bins);
    for (const T x : p.a) ++counts.at(static_cast<std::size_t>(x));
    return {counts.begin(), counts.end()};
}

template <class T> std::span<const gpulab::Variant<HistogramRun<T>>> histogram_variants() {
    constexpr bool in_double = std::is_same_v<T, double>;
#define RUNG(backend, if_built, function, ...) GPULAB_ROW(backend, if_built(function<T>), function, __VA_ARGS__)
    static constexpr gpulab::Variant<HistogramRun<T>> table[] = {
#include "rungs_histogram.inc"
    };
    return table;
}

template HistogramProblem<float> make_histogram_problem(std::size_t, unsigned, std::uint64_t);
template HistogramProblem<double> make_histogram_problem(std::size_t, unsigned, std::uint64_t);
template Counts expected_histogram(const HistogramProblem<float>&);
template Counts expected_histogram(const HistogramProblem<double>&);
template std::span<const gpulab::Variant<HistogramRun<float>>> histogram_variants<float>();
template std::span<const gpulab::Variant<HistogramRun<double>>> histogram_variants<double>();

} // namespace reduction
