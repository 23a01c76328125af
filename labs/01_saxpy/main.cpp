/// @file
/// Lab 01, SAXPY: c = k a + b with every variant on every device, checked against one loop on the CPU.
#include "distances.hpp"
#include "gpulab/gpus_first.hpp"
#include "gpulab/jobs.hpp"
#include "gpulab/parallel.hpp"
#include "needs.hpp"
#include "saxpy.hpp"
#include "studies.hpp"

int main(int argc, char** argv) try { // all of main is one try block: every failure ends in fail() below
    std::size_t n = std::size_t{1} << 24;
    std::string operation = "saxpy";
    gpulab::Options options("saxpy", "c = k a + b: the first parallel program");
    options.size("--n", n, 1, "elements in each array, or points");
    options.choice("--op", operation, {"saxpy", "distances"}, "what to compute");
    options.small("--n", n, 1 << 16);
    options.variants(saxpy::variants());
    options.variants(saxpy::distance_variants());
    options.studies(saxpy::study_list());
    if (!options.parse(argc, argv)) return gpulab::exit_success; // --help and --list are answered

    if (!options.study().empty()) return saxpy::run_study(options, n);
    if (operation == "distances") return saxpy::run_distances(options, n);

    const gpulab::Work work = saxpy::work(n); // 12 bytes and 2 operations for each element
    const saxpy::MemoryNeed need = saxpy::memory_need(n);
    gpulab::check_memory(options, need.device, need.host);
    const auto jobs = gpulab::gpus_first(gpulab::jobs(saxpy::variants(), options), options); // which variant runs where
    gpulab::Report report(options, {{"n", n}});

    // The reference: one loop on the CPU. The speed-ups refer to its time.
    const saxpy::Problem problem = saxpy::make_problem(n, options.seed());
    saxpy::Output reference = gpulab::zeros<float>(n), c = gpulab::zeros<float>(n);
    report.sequential(gpulab::sequential(saxpy::variants(), "cpu_sequential", problem, reference));

    for (const auto& job : jobs) { // each fills c with NaN, runs its variant and compares c with the reference
        report.doing(job.variant.name);
        report.add(gpulab::run(job, problem, c, options, [&] { return saxpy::compare(problem, reference, c); }), work);
    }
    return report.finish();
} catch (...) {
    return gpulab::fail("saxpy");
}
