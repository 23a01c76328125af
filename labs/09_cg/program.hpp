/// @file
/// What the programs `cg` and `cg_mpi` share: the options that describe a system, and what becomes of its solution.
#pragma once

#include <string>
#include <vector>

#include "cg.hpp"
#include "files.hpp"
#include "gpulab/file.hpp"
#include "gpulab/options.hpp"

namespace cg {

/// What the user asked for, in both programs.
struct Choice {
    std::string matrix, generate, rhs, start; ///< what is solved
    std::string solution, history;            ///< files to write
    std::string type = "double", method = "cg", preconditioner = "none", criterion = "relative", balance = "nnz";
    Settings settings;

    const std::string& name() const { return matrix.empty() ? generate : matrix; }
};

/// Declares the options of both programs; --balance has a help text of its own in each. @param more about --matrix
void add_options(gpulab::Options& options, Choice& c, const std::string& more = "");

/// Rejects conflicting options, and fills in the defaults and the settings.
void settle(Choice& c);

/// Reads or makes the system, after its memory has been counted.
/// @param processes on this computer, each of which does this
/// @throws gpulab::UsageError for what is wrong with it
template <class T> Problem<T> problem_of(const gpulab::Options& options, const Choice& c, int processes = 1);

/// The files of --solution and --history. Each is tried, whatever happens to the other.
struct Files {
    Files(const std::string& program, const Choice& c);
    void write_histories(const std::vector<NamedHistory>& histories);
    /// @return whether there is such a file, it has not been tried before, and it could be written
    template <class T> bool write_solution(const std::vector<T>& x);

    std::string path; ///< of the solution
    gpulab::OutputFile solution, history;
    bool solution_written = false; ///< or tried
    Outputs write;
};

/// Writes the file of --solution, unless that has been done: where the iteration did not end well, with the best x that
/// it had. @return one line: how it ended
/// @throws gpulab::Error when a number became infinite or the matrix is not positive definite, and gpulab::WrongResult
///         when x is not as good as wanted; with the line, `who` before it and `more` behind it
template <class T>
std::string conclude(const Problem<T>& p, const Output<T>& out, Files& files, const std::string& who,
                     const std::string& more = "");

} // namespace cg
