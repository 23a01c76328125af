/// @file
/// How a program of GPU Labs fails: with one clear line on stderr and an exit code that scripts can rely on.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace gpulab {

/// Exit codes of every lab program.
enum ExitCode {
    exit_success = 0,      ///< every variant that ran gave the right answer
    exit_wrong_result = 1, ///< at least one variant ran and its answer was wrong
    exit_failure = 2       ///< bad usage, no such device, unwritable file, a failed library call
};

/// An error after which the program cannot go on. The message is one line, for the person at the terminal.
class Error : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// A kernel that does not compile when the program runs. Its message holds the compiler's log, of any number of lines.
class BuildError : public Error {
public:
    using Error::Error;
};

/// The user asked for something impossible: a negative size, an unknown variant, an unwritable file.
class UsageError : public Error {
public:
    using Error::Error;
};

/// A variant cannot solve this problem on this device (too large for one block, no double precision, ...).
/// The benchmark lists the variant as skipped with this reason; if the user named the variant, the program ends.
class Unsupported : public Error {
public:
    using Error::Error;
};

/// A variant did something that proves it wrong even before its output is compared,
/// such as writing outside its output buffer.
class WrongResult : public Error {
public:
    using Error::Error;
};

/// Prints the exception being handled as one line, `program: message`, on stderr.
/// @pre called from inside a catch block: `int main(...) try { ... } catch (...) { return fail("saxpy"); }`
/// @return exit_wrong_result for a WrongResult, otherwise exit_failure
int fail(std::string_view program) noexcept;

/// What an exception says, with the name of the error where it is one of OpenCL: "clEnqueueNDRangeKernel failed:
/// CL_INVALID_KERNEL_ARGS".
std::string message_of(const std::exception& e);

} // namespace gpulab
