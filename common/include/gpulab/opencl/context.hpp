/// @file
/// OpenCL through the official C++ bindings, and the device that variants run on.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "gpulab/device.hpp"
#include "gpulab/error.hpp"
#include "gpulab/opencl/api.hpp"

namespace gpulab {

namespace detail {
/// Runs a driver's compiler. By default it only calls `compile`; a program can replace it, before any thread compiles,
/// to do something before and after. The tests let others use the GPU while it compiles.
extern std::function<void(const std::function<void()>& compile)> run_compiler;

/// Says which argument of a kernel was refused, and what the kernel declares. @throws Error always
[[noreturn]] void argument_refused(const cl::Kernel& kernel, cl_uint index, const cl::Error& error);
} // namespace detail

/// An OpenCL device ready for work: context, in-order queue with profiling, and the programs built so far.
class OpenClContext {
public:
    /// @pre device is one of devices(Backend::opencl)
    explicit OpenClContext(const Device& device);
    /// The same for an OpenCL device that is not in that list: a part of one.
    OpenClContext(const Device& description, const cl::Device& device);
    OpenClContext(const OpenClContext&) = delete;
    OpenClContext& operator=(const OpenClContext&) = delete;

    const Device& description() const { return description_; }
    const cl::Device& device() const { return device_; }
    const cl::Context& context() const { return context_; }
    const cl::CommandQueue& queue() const { return queue_; }

    /// Builds a program for this device with `-cl-std=CL1.2` and the given options, once; later calls get the same.
    /// @param source the text of a .cl file, embedded by the build
    /// @param options further options, such as "-DREAL=double"
    /// @throws Error with the compiler's log when the kernel does not compile
    const cl::Program& program(const std::string& source, const std::string& options = "");

    /// The largest work-group this device takes for a kernel.
    std::size_t max_work_group(const cl::Kernel& kernel) const;

private:
    Device description_;
    cl::Device device_;
    cl::Context context_;
    cl::CommandQueue queue_;
    std::map<std::string, cl::Program> programs_;
};

/// The OpenCL device in use in this thread: the one given to use(), else the first found.
/// @throws Unsupported when there is none
OpenClContext& opencl();

/// Parts of a device, for programs that divide work among several devices where there is only one. A CPU is cut into
/// sub-devices of one compute unit each; a GPU is never cut. If there are fewer sub-devices than `count`, several of
/// the parts returned are the same. The parts live as long as the program.
/// @param device one of devices(Backend::opencl) @param count at least 1
std::vector<OpenClContext*> opencl_parts(const Device& device, std::size_t count);

/// While it lives, opencl() of this thread is another context: buffers and kernels are made on its device.
class UseOpenCl {
public:
    /// Makes this context the current one of this thread.
    explicit UseOpenCl(OpenClContext& context);
    ~UseOpenCl(); ///< gives the thread the context that it had before
    UseOpenCl(const UseOpenCl&) = delete;
    UseOpenCl& operator=(const UseOpenCl&) = delete;

private:
    OpenClContext* before_;
};

/// A kernel of a program in use on the current device: `opencl_kernel(one_item_cl, "saxpy")`.
/// @throws Error with the build log, or naming the kernel that the program does not have
cl::Kernel opencl_kernel(const std::string& source, const char* name, const std::string& options = "");

/// Sets all arguments of a kernel in order. A size goes in as cl_ulong, a cl::Buffer or cl::LocalSpaceArg as it is.
/// @throws Error naming the argument that the kernel does not take, and what it declares in its place
template <class... Args> void set_args(cl::Kernel& kernel, const Args&... args) {
    cl_uint index = 0;
    const auto set = [&](const auto& arg) {
        try {
            kernel.setArg(index, arg);
        } catch (const cl::Error& e) {
            detail::argument_refused(kernel, index, e);
        }
        ++index;
    };
    (set(args), ...);
}

/// The name of an OpenCL error code: "CL_OUT_OF_RESOURCES".
std::string opencl_error_name(cl_int code);

} // namespace gpulab
