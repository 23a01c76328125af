// SAXPY as one complete program in OpenCL: c[i] = k a[i] + b[i]. It needs no other file of this project.
// (Alfaro Vigo & Rossetto, section 2.4; Bueno, chapter 3)
//
//     g++ saxpy_cl.cpp -lOpenCL -o saxpy_cl
//     ./saxpy_cl         # lists platforms and devices, and runs on device 0 of platform 0
//     ./saxpy_cl 1 0     # the same on platform 1, device 0
//
// opencl_raw (opencl/01_raw.cpp) has the same steps, except the first, and also times the kernel.
//
// Exit codes: 0 the result is right, 1 it is wrong, 2 something failed.
#define CL_TARGET_OPENCL_VERSION 120 // the header then declares what OpenCL 1.2 has
#include <CL/cl.h>

#include <cfloat>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

// The kernel is text: the driver compiles it while the program runs. One work-item per element; any n.
const char* const source = R"(
kernel void saxpy(float k, global const float* a, global const float* b, global float* c, ulong n) {
    // ANSWER many-blocks repair-stride
    //| // (you write this in an exercise: write it here too)
    const size_t i = get_global_id(0);
    if (i < n) c[i] = k * a[i] + b[i];
    // END ANSWER
}
)";

// Every OpenCL call returns an error code, or stores one: CL_SUCCESS, or a negative number that CL/cl.h names.
void check(cl_int code, const char* step) {
    if (code != CL_SUCCESS) throw std::runtime_error(std::string(step) + ": OpenCL error " + std::to_string(code));
}

// A name has any length. So the first call asks for the length, and the second for the name. It ends with a 0.
std::string name_of(cl_platform_id platform) {
    std::size_t length = 0;
    check(clGetPlatformInfo(platform, CL_PLATFORM_NAME, 0, nullptr, &length), "asking for a platform's name");
    std::string name(length, '\0');
    check(clGetPlatformInfo(platform, CL_PLATFORM_NAME, length, &name[0], nullptr), "asking for a platform's name");
    return name.c_str();
}
std::string name_of(cl_device_id device) {
    std::size_t length = 0;
    check(clGetDeviceInfo(device, CL_DEVICE_NAME, 0, nullptr, &length), "asking for a device's name");
    std::string name(length, '\0');
    check(clGetDeviceInfo(device, CL_DEVICE_NAME, length, &name[0], nullptr), "asking for a device's name");
    return name.c_str();
}

// Lists likewise: first their length, then their elements. A machine may have several platforms: the drivers of the
// vendors of its GPUs and CPU.
std::vector<cl_platform_id> all_platforms() {
    cl_uint count = 0;
    // Without a driver some libraries return an error, others a count of 0.
    if (clGetPlatformIDs(0, nullptr, &count) != CL_SUCCESS || count == 0)
        throw std::runtime_error("no OpenCL platform found: is a driver installed?");
    std::vector<cl_platform_id> platforms(count);
    check(clGetPlatformIDs(count, platforms.data(), nullptr), "asking for the platforms");
    return platforms;
}
std::vector<cl_device_id> devices_of(cl_platform_id platform) {
    cl_uint count = 0;
    const cl_int code = clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 0, nullptr, &count);
    if (code == CL_DEVICE_NOT_FOUND) return {}; // a driver without its device
    check(code, "asking for the devices");
    std::vector<cl_device_id> devices(count);
    check(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, count, devices.data(), nullptr), "asking for the devices");
    return devices;
}

// An argument that is a number from 0 to 999; without it, 0.
std::size_t number(int argc, char** argv, int position) {
    if (position >= argc) return 0;
    char* end = nullptr;
    const long value = std::strtol(argv[position], &end, 10);
    if (end == argv[position] || *end || value < 0 || value > 999)
        throw std::runtime_error("usage: saxpy_cl [PLATFORM [DEVICE]], with the numbers that it lists");
    return static_cast<std::size_t>(value);
}

