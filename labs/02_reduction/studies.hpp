/// @file
/// The studies of lab 02, and what single runs and studies share.
#pragma once

#include <string>
#include <type_traits>
#include <vector>

#include "gpulab/options.hpp"
#include "gpulab/report.hpp"
#include "reduction.hpp"

namespace reduction {

/// The name of an element type as --type spells it.
template <class T> constexpr const char* name_of_type() {
    if constexpr (std::is_same_v<T, float>) return "float";
    else if constexpr (std::is_same_v<T, double>) return "double";
    else return "int";
}

/// The bytes that must be read and the additions that must be done for a sum of n elements.
template <class T> gpulab::Work sum_work(std::size_t n) {
    const auto size = static_cast<double>(n);
    return {.bytes = sizeof(T) * size, .flops = size};
}

/// For `--study list`.
std::vector<gpulab::StudySummary> study_list();

/// Runs the study that the user chose.
/// @param type "float" or "double"
/// @param n the problem size of the study that does not sweep it
/// @return the program's exit code
/// @throws UsageError for another type
int run_study(const gpulab::Options& options, const std::string& type, std::size_t n);

} // namespace reduction
