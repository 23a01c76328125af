/// @file
/// Commands of a pass that begin late. When a copy or a kernel is late, everything that should wait for it and does not
/// gives a wrong answer. On an idle machine a missing wait rarely does harm.
///
/// The linker replaces the functions that give a command to a stream or queue by those of perturbed_cuda.cu and
/// perturbed_opencl.cpp (`-Wl,--wrap`, see CMakeLists.txt). They count the commands and delay one of them by some
/// milliseconds.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "gpulab/device.hpp"
#include "streams.hpp"

namespace streams::testing {

namespace perturbed {

enum class Kind { copy_up, kernel, copy_down };

inline constexpr std::chrono::milliseconds delay{2};

/// Counts a command. @return whether it is to be late
bool notes(Kind kind);

/// Which word of each 16 bytes of a copy up is to be late while the others are not; -1: the whole copy is late.
int word();

/// Begins to count commands and delays command number `which` of each pass.
/// @param each the number of commands of a pass; 0: none is late @param word see word()
void start(std::size_t which = 0, std::size_t each = 0, int word = -1);
/// Ends that and waits for delayed commands. @return the commands counted since start()
std::vector<Kind> stop();

/// Joins the threads that delay OpenCL commands. Called by stop().
void join_opencl();

} // namespace perturbed

/// Delays each command of a pass in turn, and in CUDA each word of a copy up in turn. No delay may change an answer.
/// @return the first fault, or ""
std::string late_fault(Run* run, gpulab::Backend backend);

} // namespace streams::testing
