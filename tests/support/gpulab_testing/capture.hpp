/// @file
/// What a function prints, for tests of programs' words.
#pragma once

#include <functional>
#include <string>

namespace gpulab::testing {

/// Which of the two standard streams.
enum class Stream { out, err };

/// What body prints to stdout or stderr, through stdio or below it.
/// @throws std::runtime_error when the stream cannot be diverted; what body throws
std::string captured(Stream stream, const std::function<void()>& body);

} // namespace gpulab::testing
