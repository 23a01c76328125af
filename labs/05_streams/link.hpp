/// @file
/// The rates of the link between host and device, and the bound on a pass that follows from them.
#pragma once

#include "gpulab/device.hpp"
#include "streams.hpp"

namespace streams {

/// Copy rates from and to page-locked memory, in GB/s, and what else a pass consists of; all measured in this run.
struct Link {
    double up_alone = 0;   ///< host to device while the other direction is idle
    double down_alone = 0; ///< device to host while the other direction is idle
    double up = 0;         ///< host to device while the other direction is busy all the time
    double down = 0;       ///< device to host while the other direction is busy all the time
    double together = 0;   ///< the same number of bytes each way from a common start, until both directions are done;
                           ///< more than the slower of `up` and `down`, whose last bytes have the link to themselves
    double pause_ms = 0;   ///< the fixed cost of one more strip while both directions are busy, beside its bytes. We
                           ///< infer that an engine reports the end of a copy before it begins the next one
    double kernel_ms = 0;  ///< the whole image, in device memory
    double pin_ms = 0;     ///< allocating and freeing page-locked memory for the image and for the result
};

/// The shortest time that a pipeline can approach, in milliseconds: its slowest stage, with both directions in use,
/// max(bytes / up, bytes / down, kernel_ms). It leaves out the fill (the first strip goes up while nothing comes
/// down) and the drain (the last strip comes down alone), which every real pass has.
double bound_ms(const Link& link, std::size_t bytes);

/// The time in which the image goes up and as many bytes come down from a common start, without strips and without
/// waiting for each other, in milliseconds.
double together_ms(const Link& link, std::size_t bytes);

/// One stage after the other, without overlap: bytes / up_alone + kernel_ms + bytes / down_alone, in milliseconds.
double sum_ms(const Link& link, std::size_t bytes);

/// A model of a pipeline of n equal strips: the first strip passes through all three stages alone, and each further
/// strip adds its time in the slowest stage, sum_ms / n + (n - 1) max(bytes / n / up + pause, bytes / n / down + pause,
/// kernel_ms / n). It leaves out the time between the stages. @pre n > 0
double strips_ms(const Link& link, std::size_t bytes, std::size_t n);

/// The most strips that --streams takes.
inline constexpr std::size_t max_strips = 64;

/// The number of strips, 1 ... max_strips, for which strips_ms() is smallest. It is smaller than max_strips when
/// copies are the slowest stage and pauses are not negligible.
std::size_t best_strips(const Link& link, std::size_t bytes);

/// Measures the link of an OpenCL or CUDA device (the rates once, then kept), and the kernel and page-locked memory for
/// this problem.
Link measure_link(const gpulab::Device& device, const Problem& p);

// The parts of it that belong to a back end, for the current device.
Link cuda_copy_rates(), opencl_copy_rates();
double cuda_kernel_ms(const Problem& p);
double opencl_kernel_ms(const Problem& p);
double cuda_pin_ms(std::size_t bytes);
double opencl_pin_ms(std::size_t bytes);

} // namespace streams
