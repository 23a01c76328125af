/// @file
/// Lab 05, streams: copies an image to the device, inverts it and copies it back, with every variant on every device.
#include <algorithm>
#include <cstdlib>
#include <fmt/format.h>

#include "gpulab/error.hpp"
#include "gpulab/file.hpp"
#include "gpulab/image/image.hpp"
#include "gpulab/jobs.hpp"
#include "gpulab/options.hpp"
#include "gpulab/report.hpp"
#include "runs.hpp"
#include "streams.hpp"
#include "studies.hpp"

namespace {

/// A CUDA process has 8 connections to a device unless it asks for more before it first uses the device, and streams
/// that share a connection can wait for each other. This program has up to 64 streams, so it asks for all 32
/// connections, unless the user has set the variable.
void ask_for_connections() {
#if defined(_WIN32)
    if (std::getenv("CUDA_DEVICE_MAX_CONNECTIONS") == nullptr) _putenv_s("CUDA_DEVICE_MAX_CONNECTIONS", "32");
#else
    setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0);
#endif
}

} // namespace

int main(int argc, char** argv) try {
    ask_for_connections();
    std::size_t width = 3840, height = 2160, channels = 4, work = 0, count = 12;
    std::string input, output, trace;
    bool lanes = false;
    gpulab::Options options("streams", "an image in strips: copies and kernels that overlap");
    options.input("--input", input, "PNG file to read instead of a generated image");
    options.output("--output", output, "PNG file to write the result to");
    options.size("--width", width, 1, "pixels of a row of the generated image", 1u << 24);
    options.size("--height", height, 1, "rows of the generated image", 1u << 24);
    options.size("--channels", channels, 1, "channels of the generated image: 1 grey, 2 grey with alpha, 3 RGB, 4 RGBA",
                 4);
    options.size("--work", work, 0, "rounds of work on each byte before it is inverted", 1000000);
    options.size("--streams", count, 1, "strips, and streams or queues where each strip has its own",
                 streams::max_strips);
    options.output("--trace", trace, "write the timelines to this file (Chrome trace format), and draw them");
    options.flag("--lanes", lanes, "draw the timelines");
    options.small("--width", width, 256);
    options.small("--height", height, 128);
    options.variants(streams::variants());
    options.studies(streams::study_list());
    if (!options.parse(argc, argv)) return gpulab::exit_success; // --help and --list are answered

    for (const char* size : {"--width", "--height", "--channels"})
        if (!input.empty() && options.given(size))
            throw gpulab::UsageError(std::string(size) + ": --input brings an image that has its own size");

    streams::Problem problem;
    problem.work = static_cast<unsigned>(work);
    problem.streams = count;
    const auto check_memory = [&](double bytes) {
        const streams::MemoryNeed need = streams::memory_need(bytes);
        gpulab::check_memory(options, need.device, need.host);
    };
    if (input.empty()) {
        check_memory(static_cast<double>(width) * static_cast<double>(height) * static_cast<double>(channels));
        problem.image = streams::random_image(width, height, static_cast<int>(channels), options.seed());
    } else {
        problem.image = gpulab::read_png(input);
        check_memory(static_cast<double>(problem.bytes()));
    }
    if (!options.study().empty()) return streams::run_study(options, problem);

    gpulab::OutputFile png, chrome; // opened now, so that an unwritable file is refused before anything is measured
    if (!output.empty()) {
        if (problem.bytes() > gpulab::max_png_bytes)
            throw gpulab::UsageError(fmt::format(
                "--output: {} bytes of pixels are more than this program writes to a PNG file", problem.bytes()));
        png = gpulab::OutputFile(output);
    }
    if (!trace.empty()) chrome = gpulab::OutputFile(trace);
    gpulab::Parameters parameters = streams::parameters(problem);
    parameters.push_back({"image", input.empty() ? "generated" : input});
    const auto jobs = gpulab::jobs(streams::variants(), options); // which variant runs where
    gpulab::Report report(options, parameters);
    const streams::Output reference = streams::reference_output(problem);
    streams::Output out = reference;
    report.sequential(streams::sequential(problem, out));
    streams::LinkNotes notes(report, problem, out, jobs);
    notes.say_links();

    std::vector<gpulab::Result> results;
    for (const auto& job : jobs) { // each poisons `out`, runs its variant and judges what that leaves there
        report.doing(job.variant.name);
        gpulab::Result r = gpulab::run(job, problem, out, options, [&] { return streams::compare(reference, out); });
        notes.add(job, r);
        results.push_back(report.add(std::move(r), streams::work_of(problem)));
    }

    const streams::Traces& traces = notes.traces();
    const std::string speed_up = streams::asynchronous_speed_up(results);
    if (!speed_up.empty()) fmt::print("\nAsynchronous over synchronous:\n{}", speed_up);
    streams::print_samples(problem, traces);
    const std::size_t lane_width = gpulab::terminal_of_stdout().columns - 10; // the rest is for the number of the lane
    if (lanes || !trace.empty())
        for (const auto& [title, timeline] : traces.timelines)
            fmt::print("\n{}: overlap {:.1f} %\n{}", title, streams::overlap_percent(timeline),
                       timeline.lanes(lane_width));
    if (!trace.empty()) chrome.write(gpulab::chrome_trace(traces.timelines));
    if (!output.empty() && !traces.last_right_name.empty()) {
        gpulab::Image result = problem.image;
        result.pixels = traces.last_right.pixels;
        gpulab::write_png(png, result);
        fmt::print("\n{}: the result of {}\n", output, traces.last_right_name);
    }
    return report.finish();
} catch (...) {
    return gpulab::fail("streams");
}
