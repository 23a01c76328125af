// The minimum of test_minimum.cpp on a CUDA device, by one thread.
#include "gpulab/cuda/buffer.hpp"
#include "gpulab/cuda/timing.hpp"
#include "gpulab/poisoning.hpp"
#include "reduction.hpp"

using reduction::Scalar;
using reduction::Stopwatch;
using reduction::SumProblem;

__global__ void minimum_kernel(const float* a, std::size_t end, float* out) {
    float least = INFINITY;
    for (std::size_t i = 0; i < end; ++i) least = fminf(least, a[i]);
    *out = least;
}

namespace {
void minimum(const SumProblem<float>& p, std::size_t end, Scalar<float>& out, Stopwatch& watch) {
    const gpulab::DeviceBuffer<float> a(p.a);
    gpulab::DeviceBuffer<float> result(1);
    gpulab::watch_stream(
        watch, [&](cudaStream_t stream) { minimum_kernel<<<1, 1, 0, stream>>>(a.data(), end, result.data()); },
        gpulab::poisoning(result));
    result.copy_to(out);
}
} // namespace

void cuda_minimum(const SumProblem<float>& p, Scalar<float>& out, Stopwatch& watch) {
    minimum(p, p.size(), out, watch);
}
void cuda_minimum_reads_on(const SumProblem<float>& p, Scalar<float>& out, Stopwatch& watch) {
    minimum(p, p.size() + 1, out, watch);
}
