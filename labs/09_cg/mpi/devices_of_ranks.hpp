/// @file
/// Which device a rank computes on. The ranks of a computer take different ones, as long as there are enough.
#pragma once

#include <algorithm>
#include <vector>

#include "gpulab/device.hpp"
#include "gpulab/error.hpp"
#include "link.hpp"
#include "rank.hpp"

namespace cg {

/// The OpenCL devices that ranks use: the GPUs, where there are some.
/// @throws gpulab::UsageError when there is no device
inline std::vector<gpulab::Device> opencl_devices_for_ranks() {
    std::vector<gpulab::Device> devices = gpulab::devices(gpulab::Backend::opencl);
    if (devices.empty()) throw gpulab::UsageError("--on opencl: " + gpulab::why_no_devices(gpulab::Backend::opencl));
    const auto is_gpu = [](const gpulab::Device& d) { return !d.is_cpu; };
    if (std::ranges::any_of(devices, is_gpu)) std::erase_if(devices, [&](const auto& d) { return !is_gpu(d); });
    return devices;
}

/// The device of this rank. A rank on CPU cores has the whole CPU, whose memory all ranks of the computer share.
/// @pre there is a device
inline gpulab::Device device_of(Place::On on, const Ranks& ranks) {
    std::vector<gpulab::Device> devices = gpulab::devices(gpulab::Backend::cpu);
    if (on == Place::On::opencl) devices = opencl_devices_for_ranks();
    if (on == Place::On::cuda) devices = gpulab::devices(gpulab::Backend::cuda);
    return devices[static_cast<std::size_t>(on == Place::On::cpu ? 0 : ranks.local) % devices.size()];
}

} // namespace cg
