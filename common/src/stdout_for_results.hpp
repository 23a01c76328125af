/// @file
/// Results that go to stdout, and the table that must not come between them.
#pragma once

#include <string>
#include <string_view>

namespace gpulab {

/// Whether a file name means stdout: `-`, /dev/stdout, or the very file that stdout goes to. /dev/null does not.
bool names_stdout(const std::string& path);

/// Keeps stdout for results. While it lives, what the program prints to stdout goes to stderr, and an OutputFile named
/// `-` goes to stdout. There is one at a time, in the Options.
class StdoutForResults {
public:
    StdoutForResults();  ///< @throws Error when the system has no file descriptor left
    ~StdoutForResults(); ///< what is printed goes to stdout again
    StdoutForResults(const StdoutForResults&) = delete;
    StdoutForResults& operator=(const StdoutForResults&) = delete;

    /// The one that lives, or nullptr.
    static StdoutForResults* current();

    /// Writes to the real stdout. @throws Error when it takes no more
    void write(std::string_view content);

private:
    int real_ = -1; ///< the descriptor
};

} // namespace gpulab
