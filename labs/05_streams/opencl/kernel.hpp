/// @file
/// The kernel of the OpenCL rungs, with its arguments.
#pragma once

#include <string>

#include "gpulab/opencl/timing.hpp"
#include "invert.cl.hpp"
#include "rounds.cl.hpp"
#include "streams.hpp"

namespace streams {

inline constexpr std::size_t group_items = 256;
inline constexpr std::size_t item_bytes = 16;

/// Work-items for a strip, rounded up to whole groups.
inline cl::NDRange strip_items(std::size_t bytes) {
    return cl::NDRange(gpulab::round_up(gpulab::ceil_div(bytes, item_bytes), group_items));
}

/// Names the sizes at which the work is cut: 16 bytes per work-item, the bytes of a group, and the number of strips.
inline void name_tiles(Stopwatch& watch, const Problem& p) {
    watch.tile(item_bytes, "bytes");
    watch.tile(item_bytes * group_items, "bytes");
    watch.tile(p.streams, "rows");
}

/// The kernel with its arguments set. @param first the strip's first byte in both buffers
inline cl::Kernel invert_kernel(const cl::Buffer& in, const cl::Buffer& out, std::size_t first, std::size_t bytes,
                                const Problem& p) {
    cl::Kernel kernel = gpulab::opencl_kernel(std::string(rounds_cl) + invert_cl, "invert");
    gpulab::set_args(kernel, in, out, cl_ulong{first}, cl_ulong{bytes}, cl_uint{colour_bytes(p.image.channels)},
                     cl_uint{p.work});
    return kernel;
}

} // namespace streams
