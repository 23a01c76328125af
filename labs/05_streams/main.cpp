/// @file
/// Lab 05, streams: copies an image to the device, inverts it and copies it back, with every variant on every device.
#include <fmt/format.h>

#include "choice.hpp"
#include "gpulab/file.hpp"
#include "gpulab/gpus_first.hpp"
#include "gpulab/image/image.hpp"
#include "gpulab/jobs.hpp"
#include "runs.hpp"
#include "streams.hpp"
#include "studies.hpp"

int main(int argc, char** argv) try {
    streams::ask_for_connections();
    streams::Choice choice;
    gpulab::Options options("streams", "an image in strips: copies and kernels that overlap");
    options.input("--input", choice.input, "PNG file to read instead of a generated image");
    options.output("--output", choice.output, "PNG file to write the result to");
    options.size("--width", choice.width, 1, "pixels of a row of the generated image", 1u << 24);
    options.size("--height", choice.height, 1, "rows of the generated image", 1u << 24);
    options.size("--channels", choice.channels, 1,
                 "channels of the generated image: 1 grey, 2 grey with alpha, 3 RGB, 4 RGBA", 4);
    options.size("--work", choice.work, 0, "rounds of work on each byte before it is inverted", 1000000);
    options.size("--streams", choice.streams, 1, "strips, and streams or queues where each strip has its own",
                 streams::max_strips);
    options.output("--trace", choice.trace, "write the timelines to this file (Chrome trace format), and draw them");
    options.flag("--lanes", choice.lanes, "draw the timelines");
    options.small("--width", choice.width, 256);
    options.small("--height", choice.height, 128);
    options.variants(streams::variants());
    options.studies(streams::study_list());
    if (!options.parse(argc, argv)) return gpulab::exit_success; // --help and --list are answered

    const streams::Problem problem = streams::problem_of(options, choice);
    if (!options.study().empty()) return streams::run_study(options, problem);

    // Opened now, so that an unwritable file is refused before anything is measured.
    gpulab::OutputFile png = streams::png_for(problem, choice.output), chrome = gpulab::output_file(choice.trace);
    gpulab::Parameters parameters = streams::parameters(problem);
    parameters.push_back({"image", choice.input.empty() ? "generated" : choice.input});
    const auto jobs =
        gpulab::gpus_first(gpulab::jobs(streams::variants(), options), options); // which variant runs where
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
    if (choice.lanes || chrome)
        for (const auto& [title, timeline] : traces.timelines)
            fmt::print("\n{}: overlap {:.1f} %\n{}", title, streams::overlap_percent(timeline),
                       timeline.lanes(lane_width));
    if (chrome) chrome.write(gpulab::chrome_trace(traces.timelines));
    if (png && !traces.last_right_name.empty()) {
        gpulab::Image result = problem.image;
        result.pixels = traces.last_right.pixels;
        gpulab::write_png(png, result);
        fmt::print("\n{}: the result of {}\n", choice.output, traces.last_right_name);
    }
    return report.finish();
} catch (...) {
    return gpulab::fail("streams");
}
