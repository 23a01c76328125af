/// @file
/// What the three OpenCL rungs have in common on the host: everything but the kernel, its tile and its group.
#pragma once

#include <fmt/format.h>
#include <string>
#include <type_traits>

#include "gpulab/opencl/timing.hpp"
#include "matmul.hpp"

namespace matmul {

/// How to build and launch a kernel `multiply`.
struct ClLaunch {
    std::string options;       ///< the rung's own build options
    std::size_t tile_rows = 1; ///< elements of C that one work-group computes
    std::size_t tile_columns = 1;
    std::size_t tile_depth = 1;    ///< columns of A and rows of B between two barriers; 1 when there are none
    std::size_t local_rows = 1;    ///< work-items of a group: dimension 1
    std::size_t local_columns = 1; ///< dimension 0
};

/// Copies in, runs the kernel `multiply` of this source, copies out.
/// @throws gpulab::Unsupported for double on a device that has none, or for a group larger than the device takes
template <class T>
void opencl_multiply(const char* source, const ClLaunch& launch, const Problem<T>& p, Output<T>& c, Stopwatch& watch) {
    constexpr bool fp64 = std::is_same_v<T, double>;
    if (fp64 && !gpulab::opencl().description().fp64)
        throw gpulab::Unsupported(gpulab::opencl().description().name + " has no double precision");
    cl::Kernel kernel = gpulab::opencl_kernel(source, "multiply",
                                              launch.options + " " + gpulab::real_option<T>() +
                                                  (fp64 ? " -DREAL8=double8" : " -DREAL8=float8"));
    if (launch.local_rows * launch.local_columns > gpulab::opencl().max_work_group(kernel))
        throw gpulab::Unsupported(fmt::format("a group of {} x {} work-items is more than {} takes", launch.local_rows,
                                              launch.local_columns, gpulab::opencl().description().name));

    const gpulab::ClBuffer<T> a(p.a), b(p.b);
    gpulab::ClBuffer<T> out(p.size());
    const auto number = [](std::size_t x) { return static_cast<cl_int>(x); };
    gpulab::set_args(kernel, a.data(), b.data(), out.data(), number(p.m), number(p.k), number(p.n));
    const cl::NDRange local(launch.local_columns, launch.local_rows);
    const cl::NDRange global(gpulab::ceil_div(p.n, launch.tile_columns) * launch.local_columns,
                             gpulab::ceil_div(p.m, launch.tile_rows) * launch.local_rows);
    watch.tile(launch.tile_rows, "m").tile(launch.tile_depth, "k").tile(launch.tile_columns, "n");
    watch.tile(launch.tile_rows / launch.local_rows, "m"); // those of one work-item
    watch.tile(launch.tile_columns / launch.local_columns, "n");
    gpulab::watch_queue(
        watch,
        [&](const cl::CommandQueue& queue, gpulab::ClEvents& events) {
            if (p.size() == 0) return; // an empty range is an error
            gpulab::enqueue(queue, kernel, global, local, events.add());
        },
        gpulab::poisoning(out));
    out.copy_to(c);
}

} // namespace matmul
