// The kernels of the studies on an OpenCL device.
#include "studies.hpp"

#include <string>

#include "gpulab/opencl/timing.hpp"
#include "studies.cl.hpp"

namespace saxpy {

namespace {

cl::Kernel study_kernel(const char* name) {
    return gpulab::opencl_kernel(studies_cl, name, "-DROUNDS=" + std::to_string(mixing_rounds) + "u");
}

template <class T>
void launch(const cl::Kernel& kernel, std::size_t items, std::size_t local, gpulab::ClBuffer<T>& out,
            Stopwatch& watch) {
    const std::size_t global = gpulab::global_size(items, local);
    gpulab::watch_kernel(watch, kernel, global, local, gpulab::poisoning(out));
}

} // namespace

void opencl_copies_and_kernel(const Problem& p, Output& c, Stopwatch& watch) {
    // ANSWER many-blocks
    //| throw gpulab::Unsupported("withheld, because it tells the answer of the exercise many-blocks");
    // END ANSWER
    cl::Kernel kernel = study_kernel("block_size");
    const gpulab::ClBuffer<float> a(p.size()), b(p.size()), out(p.size()); // allocated before the time starts
    const cl_ulong n = p.size();
    gpulab::set_args(kernel, p.k, a.data(), b.data(), out.data(), n);
    constexpr std::size_t local = 256;
    const auto launch = [&](const cl::CommandQueue& queue,
                            gpulab::ClEvents& events) { // the commands of a queue run in this order
        queue.enqueueWriteBuffer(a.data(), CL_FALSE, 0, a.bytes(), p.a.data(), nullptr, events.add());
        queue.enqueueWriteBuffer(b.data(), CL_FALSE, 0, b.bytes(), p.b.data(), nullptr, events.add());
        gpulab::enqueue(queue, kernel, gpulab::global_size(n, local), local, events.add());
        queue.enqueueReadBuffer(out.data(), CL_FALSE, 0, out.bytes(), c.data(), nullptr, events.add());
    };
    gpulab::watch_queue(watch, launch, gpulab::poisoning(a, b, out));
    out.check_guard_bands();
}

void opencl_block_size(const Problem& p, Output& c, Stopwatch& watch, unsigned threads) {
    // ANSWER many-blocks
    //| throw gpulab::Unsupported("withheld, because it tells the answer of the exercise many-blocks");
    // END ANSWER
    cl::Kernel kernel = study_kernel("block_size");
    const std::size_t most = gpulab::opencl().max_work_group(kernel);
    if (threads > most)
        throw gpulab::Unsupported("a work-group of " + std::to_string(threads) +
                                  " is more than this device allows this kernel (" + std::to_string(most) + ")");
    const gpulab::ClBuffer<float> a(p.a), b(p.b);
    gpulab::ClBuffer<float> out(p.size());
    const cl_ulong n = p.size();
    gpulab::set_args(kernel, p.k, a.data(), b.data(), out.data(), n);
    launch(kernel, n, threads, out, watch);
    out.copy_to(c);
}

void opencl_strided(const Problem& p, Output& c, Stopwatch& watch, unsigned stride) {
    cl::Kernel kernel = study_kernel("strided");
    const gpulab::ClBuffer<float> a(p.a), b(p.b);
    gpulab::ClBuffer<float> out(p.size());
    const cl_ulong n = p.size();
    gpulab::set_args(kernel, p.k, a.data(), b.data(), out.data(), n);
    const std::size_t local = 256;
    const std::size_t rows = gpulab::global_size(gpulab::ceil_div(n, stride), local);
    gpulab::watch_kernel(watch, kernel, cl::NDRange(rows, stride), cl::NDRange(local, 1), gpulab::poisoning(out));
    out.copy_to(c);
}

void opencl_divergence(Branch branch, Mixed& out, Stopwatch& watch) {
    cl::Kernel kernel = study_kernel("divergence");
    gpulab::ClBuffer<std::uint32_t> result(out.size());
    const cl_ulong n = out.size();
    gpulab::set_args(kernel, cl_int{branch == Branch::even_odd}, result.data(), n);
    launch(kernel, n, 256, result, watch);
    result.copy_to(out);
}

} // namespace saxpy
