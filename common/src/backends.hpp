/// @file
/// What each back end implements for device.hpp and ceilings.hpp. Inside the common library only.
#pragma once

#include <string>
#include <vector>

#include "gpulab/ceilings.hpp"
#include "gpulab/device.hpp"

namespace gpulab::detail {

/// The devices of one back end, or none and the reason.
struct Found {
    std::vector<Device> devices;
    std::string why_none;
};

Found find_cuda_devices();
void use_cuda_device(const Device& device);
double measure_cuda_copy(const Device& device);                        // GB/s
double measure_cuda_arithmetic(const Device& device, Arithmetic kind); // GFLOP/s

Found find_opencl_devices();
void use_opencl_device(const Device& device);
double measure_opencl_copy(const Device& device);
double measure_opencl_arithmetic(const Device& device, Arithmetic kind);

double measure_cpu_copy();
double measure_cpu_arithmetic(Arithmetic kind);

} // namespace gpulab::detail
