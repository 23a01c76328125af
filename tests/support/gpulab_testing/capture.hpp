/// @file
/// What a piece of a program prints, and how it ends in a process of its own.
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

/// Runs a function in a process of its own. @param user whether as a user without special rights
/// @return what it returns; 99 when it throws; minus the signal that has ended it
int in_child(const std::function<int()>& body, bool user = false);

} // namespace gpulab::testing
