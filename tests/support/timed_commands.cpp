// Looks at the OpenCL commands of a program: a program loads this library before that of OpenCL (LD_PRELOAD). Kernel
// time runs from the first command with an event to the last. So of the commands between two calls of clFinish the last
// must have an event, and so must the first kernel, if any command has one. And a buffer that began with the poison's
// bytes must be filled or copied to before a kernel of the group has it: a reset that leaves it out would not show. The
// file that the environment variable TIMED_COMMANDS names gets a line for each such group of commands: "right", or what
// is wrong. And each command waits for 2 ms and runs for 5002.5 ms, as the program sees it: more nanoseconds than 32
// bits hold.
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <fstream>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

namespace {
struct Command {
    std::string kernel; // "": a copy or a fill
    bool timed, stale;  // whether it has a buffer with the results of an earlier run
};
std::mutex mutex;
std::map<cl_command_queue, std::vector<Command>> commands;
std::map<cl_mem, cl_mem> whole; // of a buffer in another one
std::set<cl_mem> poisoned;      // when they were made; whole ones
std::set<cl_mem> fresh;         // filled or copied to in this group
std::map<cl_kernel, std::map<cl_uint, cl_mem>> arguments;

void note(cl_command_queue queue, const cl_event* event, cl_kernel kernel = nullptr) {
    std::array<char, 100> name{};
    if (kernel) clGetKernelInfo(kernel, CL_KERNEL_FUNCTION_NAME, name.size() - 1, name.data(), nullptr);
    const std::lock_guard lock(mutex);
    const bool stale = std::ranges::any_of(arguments[kernel], [](const auto& a) {
        return poisoned.contains(whole[a.second]) && !fresh.contains(whole[a.second]);
    });
    commands[queue].push_back({name.data(), event != nullptr, stale});
}

void note_result(cl_mem to) {
    const std::lock_guard lock(mutex);
    fresh.insert(whole[to]);
}

std::string verdict(const std::vector<Command>& group) {
    for (const Command& c : group)
        if (c.stale && c.kernel != "multiply_adds") return "not everything is poisoned before " + c.kernel;
    const auto kernel = std::find_if(group.begin(), group.end(), [](const Command& c) { return !c.kernel.empty(); });
    if (kernel != group.end() && !kernel->timed) return "the time begins after " + kernel->kernel;
    if (!group.back().timed)
        return "the time ends before the last " + (kernel == group.end() ? "copy" : kernel->kernel);
    return "right";
}
} // namespace

#define USUAL(function) reinterpret_cast<decltype(&(function))>(dlsym(RTLD_NEXT, #function))

extern "C" {

cl_command_queue clCreateCommandQueue(cl_context context, cl_device_id device, cl_command_queue_properties properties,
                                      cl_int* code) {
    const cl_command_queue queue = USUAL(clCreateCommandQueue)(context, device, properties, code);
    const std::lock_guard lock(mutex);
    commands[queue].clear(); // of an earlier one in its place
    return queue;
}

cl_int clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions, const size_t* offset,
                              const size_t* global, const size_t* local, cl_uint count, const cl_event* before,
                              cl_event* done) {
    note(queue, done, kernel);
    return USUAL(clEnqueueNDRangeKernel)(queue, kernel, dimensions, offset, global, local, count, before, done);
}

cl_int clEnqueueReadBuffer(cl_command_queue queue, cl_mem from, cl_bool blocking, size_t offset, size_t bytes, void* to,
                           cl_uint count, const cl_event* before, cl_event* done) {
    note(queue, done);
    return USUAL(clEnqueueReadBuffer)(queue, from, blocking, offset, bytes, to, count, before, done);
}

cl_int clEnqueueFillBuffer(cl_command_queue queue, cl_mem to, const void* pattern, size_t size, size_t offset,
                           size_t bytes, cl_uint count, const cl_event* before, cl_event* done) {
    note(queue, done);
    note_result(to);
    return USUAL(clEnqueueFillBuffer)(queue, to, pattern, size, offset, bytes, count, before, done);
}

cl_int clEnqueueCopyBuffer(cl_command_queue queue, cl_mem from, cl_mem to, size_t offset, size_t offset_to,
                           size_t bytes, cl_uint count, const cl_event* before, cl_event* done) {
    note_result(to);
    return USUAL(clEnqueueCopyBuffer)(queue, from, to, offset, offset_to, bytes, count, before, done);
}

cl_int clEnqueueWriteBuffer(cl_command_queue queue, cl_mem to, cl_bool blocking, size_t offset, size_t bytes,
                            const void* from, cl_uint count, const cl_event* before, cl_event* done) {
    constexpr std::size_t band = 4096; // of guard bytes, on each side
    const auto* const first = static_cast<const unsigned char*>(from);
    const auto all = [&](int byte) {
        return std::all_of(first + band, first + bytes - band, [byte](int other) { return other == byte; });
    };
    if (bytes > 2 * band && (all(0xFF) || all(0xA7))) poisoned.insert(to);
    return USUAL(clEnqueueWriteBuffer)(queue, to, blocking, offset, bytes, from, count, before, done);
}

cl_mem clCreateBuffer(cl_context context, cl_mem_flags flags, size_t bytes, void* host, cl_int* code) {
    const cl_mem made = USUAL(clCreateBuffer)(context, flags, bytes, host, code);
    poisoned.erase(made); // an earlier one in its place
    return made;
}

cl_mem clCreateSubBuffer(cl_mem in, cl_mem_flags flags, cl_buffer_create_type type, const void* region, cl_int* code) {
    const cl_mem made = USUAL(clCreateSubBuffer)(in, flags, type, region, code);
    whole[made] = in;
    return made;
}

cl_kernel clCreateKernel(cl_program program, const char* name, cl_int* code) {
    const cl_kernel made = USUAL(clCreateKernel)(program, name, code);
    arguments[made].clear();
    return made;
}

cl_int clSetKernelArg(cl_kernel kernel, cl_uint index, size_t size, const void* value) {
    if (value && size == sizeof(cl_mem)) std::memcpy(&arguments[kernel][index], value, size);
    return USUAL(clSetKernelArg)(kernel, index, size, value);
}

cl_int clGetEventProfilingInfo(cl_event event, cl_profiling_info name, size_t room, void* value, size_t* size) {
    const cl_int code = USUAL(clGetEventProfilingInfo)(event, name, room, value, size);
    if (value)
        *static_cast<cl_ulong*>(value) = name == CL_PROFILING_COMMAND_END     ? 5'005'500'000
                                         : name == CL_PROFILING_COMMAND_START ? 3'000'000
                                                                              : 1'000'000;
    return code;
}

cl_int clFinish(cl_command_queue queue) {
    {
        const std::lock_guard lock(mutex);
        std::vector<Command>& group = commands[queue];
        if (std::any_of(group.begin(), group.end(), [](const Command& c) { return c.timed; }))
            std::ofstream(std::getenv("TIMED_COMMANDS"), std::ios::app) << verdict(group) << '\n';
        group.clear();
        fresh.clear();
    }
    return USUAL(clFinish)(queue);
}

} // extern "C"
