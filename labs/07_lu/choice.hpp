/// @file
/// What the user of the program asked for, and the matrix that this means.
#pragma once

#include <cstddef>
#include <fmt/format.h>
#include <string>

#include "batch.hpp"
#include "files.hpp"
#include "gpulab/error.hpp"
#include "gpulab/options.hpp"
#include "gpulab/sparse/matrix_market.hpp"
#include "lu.hpp"
#include "system.hpp"

namespace lu {

/// What the user asked for.
struct Choice {
    std::string op = "factorise";
    std::size_t n = 512;
    std::size_t count = 16;
    std::size_t matrices = 10000;
    SystemFiles files;
};

/// Rejects conflicting options, and gives a batch its own default for n.
inline void check_options(const gpulab::Options& options, Choice& choice) {
    if (choice.op == "batch") {
        if (!options.given("--n")) choice.n = 32;
        if (!choice.files.matrix.empty()) throw gpulab::UsageError("--matrix: the matrices of --op batch are random");
        if (choice.n > max_batch_rows)
            throw gpulab::UsageError(
                fmt::format("--n: the matrices of --op batch have at most {} rows, not {}", max_batch_rows, choice.n));
    } else if (options.given("--matrices")) {
        throw gpulab::UsageError("--matrices is for --op batch");
    }
    const bool system = !choice.files.rhs.empty();
    if (system && choice.files.matrix.empty()) throw gpulab::UsageError("--rhs: the system needs a matrix, --matrix");
    if (!choice.files.solution.empty() && !system)
        throw gpulab::UsageError("--solution: the system needs right-hand sides, --rhs");
    if (options.given("--n") && !choice.files.matrix.empty())
        throw gpulab::UsageError("--n: the file of --matrix has its own size");
    if (options.given("--rhs-count") && choice.op != "solve")
        throw gpulab::UsageError("--rhs-count is for --op solve; a file of --rhs has its own number");
    if (!choice.files.matrix.empty() && options.given("--seed") && choice.op != "solve")
        throw gpulab::UsageError("--seed: with the file of --matrix nothing is random");
    for (const char* const option : {"--op", "--csv", "--repeat", "--warmup", "--flush-l2"})
        if (system && options.given(option))
            throw gpulab::UsageError(fmt::format("--rhs: a system is solved once; {} is for measurements", option));
}

/// The rows that the file announces, or that the random matrix will have.
inline double rows_of(const Choice& choice) {
    if (choice.files.matrix.empty()) return static_cast<double>(choice.n);
    const gpulab::MatrixSize size = gpulab::matrix_market_size(choice.files.matrix);
    check_square(choice.files.matrix, size.rows, size.columns);
    return static_cast<double>(size.rows);
}

/// The matrix of the file, or a random one.
inline Problem problem_of(const gpulab::Options& options, const Choice& choice) {
    if (choice.files.matrix.empty()) return make_problem(choice.n, options.seed());
    Problem problem = read_problem(choice.files.matrix);
    scale(problem.a); // nothing is printed that depends on the size of its numbers
    return problem;
}

} // namespace lu
