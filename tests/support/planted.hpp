/// @file
/// For programs with a planted mistake, which tests/mistakes/plant.py runs.
#pragma once

namespace gpulab::testing::detail {

/// Whether a case of VariantCases ends with the first fault: GPULAB_TEST_FIRST_FAULT=1 is in the environment.
bool ends_with_first_fault();

} // namespace gpulab::testing::detail
