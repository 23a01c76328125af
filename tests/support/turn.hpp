/// @file
/// How tests share a GPU; see in_turn().
#pragma once

#include "gpulab/device.hpp"

namespace gpulab::testing::detail {

/// Says what the tests that follow run on. With GPULAB_TEST_DEVICES=gpu those of the CPU lower their priority, for the
/// rest of the program, so that those of a GPU wait for it and not for a core. On a GPU they take turns, and keep a
/// little memory of each kind allocated from before the first turn. A driver hands back what is freed last, which takes
/// 74 us (device memory) and 870 us (page-locked memory) each time on an H200, and 3 us while something else is in use.
/// @param played the test plays a program on a GPU, and opens none
void prepare_turns(const Device& device, bool played = false);

} // namespace gpulab::testing::detail
