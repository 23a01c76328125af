#include "scan.hpp"

#include <cmath>
#include <numeric>
#include <type_traits>
#include <vector>

#include "compensated.hpp"
#include "gpulab/compare.hpp"
#include "gpulab/input.hpp"
#include "gpulab/parallel.hpp"
#include "rungs.hpp"

namespace reduction {

template <class T> ScanProblem<T> make_scan_problem(Scan kind, std::size_t n, std::uint64_t seed) {
    if constexpr (std::is_integral_v<T>) {
        ScanProblem<T> p{kind, gpulab::zeros<T>(n)};
        gpulab::for_ranges(n, 1 << 18, [&](std::size_t begin, std::size_t end) {
            for (std::size_t i = begin; i < end; ++i) {
                const auto size = static_cast<T>(gpulab::random_bits(seed, i) % 1000 + 1);
                p.a[i] = gpulab::random_bits(seed + 1, i) % 2 == 0 ? size : -size;
            }
        });
        return p;
    } else {
        return {kind, gpulab::random_vector<T>(n, seed, T{0}, T{1})};
    }
}

template <class T> Prefixes<T> expected_scan(const ScanProblem<T>& p) {
    Prefixes<T> out = gpulab::zeros<T>(p.size());
    if constexpr (std::is_integral_v<T>) {
        std::int64_t sum = 0;
        for (std::size_t i = 0; i < p.size(); ++i) {
            const std::int64_t before = sum;
            sum += p.a[i];
            out[i] = static_cast<T>(p.kind == Scan::inclusive ? sum : before);
        }
    } else {
        CompensatedSum sum;
        for (std::size_t i = 0; i < p.size(); ++i) {
            if (p.kind == Scan::exclusive) out[i] = static_cast<T>(sum.value());
            sum.add(p.a[i]);
            if (p.kind == Scan::inclusive) out[i] = static_cast<T>(sum.value());
        }
    }
    return out;
}

template <class T>
gpulab::Comparison compare(const ScanProblem<T>& p, const Prefixes<T>& expected, const Prefixes<T>& actual,
                           double tolerance) {
    // The scale of an element is the magnitude of all that were added up to it. Several threads ask for scales, in any
    // order, so the magnitude before each 64th element is kept, and the few behind it are added.
    constexpr std::size_t step = 64;
    const auto magnitude = [&](std::size_t i) { return std::abs(static_cast<double>(p.a[i])); };
    std::vector<double> before(p.size() / step + 1);
    gpulab::for_ranges(p.size() / step, 4096, [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin * step; i < end * step; ++i) before[i / step + 1] += magnitude(i);
    });
    std::partial_sum(before.begin(), before.end(), before.begin());
    return gpulab::compare(expected, actual, tolerance, [&](std::size_t i) {
        const std::size_t end = p.kind == Scan::inclusive ? i + 1 : i;
        double scale = before[end / step];
        for (std::size_t j = end - end % step; j < end; ++j) scale += magnitude(j);
        return scale;
    });
}

template <class T> std::span<const gpulab::Variant<ScanRun<T>>> scan_variants() {
    constexpr bool in_double = std::is_same_v<T, double>;
#define RUNG(backend, if_built, function, ...) GPULAB_ROW(backend, if_built(function<T>), function, __VA_ARGS__)
    static constexpr gpulab::Variant<ScanRun<T>> table[] = {
#include "rungs_scan.inc"
    };
    return table;
}

#define REDUCTION_INSTANTIATE(T)                                                                                \
    template ScanProblem<T> make_scan_problem(Scan, std::size_t, std::uint64_t);                                \
    template Prefixes<T> expected_scan(const ScanProblem<T>&);                                                  \
    template gpulab::Comparison compare(const ScanProblem<T>&, const Prefixes<T>&, const Prefixes<T>&, double); \
    template std::span<const gpulab::Variant<ScanRun<T>>> scan_variants<T>();
REDUCTION_INSTANTIATE(float)
REDUCTION_INSTANTIATE(double)
REDUCTION_INSTANTIATE(int)
#undef REDUCTION_INSTANTIATE

} // namespace reduction
