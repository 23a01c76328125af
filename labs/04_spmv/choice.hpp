/// @file
/// What the user of the program asked for, and the matrix and the vector that this means.
#pragma once

#include <algorithm>
#include <string>
#include <utility>

#include "gpulab/error.hpp"
#include "gpulab/options.hpp"
#include "gpulab/sparse/generate.hpp"
#include "gpulab/sparse/matrix_market.hpp"
#include "spmv.hpp"

namespace spmv {

/// The user's options.
struct Choice {
    std::string matrix;   // a Matrix Market file
    std::string generate; // or a description
    std::string write;
    std::string x, y; // files of the vectors
    std::string type = "float";
    std::size_t rows = std::size_t{1} << 20; // of the studies

    const std::string& name() const { return matrix.empty() ? generate : matrix; }
};

/// Rejects conflicting options, and fills in the defaults.
inline void check_options(const gpulab::Options& options, Choice& choice) {
    if (!choice.matrix.empty() && !choice.generate.empty())
        throw gpulab::UsageError("--matrix and --generate: give only one of them");
    if (options.study().empty() && options.given("--rows")) throw gpulab::UsageError("--rows is for studies (--study)");
    if (choice.generate.empty()) choice.generate = "laplace2d:1000";
}

/// The size of the matrix, before it is read or made.
inline gpulab::MatrixSize size_of(const Choice& choice) {
    return choice.matrix.empty() ? gpulab::generated_size(choice.generate) : gpulab::matrix_market_size(choice.matrix);
}

/// Reads or makes matrix and vector. @param matrix_ms receives the time that the matrix took
template <class T> Problem<T> problem_of(const gpulab::Options& options, const Choice& choice, double& matrix_ms) {
    const double begin = gpulab::clock_ms();
    gpulab::Csr<T> matrix = choice.matrix.empty() ? gpulab::generate_matrix<T>(choice.generate, options.seed())
                                                  : gpulab::read_matrix_market<T>(choice.matrix);
    matrix_ms = gpulab::clock_ms() - begin;
    Problem<T> problem = make_problem(std::move(matrix), options.seed());
    if (choice.matrix.empty() && choice.generate == "lecture")
        std::ranges::fill(problem.x, T{1}); // all ones, as in its program
    if (!choice.x.empty()) problem.x = gpulab::read_vector<T>(choice.x, problem.matrix.columns);
    return problem;
}

} // namespace spmv
