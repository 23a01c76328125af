// What OpenCL says when something is wrong, and when: the lesson "When it is wrong".
//
//     g++ errors.cpp -lOpenCL -o errors
//     ./errors                # each call with the code that it returned
//     oclgrind ./errors       # the same in a simulator, which also reports the store outside of the buffer
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#include <cstdio>
#include <string>
#include <vector>

const char* const source = R"(
kernel void store(global uint* out, uint place) {
    out[place + get_global_id(0)] = 1;
}
kernel void say(uint from) {
    if (get_global_id(0) >= from) printf("    item %d of group %d\n", (int)get_global_id(0), (int)get_group_id(0));
}
)";

void tell(const char* call, cl_int code) { std::printf("%-48s %d\n", call, code); }

int main() {
    cl_platform_id platform = nullptr;
    cl_device_id device = nullptr;
    cl_int code = clGetPlatformIDs(1, &platform, nullptr);
    if (code != CL_SUCCESS || clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, nullptr) != CL_SUCCESS) {
        std::fputs("errors: no OpenCL device\n", stderr);
        return 2;
    }
    const cl_context context = clCreateContext(nullptr, 1, &device, nullptr, nullptr, &code);
    const cl_command_queue queue = clCreateCommandQueue(context, device, 0, &code);

    // 1. A kernel that does not compile: the code says so, the build log says why.
    const char* text = "kernel void wrong(global uint* out) { out[0] = x; }";
    cl_program program = clCreateProgramWithSource(context, 1, &text, nullptr, &code);
    tell("clBuildProgram, x is not declared:", clBuildProgram(program, 1, &device, "", nullptr, nullptr));
    std::string log(4096, '\0');
    clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, log.size(), &log[0], nullptr);
    const std::size_t begin = log.find("error:");
    if (begin != std::string::npos) std::printf("    %s\n", log.substr(begin, log.find('\n', begin) - begin).c_str());
    clReleaseProgram(program);

    text = source;
    program = clCreateProgramWithSource(context, 1, &text, nullptr, &code);
    tell("clBuildProgram:", clBuildProgram(program, 1, &device, "-cl-std=CL1.2", nullptr, nullptr));
    const cl_kernel store = clCreateKernel(program, "store", &code);
    const cl_mem buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, 64 * sizeof(cl_uint), nullptr, &code);

    // 2. Errors in a call: it returns them at once, and does nothing. The next call is not affected.
    cl_uint place = 0;
    const cl_ulong too_wide = 0;
    tell("clSetKernelArg, 8 bytes for a uint:", clSetKernelArg(store, 1, sizeof too_wide, &too_wide));
    tell("clSetKernelArg:", clSetKernelArg(store, 0, sizeof buffer, &buffer));
    std::size_t items = 64, group = 48;
    tell("clEnqueueNDRangeKernel, an argument is missing:",
         clEnqueueNDRangeKernel(queue, store, 1, nullptr, &items, nullptr, 0, nullptr, nullptr));
    clSetKernelArg(store, 1, sizeof place, &place);
    tell("clEnqueueNDRangeKernel, 64 items in groups of 48:",
         clEnqueueNDRangeKernel(queue, store, 1, nullptr, &items, &group, 0, nullptr, nullptr));
    group = 64;
    tell("clEnqueueNDRangeKernel:",
         clEnqueueNDRangeKernel(queue, store, 1, nullptr, &items, &group, 0, nullptr, nullptr));
    tell("clFinish:", clFinish(queue));

    // 3. printf in a kernel: it appears at the latest with clFinish.
    const cl_kernel say = clCreateKernel(program, "say", &code);
    const cl_uint from = 62;
    clSetKernelArg(say, 0, sizeof from, &from);
    clEnqueueNDRangeKernel(queue, say, 1, nullptr, &items, &group, 0, nullptr, nullptr);
    tell("clFinish, after a kernel with printf:", clFinish(queue));

    // 4. A store outside of the buffer: no call need say anything, now or later.
    place = 1; // item 63 stores to out[64]; the buffer ends with out[63]
    clSetKernelArg(store, 1, sizeof place, &place);
    tell("clEnqueueNDRangeKernel, one store too far:",
         clEnqueueNDRangeKernel(queue, store, 1, nullptr, &items, &group, 0, nullptr, nullptr));
    tell("clFinish:", clFinish(queue));

    clReleaseMemObject(buffer);
    clReleaseKernel(say);
    clReleaseKernel(store);
    clReleaseProgram(program);
    clReleaseCommandQueue(queue);
    clReleaseContext(context);
    return 0;
}
