/// @file
/// Vectors and histories as files, and writing several files.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "cg.hpp"

namespace cg {

/// Reads a vector: a Matrix Market file with one column, or one row.
/// @throws gpulab::UsageError or gpulab::Error as read_matrix_market() does, and for more than one column and row
template <class T> std::vector<T> read_vector(const std::string& path);

/// A vector as the text of a Matrix Market file: `array real general`, every number with as many digits as are needed
/// to read it back.
template <class T> std::string to_matrix_market(const std::vector<T>& x);

/// A history of one variant.
struct NamedHistory {
    std::string variant; ///< "cpu_threads on cpu:0"
    std::vector<double> norms;
};

/// Histories as CSV: a line for each variant and iteration, with the norm of the residual.
std::string history_csv(const std::vector<NamedHistory>& histories);

/// Writes the files of a run. One that cannot be written, because its disk is full for example, is reported on stderr
/// and keeps no other from being written.
class Outputs {
public:
    /// @param program its name, for the messages
    explicit Outputs(std::string program) : program_(std::move(program)) {}
    /// Writes a file. @return whether `write()` could @throws gpulab::UsageError when it does
    bool operator()(const std::function<void()>& write);
    bool all_written() const { return all_written_; }

private:
    std::string program_;
    bool all_written_ = true;
};

} // namespace cg
