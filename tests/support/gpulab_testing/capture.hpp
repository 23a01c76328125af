/// @file
/// What a piece of a program prints.
#pragma once

#include <functional>
#include <string>

namespace gpulab::testing {

/// What was printed.
struct Printed {
    std::string out; ///< to stdout
    std::string err; ///< to stderr
};

/// Runs a function and catches all that it prints, also when it throws.
Printed printed_by(const std::function<void()>& function);

/// The same for a program whose stdout and stderr go to one file.
std::string printed_together_by(const std::function<void()>& function);

} // namespace gpulab::testing
