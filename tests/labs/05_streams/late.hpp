/// @file
/// Commands of a pass that begin late. A copy or a kernel that is late makes it plain who does not wait for it: on a
/// machine at rest a missing wait may do no harm for years.
///
/// The linker puts functions of late_cuda.cu and late_opencl.cpp in the place of those that give a command to a stream
/// or queue (`-Wl,--wrap`, see late.cmake). They count the commands and keep one of them back for some milliseconds.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "gpulab/device.hpp"
#include "streams.hpp"

namespace streams::testing {

namespace late {

enum class Kind { copy_up, kernel, copy_down };

inline constexpr std::chrono::milliseconds delay{2};

/// Notes a command. @return whether it is to be late
bool notes(Kind kind);

/// Which word of each 16 bytes of a copy up is to be late while the others are not; -1 when the whole copy is.
int word();

/// Notes commands and keeps none back.
void start();
/// Keeps back the command that is number `which` of each pass.
/// @param each how many commands a pass has @param word see word()
void start(std::size_t which, std::size_t each, int word);
/// Ends it, and waits for what is on its way. @return the commands noted since start()
std::vector<Kind> stop();

/// Lets the threads that keep back OpenCL commands end. Called by stop().
void join_opencl();

} // namespace late

/// Keeps back each command of a pass in turn, and of each copy up in CUDA each word in turn: none of it may change an
/// answer. @return the first fault, or ""
std::string late_fault(Run* run, gpulab::Backend backend);

} // namespace streams::testing
