/// @file
/// Leaving out what would take too long on a CPU.
#pragma once

#include <fmt/format.h>
#include <string>
#include <string_view>

#include "gpulab/device.hpp"
#include "gpulab/options.hpp"

namespace gpulab {

/// Why a variant is left out where its work would take too long on a CPU.
/// @param work what takes long, in words: "3e+12 operations"
/// @return empty on a device that is no CPU, and when the user has named the variant: then it runs all the same
inline std::string too_slow_on_cpu(const Options& options, std::string_view variant, const Device& device,
                                   std::string_view work) {
    const bool on_cpu = device.backend == Backend::cpu || device.is_cpu;
    if (!on_cpu || options.named(variant)) return "";
    return fmt::format("{} take long on a CPU; --variant {} runs it anyway", work, variant);
}

} // namespace gpulab
