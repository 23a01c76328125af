/// @file
/// What single runs and studies share: every variant of the sum on one size.
#pragma once

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
    report.sequential_ms(gpulab::sequential_ms(gpulab::run_of(sum_variants<T>(), "cpu_sequential"), problem, sum));
    gpulab::measure_all(options, report, jobs, problem, sum, sum_work<T>(n),
                        [&](const auto& job) { return compare(expected, sum, tolerance<T>(job.variant.backend, n)); });
}

} // namespace reduction
