/// @file
/// The loop over the variants of one operation, for single runs and studies.
#pragma once

#include <functional>
#include <type_traits>
#include <vector>

#include "gpulab/jobs.hpp"
#include "gpulab/report.hpp"
#include "reduction.hpp"

namespace reduction {

/// The name of an element type as --type has it.
template <class T> constexpr const char* name_of_type() {
    if constexpr (std::is_same_v<T, float>) return "float";
    else if constexpr (std::is_same_v<T, double>) return "double";
    else return "int";
}

/// A size as a report shows it.
inline std::int64_t whole(std::size_t n) { return static_cast<std::int64_t>(n); }

/// How long a CPU variant takes, for the speed-ups: the median of three runs, in milliseconds.
template <class Run, class Problem, class Output> double sequential_ms(Run* run, const Problem& problem, Output& out) {
    Stopwatch watch(1, 3);
    run(problem, out, watch);
    return watch.kernel().median;
}

/// Runs every job and reports it.
/// @param out the output, poisoned before each run
/// @param judge `judge(backend, out)`: compares the output with the tolerance for that back end
/// @param note `note(result, out)`: adds columns to the result of a variant that ran
template <class Run, class Problem, class Output, class Judge>
void measure_all(const gpulab::Options& options, gpulab::Report& report, const std::vector<gpulab::Job<Run>>& jobs,
                 const Problem& problem, Output& out, const gpulab::Work& work, const Judge& judge,
                 const std::function<void(gpulab::Result&, const std::type_identity_t<Output>&)>& note = {}) {
    for (const auto& job : jobs) {
        gpulab::Result result =
            gpulab::run(job, problem, out, options, [&] { return judge(job.variant.backend, out); });
        if (note && result.kernel.repeats > 0) note(result, out);
        report.add(std::move(result), work);
    }
}

/// The bytes that must be read and the additions that must be done for a sum of n elements.
template <class T> gpulab::Work sum_work(std::size_t n) {
    const auto size = static_cast<double>(n);
    return {.bytes = sizeof(T) * size, .flops = size};
}

/// Every variant of the sum that the user chose, for n random numbers, as the next entries of a report.
template <class T>
void measure_sums(const gpulab::Options& options, gpulab::Report& report,
                  const std::vector<gpulab::Job<SumRun<T>>>& jobs, std::size_t n) {
    const SumProblem<T> problem = make_sum_problem<T>(n, options.seed());
    const Expected<T> expected = expected_sum(problem);
    Scalar<T> sum(1);
    report.sequential_ms(sequential_ms(cpu_sequential<T>, problem, sum));
    measure_all(options, report, jobs, problem, sum, sum_work<T>(n),
                [&](gpulab::Backend backend, const Scalar<T>& out) {
                    return compare(expected, out, tolerance<T>(backend, n));
                });
}

} // namespace reduction
