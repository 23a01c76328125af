/// @file
/// The one check that right and wrong variants of this lab go through.
#pragma once

#include <fmt/format.h>
#include <string>
#include <vector>

#include "gpulab/error.hpp"
#include "gpulab_testing/testing.hpp"
#include "streams.hpp"

namespace streams::testing {

/// A shape of image and the settings to run it with.
struct Case {
    std::size_t width, height;
    int channels;
    std::size_t streams;
    unsigned work;
};

/// One pixel; fewer rows than streams; strips of a byte or three; heights that leave every kind of remainder; rows that
/// are no multiple of 16, 4 or 2 bytes; one stream and 64; every number of channels; without work, with some, and with
/// more rounds than a byte counts.
inline const std::vector<Case>& all_cases() {
    static const std::vector<Case> cases = {
        {1, 1, 4, 1, 0},      {1, 1, 1, 64, 0},   {1, 1, 3, 2, 5},      {3, 2, 4, 6, 0},      {5, 7, 3, 3, 1},
        {7, 5, 2, 4, 2},      {16, 9, 4, 2, 0},   {16, 10, 4, 3, 0},    {16, 11, 4, 4, 3},    {31, 33, 1, 5, 0},
        {33, 31, 3, 7, 0},    {33, 64, 2, 8, 1},  {63, 65, 4, 64, 0},   {64, 64, 4, 64, 0},   {64, 63, 3, 64, 2},
        {64, 13, 4, 6, 0},    {65, 127, 1, 9, 0}, {20, 128, 4, 16, 7},  {17, 129, 3, 32, 0},  {255, 37, 4, 6, 0},
        {256, 61, 3, 6, 0},   {257, 43, 2, 6, 1}, {961, 271, 4, 16, 1}, {3840, 217, 4, 6, 0}, {37, 9, 4, 3, 255},
        {33, 7, 3, 2, 256},   {64, 8, 2, 3, 300}, {1, 40, 1, 20, 0},    {1, 64, 3, 64, 0},    {3840, 300, 4, 2, 4},
        {3840, 300, 4, 1, 0}, {1, 1, 1, 1, 65537}}; // a strip of more than a MiB,
                                                    // and work beyond 16 bits
    return cases;
}

/// The smaller ones, for oclgrind and the sanitizers.
inline const std::vector<Case>& small_cases() {
    static const std::vector<Case> cases = {{1, 1, 4, 1, 0},  {1, 1, 3, 4, 5},   {5, 7, 3, 3, 1},   {7, 5, 2, 4, 2},
                                            {9, 11, 4, 4, 1}, {17, 13, 1, 6, 0}, {5, 2, 4, 2, 256}, {1, 40, 1, 20, 0}};
    return cases;
}

/// Runs a variant on every case on the current device.
/// @return the first fault and its case; "" when all answers are right
inline std::string first_fault(Run* run, const std::vector<Case>& cases) {
    for (const Case& c : cases) {
        const Problem p{random_image(c.width, c.height, c.channels, gpulab::testing::seed + c.width + c.height), c.work,
                        c.streams};
        Output reference{std::vector<unsigned char>(p.bytes()), {}}, out = reference;
        Stopwatch once;
        cpu_sequential(p, reference, once);
        const std::string fault = gpulab::testing::fault_of(run, p, out, [&] { return compare(reference, out); });
        if (!fault.empty())
            return fmt::format("{} x {} pixels of {} channels, {} streams, work {}: {}", c.width, c.height, c.channels,
                               c.streams, c.work, fault);
    }
    return "";
}

} // namespace streams::testing
