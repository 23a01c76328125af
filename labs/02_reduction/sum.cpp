#include <type_traits>

#include "compensated.hpp"
#include "gpulab/compare.hpp"
#include "gpulab/input.hpp"
#include "optional_sums.hpp"
#include "reduction.hpp"
#include "rungs.hpp"

namespace reduction {

template <class T> SumProblem<T> make_sum_problem(std::size_t n, std::uint64_t seed) {
    return {gpulab::random_vector<T>(n, seed, T{0}, T{1})};
}

template <class T> Expected<T> expected_sum(const SumProblem<T>& p) {
    CompensatedSum sum, magnitude;
    for (const T x : p.a) {
        sum.add(x);
        magnitude.add(std::abs(x));
    }
    return {{static_cast<T>(sum.value())}, magnitude.value()};
}

template <class T> gpulab::Comparison compare(const Expected<T>& expected, const Scalar<T>& actual, double tolerance) {
    return gpulab::compare(expected.value, actual, tolerance, [&](std::size_t) { return expected.magnitude; });
}

template <class T> std::span<const gpulab::Variant<SumRun<T>>> sum_variants() {
    constexpr bool in_double = std::is_same_v<T, double>;
#define RUNG(backend, if_built, function, ...) GPULAB_ROW(backend, if_built(function<T>), function, __VA_ARGS__)
    static constexpr gpulab::Variant<SumRun<T>> table[] = {
#include "rungs_sum.inc"
    };
    return table;
}

template <class T> std::span<const gpulab::Variant<SumRun<T>>> optional_sum_variants() {
    constexpr bool in_double = std::is_same_v<T, double>;
    static constexpr gpulab::Variant<SumRun<T>> table[] = {
#include "rungs_optional.inc"
    };
    return table;
}

#define INSTANTIATE(T)                                                                 \
    template SumProblem<T> make_sum_problem(std::size_t, std::uint64_t);               \
    template Expected<T> expected_sum(const SumProblem<T>&);                           \
    template gpulab::Comparison compare(const Expected<T>&, const Scalar<T>&, double); \
    template std::span<const gpulab::Variant<SumRun<T>>> sum_variants<T>();            \
    template std::span<const gpulab::Variant<SumRun<T>>> optional_sum_variants<T>();
INSTANTIATE(float)
INSTANTIATE(double)

} // namespace reduction
