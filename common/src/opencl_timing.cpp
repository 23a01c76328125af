// Profiling events of an OpenCL queue, and the flush of the cache.
#include "gpulab/opencl/timing.hpp"

#include <algorithm>
#include <limits>

namespace gpulab {

double ClEvents::elapsed_ms() const {
    cl_ulong begin = std::numeric_limits<cl_ulong>::max(), end = 0;
    for (const cl::Event& event : events_) {
        begin = std::min(begin, event.getProfilingInfo<CL_PROFILING_COMMAND_START>());
        end = std::max(end, event.getProfilingInfo<CL_PROFILING_COMMAND_END>());
    }
    return end > begin ? static_cast<double>(end - begin) * 1e-6 : 0;
}

std::size_t flush_bytes(const Device& device) { return 2 * std::max<std::size_t>(device.l2_bytes, 1 << 20); }

cl::Buffer flush_buffer(OpenClContext& context) {
    return cl::Buffer(context.context(), CL_MEM_READ_WRITE, flush_bytes(context.description()));
}

cl::Event overwrite(OpenClContext& context, const cl::Buffer& buffer) {
    cl::Event filled;
    context.queue().enqueueFillBuffer(buffer, cl_uchar{0}, 0, buffer.getInfo<CL_MEM_SIZE>(), nullptr, &filled);
    context.queue().finish();
    return filled;
}

cl::Event flush_l2(OpenClContext& context) { return overwrite(context, flush_buffer(context)); }

} // namespace gpulab
