#include <algorithm>
#include <array>
#include <limits>

#include "gpulab/math.hpp"
#include "gpulab/opencl/buffer.hpp"
#include "gpulab/opencl/timing.hpp"
#include "gpulab/poisoning.hpp"
#include "wrong_saxpy.cl.hpp"
#include "wrong_saxpy.hpp"

namespace saxpy::wrong {

namespace {

/// @param runs how many runs of a measurement do anything
void launch(const char* name, const Problem& p, Output& c, Stopwatch& watch,
            int runs = std::numeric_limits<int>::max()) {
    const gpulab::ClBuffer<float> a(p.a), b(p.b);
    gpulab::ClBuffer<float> out(p.size());
    cl::Kernel kernel = gpulab::opencl_kernel(wrong_saxpy_cl, name);
    const cl_ulong n = p.size();
    gpulab::set_args(kernel, p.k, a.data(), b.data(), out.data(), n);
    constexpr std::size_t local = 256;
    const std::size_t global = gpulab::round_up(std::max<std::size_t>(n, 1), local);
    const auto run = [&](const cl::CommandQueue& queue, gpulab::ClEvents& events) {
        if (runs-- > 0)
            queue.enqueueNDRangeKernel(kernel, cl::NullRange, cl::NDRange(global), cl::NDRange(local), nullptr,
                                       events.add());
        else queue.enqueueMarkerWithWaitList(nullptr, events.add());
    };
    gpulab::watch_queue(watch, run, gpulab::poisoning(out));
    out.copy_to(c);
}

/// The same for distances.
void launch_distance(const char* name, const DistanceProblem& p, Distances& d, Stopwatch& watch) {
    const gpulab::ClBuffer<Point> points(p.points);
    gpulab::ClBuffer<float> out(p.size());
    cl::Kernel kernel = gpulab::opencl_kernel(wrong_saxpy_cl, name);
    const cl_ulong n = p.size();
    gpulab::set_args(kernel, p.from.x, p.from.y, p.from.z, points.data(), out.data(), n);
    constexpr std::size_t local = 256;
    const std::size_t global = gpulab::round_up(std::max<std::size_t>(n, 1), local);
    const auto run = [&](const cl::CommandQueue& queue, gpulab::ClEvents& events) {
        queue.enqueueNDRangeKernel(kernel, cl::NullRange, cl::NDRange(global), cl::NDRange(local), nullptr,
                                   events.add());
    };
    gpulab::watch_queue(watch, run, gpulab::poisoning(out));
    out.copy_to(d);
}

#define WRONG_DISTANCE(kernel) \
    [](const DistanceProblem& p, Distances& d, Stopwatch& w) { launch_distance(kernel, p, d, w); }
#define WRONG(kernel) [](const Problem& p, Output& c, Stopwatch& w) { launch(kernel, p, c, w); }

/// Launches its kernel in the first run only; the poison before the next ones shows it.
void first_run_only(const Problem& p, Output& c, Stopwatch& watch) { launch("right", p, c, watch, 1); }

} // namespace

void opencl_right(const Problem& p, Output& c, Stopwatch& watch) { launch("right", p, c, watch); }

std::span<const WrongVariant> opencl_variants() {
    static const std::array table = {
        WrongVariant{"no_bounds_check", "the ragged group writes past the end", WRONG("no_bounds_check")},
        WrongVariant{"less_or_equal", "<= n for < n", WRONG("less_or_equal")},
        WrongVariant{"first_group_only", "local index for global index", WRONG("first_group_only")},
        WrongVariant{"wrong_stride", "groups a wrong distance apart", WRONG("wrong_stride")},
        WrongVariant{"swapped", "a and b exchanged", WRONG("swapped")},
        WrongVariant{"tail_unwritten", "n mod 4 elements left out", WRONG("tail_unwritten")},
        WrongVariant{"writes_nothing", "an empty kernel", WRONG("writes_nothing")},
        WrongVariant{"accumulates", "+= for =", WRONG("accumulates")},
        WrongVariant{"last_element_lost", "n - 1 for n", WRONG("last_element_lost")},
        WrongVariant{"two_bits_short", "loses the last two bits", WRONG("two_bits_short")},
        WrongVariant{"right_the_second_time", "needs an earlier run", WRONG("right_the_second_time")},
        WrongVariant{"clears_its_input", "right the first time only", WRONG("clears_its_input")},
        WrongVariant{"writes_past_its_input", "a stray write behind an input", WRONG("writes_past_its_input")},
        WrongVariant{"loses_the_sign", "|k| for k", WRONG("loses_the_sign")},
        WrongVariant{"tail_of_two_lost", "two elements left out when n mod 4 = 2", WRONG("tail_of_two_lost")},
        WrongVariant{"before_the_start", "a stray write before the output", WRONG("before_the_start")},
        WrongVariant{"first_run_only", "does nothing from the second run on", first_run_only},
        WrongVariant{"clamps", "NaN and infinities are lost", WRONG("clamps")},
        WrongVariant{"nan_not_written", "a NaN is not written", WRONG("nan_not_written")},
        WrongVariant{"skips_zero", "0 times NaN is lost", WRONG("skips_zero")},
        WrongVariant{"index_in_int", "the global index in an int", WRONG("index_in_int"), "", Forgiven::never,
                     std::size_t{1} << 31},
        WrongVariant{"index_in_uint", "as uint", WRONG("index_in_uint"), "", Forgiven::never, std::size_t{1} << 32},
    };
    return table;
}

void opencl_right_distance(const DistanceProblem& p, Distances& d, Stopwatch& watch) {
    launch_distance("right_distance", p, d, watch);
}

std::span<const WrongDistance> opencl_distances() {
    static const std::array table = {
        WrongDistance{"without_z", "in the plane", WRONG_DISTANCE("distance_without_z")},
        WrongDistance{"without_root", "squared", WRONG_DISTANCE("distance_without_root")},
        WrongDistance{"no_bounds_check", "writes past the end", WRONG_DISTANCE("distance_no_bounds_check")},
        WrongDistance{"of_aligned_points", "16 bytes per packed point", WRONG_DISTANCE("distance_of_aligned_points")},
        WrongDistance{"nan_is_zero", "NaN is lost", WRONG_DISTANCE("distance_nan_is_zero"), "from "},
    };
    return table;
}

} // namespace saxpy::wrong
