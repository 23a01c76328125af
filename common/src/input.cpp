#include "gpulab/input.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <thread>

#include "gpulab/device.hpp"
#include "gpulab/error.hpp"
#include "gpulab/math.hpp"

namespace gpulab {

namespace {

template <class T> void fill(std::span<T> values, std::uint64_t seed, T low, T high) {
    if (!(std::nextafter(low, high) < high) || !std::isfinite(low) || !std::isfinite(high))
        throw Error(fmt::format("no random numbers lie between {} and {}", low, high));
    const auto fill_part = [=](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i) values[i] = random_between(seed, i, low, high);
    };
    constexpr std::size_t worth_a_thread = 1 << 18;
    const std::size_t threads =
        std::clamp<std::size_t>(values.size() / worth_a_thread, 1, static_cast<std::size_t>(hardware_threads()));
    const std::size_t part = ceil_div(values.size(), threads);
    std::vector<std::jthread> workers;
    for (std::size_t t = 1; t < threads; ++t)
        workers.emplace_back(fill_part, std::min(values.size(), t * part), std::min(values.size(), (t + 1) * part));
    fill_part(0, std::min(values.size(), part));
}

} // namespace

void fill_random(std::span<float> values, std::uint64_t seed, float low, float high) {
    fill<float>(values, seed, low, high);
}
void fill_random(std::span<double> values, std::uint64_t seed, double low, double high) {
    fill<double>(values, seed, low, high);
}

} // namespace gpulab
