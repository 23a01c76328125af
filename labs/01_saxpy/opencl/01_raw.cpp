// Rung 1: the host program in plain OpenCL calls, the counterpart of cuda_raw.
// (Alfaro Vigo & Rossetto, section 2.4; Bueno, chapter 3)
//
//   1. choose a platform and a device       5. create the buffers, copy the input into them
//   2. create a context                     6. set the kernel's arguments and launch it
//   3. create a command queue               7. copy the result back
//   4. compile the kernel's source text     8. release everything, in reverse order
//
// There are more steps than in CUDA. A machine may have the platforms (the drivers) of several vendors, and the
// kernel is compiled while the program runs, for the device that was chosen. Step 1 is not written out: the lab's
// program has already chosen the device, from its options, and this file uses it. complete/saxpy_cl.cpp lists all
// platforms and devices and chooses one.
// The later rungs take the same steps with OpenClContext, ClBuffer and watch_queue. These also release everything
// after an error. Here, when a step fails, the objects of the earlier steps are not released.
//
// Limit: as in opencl_one_item.
#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

#include "01_raw.cl.hpp" // the kernel's source text, as a string
#include "gpulab/error.hpp"
#include "gpulab/opencl/context.hpp"
#include "gpulab/poison.hpp"
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

    // 1. The device that the program is about to measure. A program of your own calls clGetPlatformIDs, which lists the
    //    platforms, and then clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, ...), which lists the devices of each:
    //    complete/saxpy_cl.cpp.
    const cl_device_id device = gpulab::opencl().device()();

    // 2. and 3. A context holds memory and programs; a queue takes the commands for one device.
    const cl_context context = clCreateContext(nullptr, 1, &device, nullptr, nullptr, &code);
    check(code, "creating a context");
    const cl_command_queue queue = clCreateCommandQueue(context, device, CL_QUEUE_PROFILING_ENABLE, &code);
    check(code, "creating a queue");

    // 4. Compile. A syntax error in the kernel is found here, while the program runs.
    const char* text = raw_cl;
    const cl_program program = clCreateProgramWithSource(context, 1, &text, nullptr, &code);
    check(code, "creating the program");
    if (clBuildProgram(program, 1, &device, "-cl-std=CL1.2", nullptr, nullptr) != CL_SUCCESS) {
        // A program of your own reads the messages with clGetProgramBuildInfo(..., CL_PROGRAM_BUILD_LOG, ...), as
        // complete/saxpy_cl.cpp does. Not every compiler names our file in them, so the helper of the later rungs
        // compiles again and throws what it says.
        gpulab::opencl_kernel(raw_cl, "saxpy");
        throw gpulab::BuildError("the kernel does not compile");
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
    // NaNs on the device, which are copied to c before every run: a copy within the device takes less time than one
    // from the host. They are copied several times where c is larger.
    const std::size_t nans = std::clamp<std::size_t>(n, 1, std::size_t{1} << 22);
    std::vector<float> host_nans(nans, gpulab::poison_value<float>());
    const cl_mem d_nans =
        clCreateBuffer(context, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, nans * sizeof(float), host_nans.data(), &code);
    check(code, "allocating NaNs");
    if (n > 0) {
        check(clEnqueueWriteBuffer(queue, a, CL_TRUE, 0, bytes, p.a.data(), 0, nullptr, nullptr), "copying a in");
        check(clEnqueueWriteBuffer(queue, b, CL_TRUE, 0, bytes, p.b.data(), 0, nullptr, nullptr), "copying b in");
    }

    // 6. Set the arguments one by one, then launch: the number of work-items in all, and in a work-group.
    const cl_ulong count = n;
    check(clSetKernelArg(kernel, 0, sizeof p.k, &p.k), "setting k");
    check(clSetKernelArg(kernel, 1, sizeof a, &a), "setting a");
    check(clSetKernelArg(kernel, 2, sizeof b, &b), "setting b");
    check(clSetKernelArg(kernel, 3, sizeof out, &out), "setting c");
    check(clSetKernelArg(kernel, 4, sizeof count, &count), "setting n");
    const std::size_t local = 256;
    const std::size_t global = std::max<std::size_t>((n + local - 1) / local, 1) * local;
    watch.tile(local);
    // c is filled with NaN before every run, so that an element that the kernel does not write is found.
    const auto mark_c = [&] {
        for (std::size_t begin = 0; begin < n; begin += nans)
            check(clEnqueueCopyBuffer(queue, d_nans, out, 0, begin * sizeof(float),
                                      std::min(nans, n - begin) * sizeof(float), 0, nullptr, nullptr),
                  "marking c");
    };
    for (int i = 0; i < watch.warmup(); ++i) { // not timed: the first launch also finishes the compilation
        mark_c();
        check(clEnqueueNDRangeKernel(queue, kernel, 1, nullptr, &global, &local, 0, nullptr, nullptr), "launching");
    }
    check(clFinish(queue), "running the kernel");
    watch.start();
    watch.notes_reset();
    while (watch.wants_more()) {
        mark_c();
        cl_event done = nullptr; // holds the times at which the device started and ended the command
        check(clEnqueueNDRangeKernel(queue, kernel, 1, nullptr, &global, &local, 0, nullptr, &done), "launching");
        check(clWaitForEvents(1, &done), "running the kernel");
        cl_ulong begin_ns = 0, end_ns = 0;
        check(clGetEventProfilingInfo(done, CL_PROFILING_COMMAND_START, sizeof begin_ns, &begin_ns, nullptr), "timing");
        check(clGetEventProfilingInfo(done, CL_PROFILING_COMMAND_END, sizeof end_ns, &end_ns, nullptr), "timing");
        check(clReleaseEvent(done), "releasing an event");
        watch.record(static_cast<double>(end_ns - begin_ns) * 1e-6);
    }

    // 7. Copy the result back. CL_TRUE: return when the copy is done.
    if (n > 0)
        check(clEnqueueReadBuffer(queue, out, CL_TRUE, 0, bytes, c.data(), 0, nullptr, nullptr), "copying c out");

    // 8. Release everything.
    for (const cl_mem memory : {a, b, out, d_nans}) check(clReleaseMemObject(memory), "releasing memory");
    check(clReleaseKernel(kernel), "releasing the kernel");
    check(clReleaseProgram(program), "releasing the program");
    check(clReleaseCommandQueue(queue), "releasing the queue");
    check(clReleaseContext(context), "releasing the context");
}

} // namespace saxpy
