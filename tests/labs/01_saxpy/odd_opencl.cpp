// OpenCL calls that end the program, or fail, as those of odd platforms do. A program loads this library before that of
// OpenCL (LD_PRELOAD); the environment variable ODD_OPENCL says which call is odd. As a vendor's library, it is odd
// while it is loaded. The signal is the clock's.
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#undef NDEBUG
#include <cassert>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <dlfcn.h>
#include <string>
#include <string_view>

namespace {
bool odd(std::string_view what) {
    const char* const chosen = std::getenv("ODD_OPENCL");
    return chosen && chosen == what;
}

[[gnu::constructor]] void load() {
    if (odd("load: exit")) std::exit(0);
    if (odd("load: abort")) std::abort();
    if (odd("load: crash")) raise(SIGSEGV);
    if (odd("load: wait")) raise(SIGALRM);
}
} // namespace

#define USUAL(function) reinterpret_cast<decltype(&(function))>(dlsym(RTLD_NEXT, #function))

extern "C" {

cl_int clGetDeviceIDs(cl_platform_id platform, cl_device_type type, cl_uint room, cl_device_id* devices,
                      cl_uint* count) {
    if (odd("search")) std::abort();
    if (odd("computes"))
        for (const std::clock_t begin = std::clock(); std::clock() < begin + CLOCKS_PER_SEC;) continue;
    if (odd("computes") || odd("waits") || (odd("waits once") && !std::getenv("GPULAB_OPENCL_ABORTED"))) raise(SIGALRM);
    return USUAL(clGetDeviceIDs)(platform, type, room, devices, count);
}

cl_int clGetDeviceInfo(cl_device_id device, cl_device_info name, size_t room, void* value, size_t* size) {
    if (odd(std::to_string(name))) return CL_INVALID_VALUE;
    return USUAL(clGetDeviceInfo)(device, name, room, value, size);
}

cl_context clCreateContext(const cl_context_properties* properties, cl_uint count, const cl_device_id* devices,
                           void(CL_CALLBACK* notify)(const char*, const void*, size_t, void*), void* data,
                           cl_int* code) {
    if (!odd("context")) return USUAL(clCreateContext)(properties, count, devices, notify, data, code);
    if (code) *code = CL_DEVICE_NOT_AVAILABLE;
    return nullptr;
}

cl_int clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions, const size_t* offset,
                              const size_t* global, const size_t* local, cl_uint count, const cl_event* before,
                              cl_event* done) {
    assert(!odd("kernel"));
    return USUAL(clEnqueueNDRangeKernel)(queue, kernel, dimensions, offset, global, local, count, before, done);
}

} // extern "C"
