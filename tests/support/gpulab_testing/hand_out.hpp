/// @file
/// Holds a lab's hand-out against its tables of variants and studies.
#pragma once

#include <set>
#include <string>

namespace gpulab::testing {

/// The variants that a README's ladder names: the rows of its tables that start with `| ` and a name in backticks that
/// begins with cpu_, opencl_ or cuda_.
std::set<std::string> variants_in_ladder(const std::string& readme_path);

/// Those of the names that a README does not hold in backticks.
std::set<std::string> absent_from(const std::string& readme_path, const std::set<std::string>& names);

/// The names in a variant table.
template <class... Tables> std::set<std::string> names_of(const Tables&... tables) {
    std::set<std::string> names;
    const auto add = [&](const auto& table) {
        for (const auto& variant : table) names.insert(std::string(variant.name));
    };
    (add(tables), ...);
    return names;
}

/// The names in a list of studies.
template <class Studies> std::set<std::string> names_of_studies(const Studies& studies) {
    std::set<std::string> names;
    for (const auto& study : studies) names.insert(study.name);
    return names;
}

} // namespace gpulab::testing
