/// @file
/// What the programs `cg` and `cg_mpi` share: the options that describe a system, files, and what becomes of a
/// solution.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "cg.hpp"
#include "gpulab/file.hpp"
#include "gpulab/options.hpp"

namespace cg {

/// What the user asked for, in both programs. `cg` alone takes `trace`, `write` and `rows`.
struct Choice {
    std::string matrix{}, generate{}, rhs{}, start{};          ///< what is solved
    std::string solution{}, history{}, trace = {}, write = {}; ///< files to write
    std::size_t rows = 0;                                      ///< of the studies; 0: theirs
    std::string type = "double", method = "cg", preconditioner = "none", criterion = "relative", balance = "nnz";
    Settings settings;

    const std::string& name() const { return matrix.empty() ? generate : matrix; }
};

/// Declares the options of both programs. @param where more about --matrix @param balance the help of --balance
/// @param balances the words that --balance takes: the first of balance_names
void add_options(gpulab::Options& options, Choice& c, const std::string& where, const std::string& balance,
                 const std::vector<std::string>& balances);

/// Rejects conflicting options, and fills in the defaults and the settings.
void set_defaults(Choice& c);

/// Bytes that a run takes at its peak.
struct MemoryNeed {
    double device = 0; ///< the matrix, perhaps padded by a quarter, and seven vectors
    double host = 0;   ///< the matrix, its transpose for the check of symmetry and the parts of several devices; the
                       ///< vectors, and four of the reference in double
};
/// @param number_bytes of a number
MemoryNeed memory_need(const gpulab::MatrixSize& size, std::size_t number_bytes);

/// Counts the memory that a system needs. @param number_bytes of a number @param name of the matrix
/// @param processes on this computer, each of which has the whole system
/// @throws gpulab::UsageError when it is more than there is
void check_memory(const gpulab::Options& options, const gpulab::MatrixSize& size, std::size_t number_bytes,
                  const std::string& name = "", int processes = 1);

/// Reads or makes the system, after its memory has been counted.
/// @param processes on this computer, each of which does this
/// @throws gpulab::UsageError for what is wrong with it
template <class T> Problem<T> problem_of(const gpulab::Options& options, const Choice& c, int processes = 1);

/// A history, and the variant that has it: "cpu_threads on cpu:0".
using NamedHistory = std::pair<std::string, std::vector<double>>;

/// The files of a run. Each is tried, whatever happens to the others: one that cannot be written, because its disk is
/// full for example, is reported on stderr.
class Files {
public:
    /// @param program its name, for the messages @param c says which files
    Files(std::string program, const Choice& c);
    /// Calls `body()`, which writes a file. @return whether it could @throws gpulab::UsageError when it does
    bool write(const std::function<void()>& body);
    bool all_written() const { return all_written_; }
    /// Writes the file of --history: a line for each variant and iteration, with the norm of the residual (CSV).
    void write_histories(const std::vector<NamedHistory>& histories);
    /// Writes the file of --trace, which the run has recorded. @return false when there is none to be written
    bool write_trace(const std::vector<std::pair<std::string, gpulab::Timeline>>& timelines);
    /// Writes the file of --solution, unless it has been tried before. @return whether that was done
    template <class T> bool write_solution(const std::vector<T>& x);
    const std::string& solution() const { return solution_.path(); } ///< where it is, or ""
    /// Whether the solution may be written while the table is printed: it is a regular file, and not the table's.
    bool solution_is_apart() const { return solution_.repeatable(); }

private:
    std::string program_;
    gpulab::OutputFile solution_, history_, trace_;
    bool solution_tried_ = false, all_written_ = true;
};

/// Writes the file of --solution, unless that has been done: where the iteration did not end well, with the best x that
/// it had. @return one line: how it ended
/// @throws gpulab::Error when a number became infinite or the matrix is not positive definite, and gpulab::WrongResult
///         when x is not as good as wanted; with the line, `who` before it and `more` behind it
template <class T>
std::string report_solution(const Problem<T>& p, const Output<T>& out, Files& files, const std::string& who,
                            const std::string& more = "");

} // namespace cg
