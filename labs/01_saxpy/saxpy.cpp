#include "saxpy.hpp"

#include <cmath>

#include "gpulab/compare.hpp"
#include "gpulab/input.hpp"
#include "rungs.hpp"

namespace saxpy {

Problem make_problem(std::size_t n, std::uint64_t seed) {
    Problem p;
    p.k = 1 + gpulab::random_unit<float>(seed, 0);
    p.a = gpulab::random_vector<float>(n, seed + 1);
    p.b = gpulab::random_vector<float>(n, seed + 2);
    return p;
}

gpulab::Comparison compare(const Problem& p, const Output& reference, const Output& c) {
    return gpulab::compare(reference, c, tolerance, [&](std::size_t i) {
        const double product = double{p.k} * p.a[i];
        return std::abs(product) / 2 + std::abs(product + p.b[i]);
    });
}

std::span<const gpulab::Variant<Run>> variants() {
#define RUNG(backend, if_built, function, ...) GPULAB_ROW(backend, if_built(function), function, __VA_ARGS__)
    static constexpr gpulab::Variant<Run> table[] = {
#include "rungs.inc"
    };
    return table;
}

} // namespace saxpy
