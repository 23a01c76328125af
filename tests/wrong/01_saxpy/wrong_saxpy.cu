// Each kernel has one mistake. The right one is labs/01_saxpy/cuda/03_many_blocks.cu.
#include <array>
#include <cfloat>

#include "gpulab/cuda/buffer.hpp"
#include "gpulab/cuda/timing.hpp"
#include "gpulab/math.hpp"
#include "gpulab/poisoning.hpp"
#include "wrong_saxpy.hpp"

namespace saxpy::wrong {

namespace {

using Kernel = void(float, const float*, const float*, float*, std::size_t);

__device__ std::size_t global_index() { return blockIdx.x * std::size_t{blockDim.x} + threadIdx.x; }

__global__ void no_bounds_check(float k, const float* a, const float* b, float* c, std::size_t n) {
    const std::size_t i = global_index(); // the reads stay inside, so that only the stray write is at fault
    c[i] = i < n ? k * a[i] + b[i] : 0;
}

__global__ void less_or_equal(float k, const float* a, const float* b, float* c, std::size_t n) {
    const std::size_t i = global_index();
    if (i <= n) c[i] = i < n ? k * a[i] + b[i] : 0;
}

__global__ void first_block_only(float k, const float* a, const float* b, float* c, std::size_t n) {
    const std::size_t i = threadIdx.x;
    if (i < n) c[i] = k * a[i] + b[i];
}

__global__ void wrong_stride(float k, const float* a, const float* b, float* c, std::size_t n) {
    const std::size_t i = blockIdx.x * std::size_t{blockDim.x + 1} + threadIdx.x;
    if (i < n) c[i] = k * a[i] + b[i];
}

__global__ void swapped(float k, const float* a, const float* b, float* c, std::size_t n) {
    const std::size_t i = global_index();
    if (i < n) c[i] = k * b[i] + a[i];
}

__global__ void tail_unwritten(float k, const float* a, const float* b, float* c, std::size_t n) {
    const std::size_t i = global_index();
    if (i < n / 4 * 4) c[i] = k * a[i] + b[i];
}

__global__ void writes_nothing(float, const float*, const float*, float*, std::size_t) {}

__global__ void accumulates(float k, const float* a, const float* b, float* c, std::size_t n) {
    const std::size_t i = global_index();
    if (i < n) c[i] += k * a[i] + b[i];
}

__global__ void last_element_lost(float k, const float* a, const float* b, float* c, std::size_t n) {
    const std::size_t i = global_index();
    if (i + 1 < n) c[i] = k * a[i] + b[i];
}

__global__ void narrow_index(float k, const float* a, const float* b, float* c, std::size_t n) {
    // An index held in 16 bits: the overflow of a 32-bit one at 2^32, made visible at a size that tests can afford.
    const std::size_t i = global_index();
    if (i < n) c[i % 65536] = k * a[i] + b[i];
}

__global__ void right_the_second_time(float k, const float* a, const float* b, float* c, std::size_t n) {
    const std::size_t i = global_index();
    if (i < n) c[i] = isnan(c[i]) ? 0 : k * a[i] + b[i];
}

__global__ void clears_its_input(float k, const float* a, const float* b, float* c, std::size_t n) {
    const std::size_t i = global_index();
    if (i < n) {
        c[i] = k * a[i] + b[i];
        const_cast<float*>(a)[i] = 0;
    }
}

__global__ void writes_past_its_input(float k, const float* a, const float* b, float* c, std::size_t n) {
    const std::size_t i = global_index();
    if (i < n) c[i] = k * a[i] + b[i];
    if (i == 0) const_cast<float*>(a)[n] = 7;
}

__global__ void loses_the_sign(float k, const float* a, const float* b, float* c, std::size_t n) {
    const std::size_t i = global_index();
    if (i < n) c[i] = fabsf(k) * a[i] + b[i];
}

__global__ void before_the_start(float k, const float* a, const float* b, float* c, std::size_t n) {
    const std::size_t i = global_index();
    if (i < n) c[i] = k * a[i] + b[i];
    if (i == 0) (c - 1)[0] = 0;
}

__global__ void right(float k, const float* a, const float* b, float* c, std::size_t n) { // for comparison: no mistake
    const std::size_t i = global_index();
    if (i < n) c[i] = k * a[i] + b[i];
}

__global__ void clamps(float k, const float* a, const float* b, float* c, std::size_t n) {
    const std::size_t i = global_index();
    if (i < n) c[i] = fminf(fmaxf(k * a[i] + b[i], -FLT_MAX), FLT_MAX);
}

__global__ void nan_not_written(float k, const float* a, const float* b, float* c, std::size_t n) {
    const std::size_t i = global_index();
    if (i < n && !isnan(k * a[i] + b[i])) c[i] = k * a[i] + b[i];
}

__global__ void skips_zero(float k, const float* a, const float* b, float* c, std::size_t n) {
    const std::size_t i = global_index();
    if (i < n) c[i] = k == 0 ? b[i] : k * a[i] + b[i];
}

/// Beyond 2^31 elements an int is negative, and as a std::size_t too large for n; beyond 2^32 an unsigned begins at 0.
template <class Index> __global__ void index_in(float k, const float* a, const float* b, float* c, std::size_t n) {
    const auto i = static_cast<Index>(global_index());
    if (static_cast<std::size_t>(i) < n) c[i] = k * a[i] + b[i];
}

/// @tparam runs     how many runs of a measurement do anything
/// @tparam in_stream whether the kernel runs in the stream that is timed; without it, in the default stream
template <Kernel* kernel, int runs = 1 << 30, bool in_stream = true>
void launch(const Problem& p, Output& c, Stopwatch& watch) {
    const gpulab::DeviceBuffer<float> a(p.a), b(p.b);
    gpulab::DeviceBuffer<float> out(p.size());
    constexpr unsigned threads = 256;
    int left = runs;
    const auto run = [&](cudaStream_t stream) {
        if (left-- <= 0) return;
        kernel<<<gpulab::grid_size(p.size(), threads), threads, 0, in_stream ? stream : nullptr>>>(
            p.k, a.data(), b.data(), out.data(), p.size());
    };
    gpulab::watch_stream(watch, run, gpulab::poisoning(out));
    out.copy_to(c);
}

/// Distances, with one mistake each. The right ones are labs/01_saxpy/cuda/distances.cu.
enum class Mistake { none, without_z, without_root, no_bounds_check, of_aligned_points, nan_is_zero };

template <Mistake mistake> __global__ void distance_kernel(Point from, const float* points, float* d, std::size_t n) {
    const std::size_t i = global_index();
    if (mistake != Mistake::no_bounds_check && i >= n) return;
    const std::size_t last = n > 0 ? 3 * n - 3 : 0; // the reads stay inside
    const std::size_t at = mistake == Mistake::of_aligned_points ? 4 * i : 3 * i;
    const float* const p = points + (at < last ? at : last);
    const float dx = p[0] - from.x, dy = p[1] - from.y, dz = mistake == Mistake::without_z ? 0 : p[2] - from.z;
    const float square = dx * dx + dy * dy + dz * dz;
    const float distance = mistake == Mistake::without_root ? square : sqrtf(square);
    d[i] = mistake == Mistake::nan_is_zero ? fmaxf(0, distance) : distance;
}

template <Mistake mistake> void launch_distance(const DistanceProblem& p, Distances& d, Stopwatch& watch) {
    const gpulab::DeviceBuffer<Point> points(p.points);
    gpulab::DeviceBuffer<float> out(p.size());
    constexpr unsigned threads = 256;
    gpulab::watch_stream(
        watch,
        [&](cudaStream_t stream) {
            distance_kernel<mistake><<<gpulab::grid_size(p.size(), threads), threads, 0, stream>>>(
                p.from, reinterpret_cast<const float*>(points.data()), out.data(), p.size());
        },
        gpulab::poisoning(out));
    out.copy_to(d);
}

} // namespace

void cuda_right_distance(const DistanceProblem& p, Distances& d, Stopwatch& watch) {
    launch_distance<Mistake::none>(p, d, watch);
}

std::span<const WrongDistance> cuda_distances() {
    static const std::array table = {
        WrongDistance{"without_z", "in the plane", launch_distance<Mistake::without_z>},
        WrongDistance{"without_root", "squared", launch_distance<Mistake::without_root>},
        WrongDistance{"no_bounds_check", "writes past the end", launch_distance<Mistake::no_bounds_check>},
        WrongDistance{"of_aligned_points", "16 bytes per packed point", launch_distance<Mistake::of_aligned_points>},
        WrongDistance{"nan_is_zero", "NaN is lost", launch_distance<Mistake::nan_is_zero>, "from "},
    };
    return table;
}

void cuda_right(const Problem& p, Output& c, Stopwatch& watch) { launch<right>(p, c, watch); }

std::span<const WrongVariant> cuda_variants() {
    static const std::array table = {
        WrongVariant{"no_bounds_check", "the ragged block writes past the end", launch<no_bounds_check>},
        WrongVariant{"less_or_equal", "<= n for < n", launch<less_or_equal>},
        WrongVariant{"first_block_only", "threadIdx for the global index", launch<first_block_only>},
        WrongVariant{"wrong_stride", "blocks a wrong distance apart", launch<wrong_stride>},
        WrongVariant{"swapped", "a and b exchanged", launch<swapped>},
        WrongVariant{"tail_unwritten", "n mod 4 elements left out", launch<tail_unwritten>},
        WrongVariant{"writes_nothing", "an empty kernel", launch<writes_nothing>},
        WrongVariant{"accumulates", "+= for =", launch<accumulates>},
        WrongVariant{"last_element_lost", "n - 1 for n", launch<last_element_lost>},
        WrongVariant{"narrow_index", "an index that overflows its type", launch<narrow_index>},
        WrongVariant{"right_the_second_time", "needs an earlier run", launch<right_the_second_time>},
        WrongVariant{"clears_its_input", "right the first time only", launch<clears_its_input>},
        WrongVariant{"writes_past_its_input", "a stray write behind an input", launch<writes_past_its_input>},
        WrongVariant{"loses_the_sign", "|k| for k", launch<loses_the_sign>},
        WrongVariant{"before_the_start", "a stray write before the output", launch<before_the_start>},
        WrongVariant{"first_run_only", "does nothing from the second run on", launch<right, 1>},
        WrongVariant{"stream_forgotten", "the kernel runs beside the timed stream", launch<right, 1 << 30, false>},
        WrongVariant{"clamps", "NaN and infinities are lost", launch<clamps>},
        WrongVariant{"nan_not_written", "a NaN is not written", launch<nan_not_written>},
        WrongVariant{"skips_zero", "0 times NaN is lost", launch<skips_zero>},
        WrongVariant{"index_in_int", "the global index in an int", launch<index_in<int>>, "", Forgiven::never,
                     std::size_t{1} << 31},
        WrongVariant{"index_in_unsigned", "as unsigned", launch<index_in<unsigned>>, "", Forgiven::never,
                     std::size_t{1} << 32},
    };
    return table;
}

} // namespace saxpy::wrong
