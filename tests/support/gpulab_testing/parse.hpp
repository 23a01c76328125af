/// @file
/// The command line of a program, in a test.
#pragma once

#include <string>
#include <vector>

#include "gpulab/options.hpp"

namespace gpulab::testing {

/// Options::parse() of the words behind the program's name.
inline bool parse(Options& options, const std::vector<std::string>& words) {
    std::vector<const char*> all = {options.lab().c_str()};
    for (const std::string& word : words) all.push_back(word.c_str());
    return options.parse(static_cast<int>(all.size()), all.data());
}

} // namespace gpulab::testing
