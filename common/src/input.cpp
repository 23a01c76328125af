#include "gpulab/input.hpp"

#include <cmath>
#include <fmt/format.h>

#include "gpulab/error.hpp"
#include "gpulab/parallel.hpp"

namespace gpulab {

namespace {

template <class T> void fill(std::span<T> values, std::uint64_t seed, T low, T high) {
    if (!(std::nextafter(low, high) < high) || !std::isfinite(low) || !std::isfinite(high))
        throw Error(fmt::format("no random numbers lie between {} and {}", low, high));
    constexpr std::size_t worth_a_thread = 1 << 18;
    for_ranges(values.size(), worth_a_thread, [=](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i) values[i] = random_between(seed, i, low, high);
    });
}

} // namespace

void fill_random(std::span<float> values, std::uint64_t seed, float low, float high) {
    fill<float>(values, seed, low, high);
}
void fill_random(std::span<double> values, std::uint64_t seed, double low, double high) {
    fill<double>(values, seed, low, high);
}

} // namespace gpulab
