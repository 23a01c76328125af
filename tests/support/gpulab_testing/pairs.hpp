/// @file
/// Options crossed with each other: a small table in which every pair of values of two options occurs.
#pragma once

#include <cstddef>
#include <vector>

namespace gpulab::testing {

/// The rows of a table with a column for each option. Row r gives option k its value number rows[r][k]. For any two
/// options, every value of the one meets every value of the other in some row. All combinations of seven options with
/// three values each are 2187; a table of all pairs has about 15 rows. The same numbers give the same table.
/// @param values how many values each option has; each at least one
std::vector<std::vector<std::size_t>> all_pairs(const std::vector<std::size_t>& values);

} // namespace gpulab::testing
