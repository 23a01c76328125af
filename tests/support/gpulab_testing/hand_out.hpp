/// @file
/// Holds a lab's hand-out against its variant table, and runs lab programs as a user does.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace gpulab::testing {

/// The variants that a README's ladder names: the rows of its tables that start with `| ` and a name in backticks that
/// begins with cpu_, opencl_ or cuda_.
std::set<std::string> variants_in_ladder(const std::string& readme_path);

/// The names in a variant table.
template <class... Tables> std::set<std::string> names_of(const Tables&... tables) {
    std::set<std::string> names;
    const auto add = [&](const auto& table) {
        for (const auto& variant : table) names.insert(std::string(variant.name));
    };
    (add(tables), ...);
    return names;
}

/// What a program said and how it ended.
struct Outcome {
    int exit_code = -1;
    std::string out;
    std::string err;
    /// Lines on stderr.
    int error_lines() const;
};

/// Runs a program with arguments through the shell.
/// @param program path of the executable
/// @param arguments as typed, quoted by the caller where needed
Outcome run_program(const std::string& program, const std::string& arguments);

} // namespace gpulab::testing
