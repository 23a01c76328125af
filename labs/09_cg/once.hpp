/// @file
/// The user's own system, solved once.
#pragma once

#include <algorithm>
#include <fmt/format.h>
#include <string>
#include <vector>

#include "gpulab/jobs.hpp"
#include "judge.hpp"
#include "program.hpp"

namespace cg {

/// Whether that is what the user wants: a right-hand side of their own, and no option that is about measuring.
inline bool is_solved_once(const gpulab::Options& options, const Choice& c) {
    const auto measuring = {"--variant", "--repeat", "--warmup", "--flush-l2", "--json", "--csv", "--trace", "--parts"};
    return !c.rhs.empty() && std::ranges::none_of(measuring, [&](const char* option) { return options.given(option); });
}

/// Solves the system with the best variant that the chosen devices can run, once.
template <class T>
int solve_once(const std::vector<gpulab::Job<Run<T>>>& jobs, const Choice& c, const Problem<T>& problem, Files& files) {
    for (const char* const name : {"cuda_persistent", "cuda_graph", "opencl_five_kernels", "cpu_threads"}) {
        const auto job = std::ranges::find_if(jobs, [&](const auto& j) {
            // cpu_threads is faster.
            const bool slow = j.variant.backend == gpulab::Backend::opencl && j.device().is_cpu;
            return j.variant.name == name && j.skip.empty() && !slow;
        });
        if (job == jobs.end()) continue;
        gpulab::use(job->devices);
        Output<T> out;
        Stopwatch once(0, 1);
        try {
            job->variant.run(problem, out, once);
        } catch (const gpulab::Unsupported&) {
            continue;
        }
        const std::string solver = fmt::format("{} on {}", name, job->device().id());
        fmt::print("{}: {} x {}, {} non-zeros\nsolved by {} in {:.4g} ms\n", c.name(), problem.n(), problem.n(),
                   problem.matrix.nonzeros(), solver, once.kernel().median);
        files.write_histories({{solver, out.history}});
        const gpulab::Comparison right = compare(problem, Reference{}, out);
        if (!right.passed && out.end != End::not_finite) throw gpulab::WrongResult(solver + ": " + right.message);
        fmt::print("{}\n", report_solution(problem, out, files, solver));
        return files.all_written() ? gpulab::exit_success : gpulab::exit_failure;
    }
    throw gpulab::UsageError("the chosen devices have no variant that solves this system; --variant names one");
}

} // namespace cg
