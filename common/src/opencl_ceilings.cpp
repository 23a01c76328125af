// The ceilings of OpenCL devices.
#include "opencl_ceilings.hpp"

#include <algorithm>

#include "gpulab/math.hpp"
#include "gpulab/metrics.hpp"

namespace gpulab::detail {

namespace {

const char* const copy_cl = "kernel void copy(global const float4* from, global float4* to, ulong n) {\n"
                            "    for (size_t i = get_global_id(0); i < n; i += get_global_size(0))\n"
                            "        to[i] = from[i];\n"
                            "}\n";

const char* const multiply_adds_cl =
    "#ifdef FP64\n#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n#endif\n"
    "kernel void multiply_adds(global T* out, T factor, T addend, int steps, int keep) {\n"
    "    T4 a = (T4)(get_local_id(0)), b = a + (T)1, c = a + (T)2, d = a + (T)3;\n"
    "    T4 e = a + (T)4, f = a + (T)5, g = a + (T)6, h = a + (T)7;\n"
    "    for (int i = 0; i < steps; ++i) {\n"
    "        a = mad(a, (T4)(factor), (T4)(addend)); b = mad(b, (T4)(factor), (T4)(addend));\n"
    "        c = mad(c, (T4)(factor), (T4)(addend)); d = mad(d, (T4)(factor), (T4)(addend));\n"
    "        e = mad(e, (T4)(factor), (T4)(addend)); f = mad(f, (T4)(factor), (T4)(addend));\n"
    "        g = mad(g, (T4)(factor), (T4)(addend)); h = mad(h, (T4)(factor), (T4)(addend));\n"
    "    }\n"
    "    T4 all = a + b + c + d + e + f + g + h;\n"
    "    T sum = all.x + all.y + all.z + all.w;\n"
    "    if (keep || sum == (T)-1) out[keep ? get_global_id(0) : 0] = sum;\n" // -1 never comes, but who compiles
    "}\n";                                                                    // this cannot know

} // namespace

Timing five_runs(const std::function<void(const cl::CommandQueue&, ClEvents&)>& body) {
    Stopwatch watch(2, 5);
    watch_queue(watch, body);
    return watch.kernel();
}

OpenClCopy::OpenClCopy(std::size_t bytes)
    : from(bytes), to(bytes), kernel_(opencl_kernel(copy_cl, "copy")),
      group_(std::min<std::size_t>(256, opencl().max_work_group(kernel_))) {
    set_args(kernel_, from.data(), to.data(), static_cast<cl_ulong>(bytes / sizeof(cl_float4)));
}

void OpenClCopy::by_driver(const cl::CommandQueue& queue, ClEvents& events) {
    queue.enqueueCopyBuffer(from.data(), to.data(), 0, 0, from.bytes(), nullptr, events.add());
}

void OpenClCopy::by_kernel(const cl::CommandQueue& queue, ClEvents& events) {
    enqueue(queue, kernel_, cl::NDRange(round_up(from.bytes() / sizeof(cl_float4), group_)), cl::NDRange(group_),
            events.add());
}

namespace {
/// Oclgrind simulates a device, some thousand times slower than one: its ceilings mean nothing, and are measured with
/// little.
bool simulated(const Device& device) { return device.platform == "Oclgrind"; }
} // namespace

std::size_t opencl_copy_bytes(const Device& device, std::size_t most) {
    if (simulated(device)) return 1 << 16;
    const std::size_t large = device.is_cpu ? std::size_t{256} << 20 : std::size_t{1} << 30;
    const std::uint64_t memory = device.memory_bytes > 0 ? device.memory_bytes : std::uint64_t{1} << 30;
    return std::min({large, most, static_cast<std::size_t>(memory) / 8}) / 16 * 16;
}

int opencl_steps(const Device& device) { return simulated(device) ? 64 : device.is_cpu ? 20000 : 1024; }

double opencl_copy_gb_per_s(std::size_t bytes, const QueueTimer& timing) {
    OpenClCopy copy(bytes);
    const Timing driver =
        timing([&](const cl::CommandQueue& queue, ClEvents& events) { copy.by_driver(queue, events); });
    const Timing kernel =
        timing([&](const cl::CommandQueue& queue, ClEvents& events) { copy.by_kernel(queue, events); });
    return gb_per_s(copy.bytes_moved(), std::min(driver.median, kernel.median)); // the better one is the ceiling
}

std::size_t opencl_chain_group(const Device& device) {
    return static_cast<std::size_t>(std::min(device.is_cpu ? 16 : 256, device.max_group > 0 ? device.max_group : 256));
}

std::size_t opencl_chain_items(const Device& device) {
    return opencl_chain_group(device) * static_cast<std::size_t>(device.compute_units) * 16;
}

double opencl_gflop_per_s(const Device& device, Arithmetic kind, int steps, const ClBuffer<unsigned char>& sums,
                          const QueueTimer& timing) {
    const bool fp64 = kind == Arithmetic::fp64;
    const cl_int keep = sums.size() > sizeof(double);
    cl::Kernel kernel = opencl_kernel(multiply_adds_cl, "multiply_adds",
                                      fp64 ? "-DFP64 -DT=double -DT4=double4" : "-DT=float -DT4=float4");
    if (fp64) set_args(kernel, sums.data(), 0.999, 0.001, steps, keep);
    else set_args(kernel, sums.data(), 0.999f, 0.001f, steps, keep);
    const std::size_t items = opencl_chain_items(device);
    const Timing time = timing([&](const cl::CommandQueue& queue, ClEvents& events) {
        enqueue(queue, kernel, cl::NDRange(items), cl::NDRange(opencl_chain_group(device)), events.add());
    });
    return gflop_per_s(2.0 * opencl_chains * steps * static_cast<double>(items), time.median);
}

double measure_opencl(const Device& device, Arithmetic kind) {
    if (kind != Arithmetic::none)
        return opencl_gflop_per_s(device, kind, opencl_steps(device) / static_cast<int>(ceilings_divisor()),
                                  ClBuffer<unsigned char>(sizeof(double)), five_runs);
    const std::size_t most = opencl().device().getInfo<CL_DEVICE_MAX_MEM_ALLOC_SIZE>();
    return opencl_copy_gb_per_s(opencl_copy_bytes(device, most) / (16 * ceilings_divisor()) * 16, five_runs);
}

} // namespace gpulab::detail
