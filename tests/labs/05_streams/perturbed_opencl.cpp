// Replacements for the functions that give a command to an OpenCL queue; see perturbed.hpp.
#include <cstdlib>
#include <mutex>
#include <thread>

#include "gpulab/opencl/context.hpp"
#include "gpulab/threads.hpp"
#include "perturbed.hpp"

using namespace streams::testing;

namespace {

std::mutex mutex;
gpulab::Threads releasing;

// PoCL 3.1 ends with an assertion (pocl_release_dlhandle_cache) when two of its threads begin kernels of two queues at
// the same time. In a process with one thread it does not; late commands change the order of what queues do all the
// same.
[[maybe_unused]] const bool one_thread = ::setenv("POCL_MAX_PTHREAD_COUNT", "1", 1) == 0;

/// Delays what follows in the queue: it waits for an event that a thread sets.
void keep_back(cl_command_queue queue) {
    cl_context context = nullptr;
    clGetCommandQueueInfo(queue, CL_QUEUE_CONTEXT, sizeof context, &context, nullptr);
    const cl_event event = clCreateUserEvent(context, nullptr);
    clEnqueueBarrierWithWaitList(queue, 1, &event, nullptr);
    const std::lock_guard lock(mutex);
    releasing.start([event] {
        std::this_thread::sleep_for(perturbed::delay);
        clSetUserEventStatus(event, CL_COMPLETE);
        clReleaseEvent(event);
    });
}

} // namespace

void streams::testing::perturbed::join_opencl() {
    const std::lock_guard lock(mutex);
    releasing.join();
}

extern "C" {

decltype(clEnqueueWriteBuffer) __real_clEnqueueWriteBuffer;
decltype(clEnqueueReadBuffer) __real_clEnqueueReadBuffer;
decltype(clEnqueueNDRangeKernel) __real_clEnqueueNDRangeKernel;

// All copies of a pass are non-blocking; blocking copies belong to buffers and their guard bands.
cl_int __wrap_clEnqueueWriteBuffer(cl_command_queue queue, cl_mem buffer, cl_bool waits, std::size_t first,
                                   std::size_t bytes, const void* host, cl_uint count, const cl_event* before,
                                   cl_event* done) {
    if (!waits && perturbed::notes(perturbed::Kind::copy_up)) keep_back(queue);
    return __real_clEnqueueWriteBuffer(queue, buffer, waits, first, bytes, host, count, before, done);
}

cl_int __wrap_clEnqueueReadBuffer(cl_command_queue queue, cl_mem buffer, cl_bool waits, std::size_t first,
                                  std::size_t bytes, void* host, cl_uint count, const cl_event* before,
                                  cl_event* done) {
    if (!waits && perturbed::notes(perturbed::Kind::copy_down)) keep_back(queue);
    return __real_clEnqueueReadBuffer(queue, buffer, waits, first, bytes, host, count, before, done);
}

cl_int __wrap_clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions,
                                     const std::size_t* offset, const std::size_t* global, const std::size_t* local,
                                     cl_uint count, const cl_event* before, cl_event* done) {
    if (perturbed::notes(perturbed::Kind::kernel)) keep_back(queue);
    return __real_clEnqueueNDRangeKernel(queue, kernel, dimensions, offset, global, local, count, before, done);
}

} // extern "C"
