// A program with a report whose figures are known, for what cannot be tested from inside: where its results and its
// table go. Its study is one of the real surroundings.
#include <cstdlib>
#include <fmt/format.h>

#include "backends.hpp"
#include "gpulab/error.hpp"
#include "gpulab/options.hpp"
#include "gpulab/report.hpp"

int main(int argc, char** argv) try {
    gpulab::Options options("report_program", "one right result");
    bool ends = false;
    options.flag("--ends", ends, "be ended by a variant of the CPU, after one of OpenCL");
    options.studies({{"one", "one right result, twice", {}}});
    if (!options.parse(argc, argv)) return gpulab::exit_success;

    gpulab::Result result;
    result.variant = "cpu_right";
    result.device = gpulab::devices(gpulab::Backend::cpu).front();
    result.device.name = "Test CPU";
    result.device.memory_bytes = 8000000000;
    result.has_device = true;
    result.status = gpulab::Result::Status::passed;
    result.kernel = {.median = 2, .min = 1, .max = 3, .repeats = 5};

    if (!options.study().empty()) {
        gpulab::Report report(options);
        for (const std::int64_t n : {10, 20}) {
            report.begin({{"n", n}});
            report.add(result, {.bytes = 4e6});
        }
        return report.finish();
    }
    gpulab::Surroundings surroundings;
    surroundings.ceilings = [](const gpulab::Device&, gpulab::Arithmetic) { return gpulab::Ceilings{.copy_gb_s = 10}; };
    gpulab::Report report(options, {{"n", std::int64_t{10}}}, surroundings);
    if (ends && gpulab::detail::aborted_opencl().empty()) {
        gpulab::detail::opencl_works("Test", "opencl_right");
        report.doing("cpu_right");
        std::abort();
    }
    fmt::print("words of the program's own\n");
    report.add(result, {.bytes = 4e6});
    return report.finish();
} catch (...) {
    return gpulab::fail("report_program");
}