int main(int argc, char** argv) try {
    // 1. Choose a platform and a device.
    const std::size_t p = number(argc, argv, 1), d = number(argc, argv, 2);
    if (argc > 3) throw std::runtime_error("usage: saxpy_cl [PLATFORM [DEVICE]], with the numbers that it lists");
    const std::vector<cl_platform_id> platforms = all_platforms();
    for (std::size_t i = 0; i < platforms.size(); ++i) {
        std::printf("platform %zu: %s\n", i, name_of(platforms[i]).c_str());
        const std::vector<cl_device_id> devices = devices_of(platforms[i]);
        for (std::size_t j = 0; j < devices.size(); ++j)
            std::printf("    device %zu: %s\n", j, name_of(devices[j]).c_str());
    }
    if (p >= platforms.size()) throw std::runtime_error("there is no platform " + std::to_string(p));
    const std::vector<cl_device_id> devices = devices_of(platforms[p]);
    if (d >= devices.size())
        throw std::runtime_error("platform " + std::to_string(p) + " has no device " + std::to_string(d));
    const cl_device_id device = devices[d];
    std::printf("chosen: platform %zu, device %zu\n", p, d);

    // 2. and 3. A context holds memory and programs; a queue takes the commands for one device.
    cl_int code = CL_SUCCESS;
    const cl_context context = clCreateContext(nullptr, 1, &device, nullptr, nullptr, &code);
    check(code, "creating a context");
    const cl_command_queue queue = clCreateCommandQueue(context, device, 0, &code);
    check(code, "creating a queue");

    // 4. Compile the kernel. What the compiler says is in the build log.
    const char* text = source;
    const cl_program program = clCreateProgramWithSource(context, 1, &text, nullptr, &code);
    check(code, "creating the program");
    code = clBuildProgram(program, 1, &device, "-cl-std=CL1.2", nullptr, nullptr);
    if (code == CL_BUILD_PROGRAM_FAILURE) {
        std::size_t length = 0;
        check(clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, 0, nullptr, &length), "reading the log");
        std::string log(length, '\0');
        check(clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, length, &log[0], nullptr),
              "reading the log");
        throw std::runtime_error("the kernel does not compile:\n" + std::string(log.c_str()));
    }
    check(code, "compiling the kernel");
    const cl_kernel kernel = clCreateKernel(program, "saxpy", &code);
    check(code, "finding the kernel");

    // 5. Prepare the input, create the buffers and copy it into them. c is filled with NaN: an element that the kernel
    // does not write is then found. CL_TRUE: return when the copy is done.
    const std::size_t n = 1'000'000, bytes = n * sizeof(float);
    const float k = 1.5f;
    std::vector<float> a(n), b(n), c(n, NAN);
    std::mt19937 random(1); // the same numbers in every run
    std::uniform_real_distribution<float> between(-1, 1);
    for (float& x : a) x = between(random);
    for (float& x : b) x = between(random);
    const cl_mem d_a = clCreateBuffer(context, CL_MEM_READ_ONLY, bytes, nullptr, &code);
    check(code, "allocating a");
    const cl_mem d_b = clCreateBuffer(context, CL_MEM_READ_ONLY, bytes, nullptr, &code);
    check(code, "allocating b");
    const cl_mem d_c = clCreateBuffer(context, CL_MEM_WRITE_ONLY, bytes, nullptr, &code);
    check(code, "allocating c");
    check(clEnqueueWriteBuffer(queue, d_a, CL_TRUE, 0, bytes, a.data(), 0, nullptr, nullptr), "copying a in");
    check(clEnqueueWriteBuffer(queue, d_b, CL_TRUE, 0, bytes, b.data(), 0, nullptr, nullptr), "copying b in");
    check(clEnqueueWriteBuffer(queue, d_c, CL_TRUE, 0, bytes, c.data(), 0, nullptr, nullptr), "marking c");

    // 6. Set the arguments one by one, then launch: the number of work-items in all, and in a work-group. The number in
    // all is a multiple of the group. A launch does not wait for the kernel; clFinish does.
    const cl_ulong count = n; // the kernel's ulong has 64 bits on every device
    check(clSetKernelArg(kernel, 0, sizeof k, &k), "setting k");
    check(clSetKernelArg(kernel, 1, sizeof d_a, &d_a), "setting a");
    check(clSetKernelArg(kernel, 2, sizeof d_b, &d_b), "setting b");
    check(clSetKernelArg(kernel, 3, sizeof d_c, &d_c), "setting c");
    check(clSetKernelArg(kernel, 4, sizeof count, &count), "setting n");
    const std::size_t local = 64;
    const std::size_t global = (n + local - 1) / local * local;
    check(clEnqueueNDRangeKernel(queue, kernel, 1, nullptr, &global, &local, 0, nullptr, nullptr), "launching");
    check(clFinish(queue), "running the kernel");

    // 7. Copy the result back.
    check(clEnqueueReadBuffer(queue, d_c, CL_TRUE, 0, bytes, c.data(), 0, nullptr, nullptr), "copying c out");

    // 8. Release everything, in reverse order.
    check(clReleaseMemObject(d_c), "releasing c");
    check(clReleaseMemObject(d_b), "releasing b");
    check(clReleaseMemObject(d_a), "releasing a");
    check(clReleaseKernel(kernel), "releasing the kernel");
    check(clReleaseProgram(program), "releasing the program");
    check(clReleaseCommandQueue(queue), "releasing the queue");
    check(clReleaseContext(context), "releasing the context");

    // Compare with the host, in double precision. Device and host may round k a[i] and the sum differently; each
    // rounding changes a number by at most FLT_EPSILON / 2 of its size. `!(error <= ...)` is true for a NaN as well.
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < n; ++i) {
        const double product = double{k} * a[i];
        const double error = std::fabs(c[i] - (product + b[i]));
        if (!(error <= FLT_EPSILON * (std::fabs(product) + std::fabs(b[i])))) ++wrong;
    }
    std::printf("c[0] = %g * %g + %g = %g\n", k, a[0], b[0], c[0]);
    if (wrong > 0) {
        std::fprintf(stderr, "saxpy_cl: %zu of %zu elements are wrong\n", wrong, n);
        return 1;
    }
    std::printf("all %zu elements are right\n", n);
    return 0;
} catch (const std::exception& failure) {
    std::fprintf(stderr, "saxpy_cl: %s\n", failure.what());
    return 2;
}
