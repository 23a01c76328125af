/// @file
/// The devices of this machine, described in the same way for every back end.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "gpulab/variant.hpp"

namespace gpulab {

/// One device a variant can run on.
struct Device {
    Backend backend = Backend::cpu;
    int index = 0;                  ///< position in devices(backend); what `--device cuda:1` names
    std::string name;               ///< "NVIDIA H200"
    std::string platform;           ///< OpenCL: the platform's name; otherwise empty
    std::uint64_t memory_bytes = 0; ///< 0: unknown
    std::uint64_t l2_bytes = 0;
    int compute_units = 0;      ///< streaming multiprocessors, OpenCL compute units, CPU threads
    int compute_capability = 0; ///< CUDA: 10 * major + minor
    int max_group = 0;          ///< OpenCL: work-items of a group in its first two dimensions, at most; 0: unknown
    bool fp64 = true;
    bool cooperative_launch = false; ///< CUDA: blocks of one launch can wait for each other
    bool is_cpu = false;             ///< shares cores and memory with the host
    bool emulated = false;           ///< CUDA without a GPU: results and counts, but no times

    /// "cuda:0": the back end and the position; "cuda:emulated", and "cuda:emulated:1" for the second one.
    std::string id() const;

    /// Whether a user who types `requested` after --device means this device, in upper or lower case:
    /// - an id, such as "cuda:0": this one device;
    /// - the name of a back end, such as "cuda": its devices and no other's, whatever their platforms are called;
    /// - anything else of three characters or more: the devices whose name, or whose platform's name, contains it.
    bool is_meant_by(std::string requested) const;
};

/// The devices found for a back end, in a fixed order; empty when there are none. The search runs once.
const std::vector<Device>& devices(Backend backend);

/// Why devices(backend) is empty, in one line: "no NVIDIA driver (...)", "built without CUDA".
/// @pre devices(backend) is empty
const std::string& why_no_devices(Backend backend);

/// Makes a device the one that variants of its back end run on, in this thread.
/// CUDA: cudaSetDevice. OpenCL: the context and queue that opencl() returns.
void use(const Device& device);

/// Gives a variant several devices of one back end, in this thread: devices_in_use() then returns them, and the first
/// is current, as after use() with it alone. @pre chosen is not empty, and all are of one back end
void use(std::span<const Device> chosen);

/// The devices that the last use() in this thread was given, for variants that need more than one device.
const std::vector<Device>& devices_in_use();

/// The number of threads that this process, its container or its job may run at once, at least 1; or the value of the
/// environment variable GPULAB_CPU_THREADS.
/// @throws UsageError when that is no number from 1 to 4096
int hardware_threads();

/// Bytes of memory that this computer has, or that the container or job may use.
std::uint64_t host_memory_bytes();

} // namespace gpulab
