/// @file
/// What the way between host and device can carry: the bound that a pass is held against.
#pragma once

#include "gpulab/device.hpp"
#include "streams.hpp"

namespace streams {

/// Copy rates from and to page-locked memory, in GB/s, and the time of the kernel alone; all measured in this run.
struct Link {
    double up_alone = 0;   ///< host to device with nothing coming back
    double down_alone = 0; ///< device to host with nothing going up
    double up = 0;         ///< host to device while the other direction is busy all the time
    double down = 0;       ///< device to host while the other direction is busy all the time
    double together = 0; ///< the same amount both ways (CUDA: from a common start), by the time until both are through;
                         ///< more than the slower of `up` and `down`, because that one ends with the link to itself
    double pause_ms = 0; ///< what each strip of a copy costs beside its bytes, with both directions busy: the engine
                         ///< waits until the last byte has arrived, reports it, and only then begins the next
    double kernel_ms = 0; ///< the whole image, in device memory
};

/// The shortest pass that a pipeline can come near, in milliseconds: its slowest stage, with both directions in use,
/// max(bytes / up, bytes / down, kernel_ms). It leaves out what every real pass has: the fill (the first strip goes up
/// while nothing comes down) and the drain (the last comes down alone).
double bound_ms(const Link& link, std::size_t bytes);

/// A stricter mark: the time in which as many bytes go up as come down from a common start when no strip waits for
/// another, or kernel_ms if that is longer.
double together_ms(const Link& link, std::size_t bytes);

/// One stage after the other, nothing at once: bytes / up_alone + kernel_ms + bytes / down_alone, in milliseconds.
double sum_ms(const Link& link, std::size_t bytes);

/// What a pipeline of n equal strips can come near: the first strip goes through all three stages with nothing else
/// under way, and each of the others adds its time in the slowest stage,
/// sum_ms / n + (n - 1) max(bytes / n / up + pause, bytes / n / down + pause, kernel_ms / n).
/// It leaves out what handing over from stage to stage takes. @pre n > 0
double strips_ms(const Link& link, std::size_t bytes, std::size_t n);

/// The number of strips, 1 ... 64, for which strips_ms() is smallest.
std::size_t best_strips(const Link& link, std::size_t bytes);

/// Measures the link of an OpenCL or CUDA device (the rates once, then kept) and the kernel on this problem.
Link measure_link(const gpulab::Device& device, const Problem& p);

// The two back ends' parts of it, for the current device.
Link cuda_copy_rates(), opencl_copy_rates();
double cuda_kernel_ms(const Problem& p);
double opencl_kernel_ms(const Problem& p);

} // namespace streams
