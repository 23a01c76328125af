#include "gpulab_testing/large.hpp"

#include <catch2/catch_test_macros.hpp>
#include <cstdint>
#include <iostream>
#include <string>

#include "gpulab_testing/testing.hpp"

namespace gpulab::testing {

std::vector<LargeDevice> large_devices_or_skip(Backend backend, std::size_t on_device, std::size_t on_host) {
    const auto fits = [&](const Device& device, std::size_t n) {
        const std::uint64_t array = n * sizeof(float) + (std::uint64_t{1} << 30);        // and some room beside it
        if (backend == Backend::opencl && array > device.memory_bytes / 4) return false; // one buffer may have no more
        return on_device * array <= device.memory_bytes && on_host * array <= host_memory_bytes();
    };
    std::vector<LargeDevice> list;
    for (const Device& device : devices_or_skip(backend)) {
        if (device.is_cpu) continue;
        for (const std::size_t n : {beyond_unsigned, beyond_int})
            if (fits(device, n)) {
                list.push_back({device, n});
                break;
            }
    }
    if (list.empty()) {
        const std::string reason = "needs a GPU with " + std::to_string(10 * on_device) + " GB, and " +
                                   std::to_string(10 * on_host) + " GB on the host";
        std::cout << "skipped: " << reason << std::endl; // in one line, for tools/run_tests.py
        SKIP(reason);
    }
    return list;
}

} // namespace gpulab::testing
