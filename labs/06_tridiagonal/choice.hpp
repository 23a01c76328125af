/// @file
/// What the user of the program asked for, and the systems that this means.
#pragma once

#include <string>

#include "files.hpp"
#include "gpulab/jobs.hpp"
#include "studies.hpp"
#include "tridiagonal.hpp"

namespace tridiagonal {

/// What the user asked for.
struct Choice {
    std::size_t n = 1024, systems = 1024;
    std::string matrix = "dominant";
    std::string type = "double";
    std::string layout = "separate";
    std::string input, output; // files
};

/// Rejects conflicting options. One system is the default for a file.
inline void check_options(const gpulab::Options& options, Choice& choice) {
    if (options.given("--output") && choice.output.empty()) throw gpulab::UsageError("--output: a file must be named");
    if (!options.given("--input")) return;
    for (const char* const other : {"--n", "--matrix"})
        if (options.given(other)) throw gpulab::UsageError(std::string("--input and ") + other + ": the file says it");
    if (options.given("--seed")) throw gpulab::UsageError("--input and --seed: nothing is random");
    if (!options.given("--systems")) choice.systems = 1;
}

/// Counts the memory that the systems need, before anything is allocated. @return what the file announces, if any
template <class T> Announced check_memory(const gpulab::Options& options, const Choice& choice) {
    const bool from_file = options.given("--input");
    const Announced file = from_file ? announced(choice.input) : Announced{};
    const std::size_t equations = from_file ? file.rows * file.right_hand_sides : choice.n * choice.systems;
    const MemoryNeed need = memory_need<T>(equations, choice.systems * file.right_hand_sides);
    gpulab::check_memory(options, need.device, need.host, choice.input);
    return file;
}

/// Reads or makes the systems.
template <class T> Problem<T> problem_of(const gpulab::Options& options, const Choice& choice) {
    Problem<T> problem = options.given("--input")
                             ? read_problem<T>(choice.input, choice.systems)
                             : make_problem<T>(choice.matrix, choice.n, choice.systems, options.seed());
    problem.layout = choice.layout == "interleaved" ? Layout::interleaved : Layout::separate;
    return problem;
}

} // namespace tridiagonal
