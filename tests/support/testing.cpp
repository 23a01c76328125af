#include "gpulab_testing/testing.hpp"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators_range.hpp>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <limits>
#include <map>
#include <string_view>

#include "gpulab/test_hooks.hpp"
#include "turn.hpp"

namespace gpulab::testing {

namespace {
/// Tests poison all of a buffer, however large.
[[maybe_unused]] const bool poisons_all = [] {
    poison_whole_bytes = std::numeric_limits<std::size_t>::max();
    return true;
}();
} // namespace

const std::vector<std::size_t>& straddling_sizes() {
    static const std::vector<std::size_t> sizes = {
        0,   1,   2,    3,    4,    5,    6,    7,    8,    9,    10,     11,      12,      13,
        14,  15,  18,   30,   31,   32,   33,   63,   64,   65,   127,    128,     129,     255,
        256, 257, 1023, 1024, 1025, 4095, 4096, 4097, 4098, 8192, 100003, 1000003, 1 << 20, (1 << 20) + 6};
    return sizes;
}

const std::vector<std::size_t>& small_sizes() {
    static const std::vector<std::size_t> sizes = {0, 1, 2, 33, 64, 257, 1025};
    return sizes;
}

namespace {
constexpr int max_delayed = 8; // problems: the first few sizes are 0 or tiny
int delayed = 0;
} // namespace

std::vector<Stopwatch> passes() {
    if (const char* const tool = std::getenv("GPULAB_TEST_UNDER_TOOL"); tool && std::string_view(tool) == "1")
        return {Stopwatch(0, 2)};
    std::vector<Stopwatch> all = {Stopwatch(0, 1), Stopwatch(1, 2)};
    static constexpr TestHooks delays{.reset_delay_ms = 2};
    if (delayed++ < max_delayed) all.emplace_back(0, 1).hooks = &delays;
    return all;
}

void skip_or_fail(const std::string& reason) {
    const char* const required = std::getenv("GPULAB_REQUIRE_DEVICES");
    if (required && std::string_view(required) == "1") FAIL("required here, but missing: " << reason);
    std::cout << "skipped: " << reason << std::endl; // in one line, for tools/run_tests.py
    SKIP(reason);
}

namespace {

/// The devices of a back end that take part in tests: all of them; with GPULAB_TEST_DEVICES=gpu in the environment only
/// the GPUs, where there are any.
const std::vector<Device>& tested_devices(Backend backend) {
    static std::map<Backend, std::vector<Device>> known;
    const auto [entry, fresh] = known.try_emplace(backend);
    std::vector<Device>& list = entry->second;
    if (!fresh) return list;
    list = devices(backend);
    const char* const requested = std::getenv("GPULAB_TEST_DEVICES");
    const auto is_gpu = [](const Device& device) { return !device.is_cpu; };
    if (backend != Backend::cpu && requested && std::string_view(requested) == "gpu" &&
        std::ranges::any_of(list, is_gpu))
        std::erase_if(list, [](const Device& device) { return device.is_cpu; });
    return list;
}

} // namespace

const std::vector<Device>& devices_or_skip(Backend backend) {
    const std::vector<Device>& found = tested_devices(backend);
    if (found.empty()) skip_or_fail(why_no_devices(backend));
    detail::prepare_turns(found.front());
    delayed = 0;
    const char* const platform = std::getenv("GPULAB_EXPECT_PLATFORM"); // set where another device would prove nothing
    if (platform && backend == Backend::opencl) REQUIRE(found.front().platform == platform);
    return found;
}

const Device& each_device(Backend backend) {
    const std::vector<Device>& found = devices_or_skip(backend);
    const Device& device = found[GENERATE_COPY(Catch::Generators::range(std::size_t{0}, found.size()))];
    use(device);
    return device;
}

} // namespace gpulab::testing
