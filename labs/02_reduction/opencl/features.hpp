/// @file
/// Kernels in OpenCL C 3.0, whose features are optional: a program asks the device for each.
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "launch.hpp"

namespace reduction {

/// Whether a device has a feature of OpenCL C 3.0, by the name of its macro: "__opencl_c_subgroups".
inline bool has_feature(const cl::Device& device, const std::string& name) {
    // As in OpenCL's headers from 3.0 on; the labs use those of 1.2.
    constexpr cl_device_info opencl_c_features = 0x106F; // CL_DEVICE_OPENCL_C_FEATURES
    struct NameVersion {                                 // cl_name_version
        cl_uint version;
        char name[64];
    };
    if (device.getInfo<CL_DEVICE_VERSION>() < "OpenCL 3") return false; // it does not know the question
    std::size_t bytes = 0;
    if (clGetDeviceInfo(device(), opencl_c_features, 0, nullptr, &bytes) != CL_SUCCESS) return false;
    std::vector<NameVersion> all(bytes / sizeof(NameVersion));
    if (clGetDeviceInfo(device(), opencl_c_features, bytes, all.data(), nullptr) != CL_SUCCESS) return false;
    return std::any_of(all.begin(), all.end(), [&](const NameVersion& one) { return one.name == name; });
}

/// Like kernel_for(), with a kernel in OpenCL C 3.0.
/// @throws Unsupported when the device does not have the feature that the kernel needs
template <class T> cl::Kernel kernel_with(const std::string& feature, const char* source, const char* name) {
    gpulab::OpenClContext& here = gpulab::opencl();
    if (!has_feature(here.device(), feature)) throw gpulab::Unsupported("needs OpenCL C 3.0 with " + feature);
    // Built once for each device. Never destroyed: at the program's end the driver may be gone.
    static auto* const programs = new std::map<std::pair<gpulab::OpenClContext*, std::string>, cl::Program>;
    cl::Program& program = (*programs)[{&here, name}];
    if (!program()) {
        cl::Program made(here.context(), source);
        try {
            gpulab::detail::run_compiler(
                [&] { made.build({here.device()}, ("-cl-std=CL3.0 " + gpulab::real_option<T>()).c_str()); });
        } catch (const cl::Error&) {
            throw gpulab::BuildError("an OpenCL kernel does not compile for " + here.description().name + ":\n" +
                                     made.getBuildInfo<CL_PROGRAM_BUILD_LOG>(here.device()));
        }
        program = made;
    }
    cl::Kernel kernel(program, name);
    if (here.max_work_group(kernel) < local_size())
        throw gpulab::Unsupported("this device takes no work-groups of " + std::to_string(local_size()));
    return kernel;
}

} // namespace reduction
