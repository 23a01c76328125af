// Between NaNs a minimum looks right when it reads on behind the end; first_minimum_fault() puts a value there that
// wins. The lab has no minimum in which such a mistake could be planted, so this one reads on by itself.
#include <catch2/catch_test_macros.hpp>

#include "checks.hpp"
#if defined(GPULAB_WITH_OPENCL)
#include "gpulab/opencl/buffer.hpp"
#include "gpulab/opencl/timing.hpp"
#include "gpulab/poisoning.hpp"
#endif

using gpulab::Backend;
using reduction::Scalar;
using reduction::Stopwatch;
using reduction::SumProblem;
using reduction::SumRun;
using reduction::testing::first_minimum_fault;

namespace {

[[maybe_unused]] void check(Backend backend, SumRun<float>* right, SumRun<float>* reads_on) {
    const auto& sizes = gpulab::testing::small_sizes();
    for (const gpulab::Device& device : gpulab::testing::devices_or_skip(backend)) {
        gpulab::use(device);
        CHECK(first_minimum_fault(right, sizes) == "");
        CHECK(first_minimum_fault(reads_on, sizes) != "");
        CHECK(first_minimum_fault(reads_on, sizes, gpulab::input_guard_byte) == "");
    }
}

#if defined(GPULAB_WITH_OPENCL)
/// Of the first `end` numbers of an array, by one work-item.
void minimum(const SumProblem<float>& p, std::size_t end, Scalar<float>& out, Stopwatch& watch) {
    const gpulab::ClBuffer<float> a(p.a);
    gpulab::ClBuffer<float> result(1);
    cl::Kernel kernel =
        gpulab::opencl_kernel("kernel void minimum(global const float* a, ulong end, global float* out) {"
                              "    out[0] = INFINITY;"
                              "    for (ulong i = 0; i < end; ++i) out[0] = fmin(out[0], a[i]);"
                              "}",
                              "minimum");
    gpulab::set_args(kernel, a.data(), cl_ulong{end}, result.data());
    const auto launch = [&](const cl::CommandQueue& queue, gpulab::ClEvents& events) {
        queue.enqueueNDRangeKernel(kernel, cl::NullRange, cl::NDRange(1), cl::NDRange(1), nullptr, events.add());
    };
    gpulab::watch_queue(watch, launch, gpulab::poisoning(result));
    result.copy_to(out);
}
void opencl_minimum(const SumProblem<float>& p, Scalar<float>& out, Stopwatch& watch) {
    minimum(p, p.size(), out, watch);
}
void opencl_minimum_reads_on(const SumProblem<float>& p, Scalar<float>& out, Stopwatch& watch) {
    minimum(p, p.size() + 1, out, watch);
}
#endif

} // namespace

#if defined(GPULAB_WITH_OPENCL)
TEST_CASE("an OpenCL minimum that reads on behind the end is found", "[opencl]") {
    check(Backend::opencl, opencl_minimum, opencl_minimum_reads_on);
}
#endif
#if defined(GPULAB_WITH_CUDA)
SumRun<float> cuda_minimum, cuda_minimum_reads_on; // in minimum.cu
TEST_CASE("a CUDA minimum that reads on behind the end is found", "[cuda]") {
    check(Backend::cuda, cuda_minimum, cuda_minimum_reads_on);
}
#endif
