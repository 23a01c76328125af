// Rung 1: the host program in plain OpenCL, with nothing hidden: OpenCL's counterpart of cuda_raw.
// (Alfaro Vigo & Rossetto, section 2.4; Bueno, chapter 3)
//
//   1. find a platform and a device         5. make the buffers, copy the input in
//   2. make a context                       6. set the kernel's arguments and launch it
//   3. make a command queue                 7. copy the result back
//   4. compile the kernel's text            8. release everything, in the opposite order
//
// More steps than in CUDA, because nothing is taken for granted: there may be several vendors' platforms on one
// machine, and the kernel is compiled while the program runs, for the device it finds. The later rungs do the same
// through OpenClContext, ClBuffer and watch_queue. What is missing here: when a step fails, what the earlier ones made
// is not released.
#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

#include "01_raw.cl.hpp" // the text of the kernel
#include "gpulab/error.hpp"
#include "gpulab/opencl/context.hpp"
#include "saxpy.hpp"

namespace saxpy {

namespace {
void check(cl_int code, const char* step) {
    if (code != CL_SUCCESS) throw std::runtime_error(std::string(step) + ": " + gpulab::opencl_error_name(code));
}
} // namespace

void opencl_raw(const Problem& p, Output& c, Stopwatch& watch) {
    const std::size_t n = p.size();
    const std::size_t bytes = n * sizeof(float);
    cl_int code = CL_SUCCESS;

    // 1. The device that the user chose. To find one from nothing: clGetPlatformIDs lists the platforms, and
    //    clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, ...) the devices of each.
    const cl_device_id device = gpulab::opencl().device()();

    // 2. and 3. A context holds memory and programs; a queue takes the orders for one device.
    const cl_context context = clCreateContext(nullptr, 1, &device, nullptr, nullptr, &code);
    check(code, "making a context");
    const cl_command_queue queue = clCreateCommandQueue(context, device, CL_QUEUE_PROFILING_ENABLE, &code);
    check(code, "making a queue");

    // 4. Compile. A kernel with a mistake fails here, while the program runs.
    const char* text = raw_cl;
    const cl_program program = clCreateProgramWithSource(context, 1, &text, nullptr, &code);
    check(code, "taking in the kernel's text");
    if (clBuildProgram(program, 1, &device, "-cl-std=CL1.2", nullptr, nullptr) != CL_SUCCESS) {
        std::size_t length = 0; // what the compiler has to say, and how long it is
        check(clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, 0, nullptr, &length), "asking for the log");
        std::string log(length, ' ');
        check(clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, length, log.data(), nullptr), "reading it");
        throw gpulab::BuildError("the kernel does not compile:\n" + log);
    }
    const cl_kernel kernel = clCreateKernel(program, "saxpy", &code);
    check(code, "finding the kernel");

    // 5. Three buffers.
    const std::size_t at_least_1 = std::max<std::size_t>(bytes, 1); // OpenCL has no empty buffers
    const cl_mem a = clCreateBuffer(context, CL_MEM_READ_ONLY, at_least_1, nullptr, &code);
    check(code, "allocating a");
    const cl_mem b = clCreateBuffer(context, CL_MEM_READ_ONLY, at_least_1, nullptr, &code);
    check(code, "allocating b");
    const cl_mem out = clCreateBuffer(context, CL_MEM_WRITE_ONLY, at_least_1, nullptr, &code);
    check(code, "allocating c");
    const std::vector<float> nans(n, gpulab::poison_value<float>());
    if (n > 0) {
        check(clEnqueueWriteBuffer(queue, a, CL_TRUE, 0, bytes, p.a.data(), 0, nullptr, nullptr), "copying a in");
        check(clEnqueueWriteBuffer(queue, b, CL_TRUE, 0, bytes, p.b.data(), 0, nullptr, nullptr), "copying b in");
    }

    // 6. Arguments go in one by one, then the launch: how many work-items in all, how many in a group.
    const cl_ulong count = n;
    check(clSetKernelArg(kernel, 0, sizeof p.k, &p.k), "setting k");
    check(clSetKernelArg(kernel, 1, sizeof a, &a), "setting a");
    check(clSetKernelArg(kernel, 2, sizeof b, &b), "setting b");
    check(clSetKernelArg(kernel, 3, sizeof out, &out), "setting c");
    check(clSetKernelArg(kernel, 4, sizeof count, &count), "setting n");
    const std::size_t local = 256;
    const std::size_t global = std::max<std::size_t>((n + local - 1) / local, 1) * local;
    watch.tile(local);
    // c is marked before every run: an element that the kernel forgets to write cannot pass for an answer.
    const auto mark_c = [&] {
        if (n > 0)
            check(clEnqueueWriteBuffer(queue, out, CL_TRUE, 0, bytes, nans.data(), 0, nullptr, nullptr), "marking c");
    };
    for (int i = 0; i < watch.warmup(); ++i) { // the first launch also finishes the compilation: it does not count
        mark_c();
        check(clEnqueueNDRangeKernel(queue, kernel, 1, nullptr, &global, &local, 0, nullptr, nullptr), "launching");
    }
    check(clFinish(queue), "running the kernel");
    watch.start();
    watch.notes_reset();
    while (watch.wants_more()) {
        mark_c();
        cl_event done = nullptr; // the device notes when the command started and ended
        check(clEnqueueNDRangeKernel(queue, kernel, 1, nullptr, &global, &local, 0, nullptr, &done), "launching");
        check(clWaitForEvents(1, &done), "running the kernel");
        cl_ulong begin_ns = 0, end_ns = 0;
        check(clGetEventProfilingInfo(done, CL_PROFILING_COMMAND_START, sizeof begin_ns, &begin_ns, nullptr), "timing");
        check(clGetEventProfilingInfo(done, CL_PROFILING_COMMAND_END, sizeof end_ns, &end_ns, nullptr), "timing");
        check(clReleaseEvent(done), "releasing an event");
        watch.record(static_cast<double>(end_ns - begin_ns) * 1e-6);
    }

    // 7. Copy the result back; CL_TRUE waits for it.
    if (n > 0)
        check(clEnqueueReadBuffer(queue, out, CL_TRUE, 0, bytes, c.data(), 0, nullptr, nullptr), "copying c out");

    // 8. Release what was made.
    for (const cl_mem memory : {a, b, out}) check(clReleaseMemObject(memory), "releasing memory");
    check(clReleaseKernel(kernel), "releasing the kernel");
    check(clReleaseProgram(program), "releasing the program");
    check(clReleaseCommandQueue(queue), "releasing the queue");
    check(clReleaseContext(context), "releasing the context");
}

} // namespace saxpy
