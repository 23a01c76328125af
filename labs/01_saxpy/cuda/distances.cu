// Distances on a CUDA device, with packed and with aligned points.
// (Alfaro Vigo & Rossetto, exercise 2.1 and section 2.3.6)
//
// A packed point has 12 bytes. No load instruction has this size, so the compiler generates three 4-byte loads, and
// each of them touches all 384 bytes of the warp's 32 points. An aligned point has 16 bytes and needs one load, but 4
// of its bytes carry no data: 20 bytes must move per point instead of 16. Which layout is faster depends on the device.
// Where the second and the third load find their sectors in the L1 cache, the packed layout moves fewer bytes.
// `--study alignment` measures it.
#include "distances.hpp"
#include "gpulab/cuda/timing.hpp"

namespace saxpy {

/// One thread per point; any n.
template <class AnyPoint>
__global__ void distances_kernel(Point from, const AnyPoint* points, float* d, std::size_t n) {
    const std::size_t i = blockIdx.x * std::size_t{blockDim.x} + threadIdx.x;
    if (i >= n) return;
    // EXERCISE distances
    //| // TODO: load point i and compute its distance from the point `from`.
    //| (void)from, (void)points, (void)d;
    const AnyPoint p = points[i];
    const float dx = p.x - from.x, dy = p.y - from.y, dz = p.z - from.z;
    d[i] = sqrtf(dx * dx + dy * dy + dz * dz);
    // END EXERCISE
}

namespace {

template <class AnyPoint>
void distances(Point from, const std::vector<AnyPoint>& points, Distances& d, gpulab::Stopwatch& watch) {
    const gpulab::DeviceBuffer<AnyPoint> in(points);
    gpulab::DeviceBuffer<float> out(points.size());
    constexpr unsigned threads = 256;
    const unsigned blocks = gpulab::grid_size(points.size(), threads);
    const auto launch = [&](cudaStream_t stream) {
        distances_kernel<<<blocks, threads, 0, stream>>>(from, in.data(), out.data(), points.size());
    };
    gpulab::watch_stream(watch, launch, gpulab::poisoning(out));
    out.copy_to(d);
}

} // namespace

void cuda_distances_packed(const DistanceProblem& p, Distances& d, gpulab::Stopwatch& watch) {
    distances(p.from, p.points, d, watch);
}

void cuda_distances_aligned(const DistanceProblem& p, Distances& d, gpulab::Stopwatch& watch) {
    distances(p.from, aligned(p.points), d, watch); // the host pads the points; the kernel time does not include it
}

} // namespace saxpy
