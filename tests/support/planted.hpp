/// @file
/// What a test case does for tests/mistakes/plant.py, which runs it with an injected fault, and without one to compare.
#pragma once

namespace gpulab::testing::detail {

/// Notes that a check begins: a byte in the file that GPULAB_TEST_CHECKS names, if the environment has it.
void note_check();

/// Whether the checks end with the first fault: in the presence of GPULAB_TEST_CHECKS.
bool ends_with_first_fault();

/// Whether no further check is wanted: GPULAB_TEST_MOST_CHECKS are done. Called before each check.
bool enough_checks();

} // namespace gpulab::testing::detail
