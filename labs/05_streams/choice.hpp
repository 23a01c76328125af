/// @file
/// What the user of the program asked for, and the image that this means.
#pragma once

#include <cstdlib>
#include <fmt/format.h>
#include <string>

#include "gpulab/file.hpp"
#include "gpulab/image/image.hpp"
#include "gpulab/jobs.hpp"
#include "streams.hpp"
#include "studies.hpp"

namespace streams {

/// What the user asked for.
struct Choice {
    std::size_t width = 3840, height = 2160, channels = 4, work = 0, streams = 12;
    std::string input, output, trace; // files
    bool lanes = false;
};

/// A CUDA process has 8 connections to a device unless it asks for more before it first uses the device, and streams
/// that share a connection can wait for each other. This program has up to 64 streams, so it asks for all 32
/// connections, unless the user has set the variable.
inline void ask_for_connections() {
#if defined(_WIN32)
    if (std::getenv("CUDA_DEVICE_MAX_CONNECTIONS") == nullptr) _putenv_s("CUDA_DEVICE_MAX_CONNECTIONS", "32");
#else
    setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0);
#endif
}

/// Reads or makes the image, after its memory has been counted.
inline Problem problem_of(const gpulab::Options& options, const Choice& choice) {
    const auto check_memory = [&](double bytes) {
        const MemoryNeed need = memory_need(bytes);
        gpulab::check_memory(options, need.device, need.host);
    };
    Problem problem;
    problem.work = static_cast<unsigned>(choice.work);
    problem.streams = choice.streams;
    if (choice.input.empty()) {
        check_memory(static_cast<double>(choice.width) * static_cast<double>(choice.height) *
                     static_cast<double>(choice.channels));
        problem.image = random_image(choice.width, choice.height, static_cast<int>(choice.channels), options.seed());
        return problem;
    }
    for (const char* size : {"--width", "--height", "--channels"})
        if (options.given(size))
            throw gpulab::UsageError(std::string(size) + ": --input brings an image that has its own size");
    problem.image = gpulab::read_png(choice.input);
    check_memory(static_cast<double>(problem.bytes()));
    return problem;
}

/// The file of --output, or none. @throws UsageError when it cannot be written, or an image of this size cannot
inline gpulab::OutputFile png_for(const Problem& problem, const std::string& path) {
    if (!path.empty() && problem.bytes() > gpulab::max_png_bytes)
        throw gpulab::UsageError(fmt::format(
            "--output: {} bytes of pixels are more than this program writes to a PNG file", problem.bytes()));
    return gpulab::output_file(path);
}

} // namespace streams
