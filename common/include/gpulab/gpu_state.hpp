/// @file
/// What NVIDIA's driver says of a GPU beside its results: what a judge of its times asks for.
#pragma once

#include <string>

#include "gpulab/device.hpp"

namespace gpulab {

/// A GPU at one moment. What is not known is empty or 0.
struct GpuState {
    std::string pci;          ///< its place on the bus, such as "0000:3b:00.0"
    std::string cuda_driver;  ///< the newest CUDA that the driver can run: "13.0"
    std::string cuda_runtime; ///< the CUDA that the program runs with
    std::string cuda_toolkit; ///< the CUDA compiler that made it: "13.0"

    std::string
        driver; ///< "580.95.05". Empty: NVIDIA's management library is not here, and all that follows is unknown
    unsigned sm_mhz = 0, most_sm_mhz = 0; ///< the clock of the multiprocessors now, and the highest
    unsigned memory_mhz = 0, most_memory_mhz = 0;
    double slowed_by_power_ms = 0; ///< how long its power limit has kept its clocks low, since some fixed moment
    double slowed_by_heat_ms = 0;  ///< the same of its temperature
    int processes = 0;             ///< how many compute on it, this one too
};

/// @param device of CUDA, and no emulated one. @return what is known; never throws for a driver that does not answer
GpuState gpu_state(const Device& device);

} // namespace gpulab
