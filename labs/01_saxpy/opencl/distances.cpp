// Distances on an OpenCL device, with packed and with aligned points. cuda/distances.cu explains the two layouts.
#include "distances.hpp"

#include "distances.cl.hpp"
#include "gpulab/opencl/timing.hpp"

namespace saxpy {

namespace {

template <class AnyPoint>
void distances(const char* name, Point from, const std::vector<AnyPoint>& points, Distances& d,
               gpulab::Stopwatch& watch) {
    const gpulab::ClBuffer<AnyPoint> in(points);
    gpulab::ClBuffer<float> out(points.size());
    cl::Kernel kernel = gpulab::opencl_kernel(distances_cl, name);
    const cl_ulong n = points.size();
    gpulab::set_args(kernel, from.x, from.y, from.z, in.data(), out.data(), n);
    constexpr std::size_t local = 256;
    const std::size_t global = gpulab::global_size(n, local);
    gpulab::watch_kernel(watch, kernel, global, local, gpulab::poisoning(out));
    out.copy_to(d);
}

} // namespace

void opencl_distances_packed(const DistanceProblem& p, Distances& d, gpulab::Stopwatch& watch) {
    distances("distances_packed", p.from, p.points, d, watch);
}

void opencl_distances_aligned(const DistanceProblem& p, Distances& d, gpulab::Stopwatch& watch) {
    distances("distances_aligned", p.from, aligned(p.points), d, watch);
}

} // namespace saxpy
