#include "dot.hpp"

#include <type_traits>

#include "compensated.hpp"
#include "gpulab/input.hpp"
#include "rungs.hpp"

namespace reduction {

template <class T> DotProblem<T> make_dot_problem(std::size_t n, std::uint64_t seed) {
    return {gpulab::random_vector<T>(n, seed + 1, T{0}, T{1}), gpulab::random_vector<T>(n, seed + 2, T{0}, T{1})};
}

template <class T> Expected<T> expected_dot(const DotProblem<T>& p) {
    CompensatedSum dot, magnitude;
    for (std::size_t i = 0; i < p.size(); ++i) {
        const double a = p.a[i], b = p.b[i];
        const double product = a * b;
        dot.add(product);
        // The rounding error of the product: zero for floats, whose product a double holds exactly. Infinite products
        // have no such error.
        if (std::isfinite(product)) dot.add(std::fma(a, b, -product));
        magnitude.add(std::abs(product));
    }
    return {{static_cast<T>(dot.value())}, magnitude.value()};
}

template <class T> std::span<const gpulab::Variant<DotRun<T>>> dot_variants() {
    constexpr bool in_double = std::is_same_v<T, double>;
#define RUNG(backend, if_built, function, ...) GPULAB_ROW(backend, if_built(function<T>), function, __VA_ARGS__)
    static constexpr gpulab::Variant<DotRun<T>> table[] = {
#include "rungs_dot.inc"
    };
    return table;
}

template DotProblem<float> make_dot_problem(std::size_t, std::uint64_t);
template DotProblem<double> make_dot_problem(std::size_t, std::uint64_t);
template Expected<float> expected_dot(const DotProblem<float>&);
template Expected<double> expected_dot(const DotProblem<double>&);
template std::span<const gpulab::Variant<DotRun<float>>> dot_variants<float>();
template std::span<const gpulab::Variant<DotRun<double>>> dot_variants<double>();

} // namespace reduction
