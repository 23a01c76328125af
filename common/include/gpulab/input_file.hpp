/// @file
/// Files that are read: regular files and pipes, compressed with gzip or not.
#pragma once

#include <cstddef>
#include <string>

#include "gpulab/error.hpp"

namespace gpulab {

/// The error of a file that cannot be read: "cannot read PATH: WHY".
UsageError cannot_read(const std::string& path, const std::string& why);

/// The whole content of a file. One compressed with gzip is decompressed, whatever its name; a named pipe is waited for
/// until a program writes to it. Regular files and pipes only: a device may never end.
/// @param most bytes of the content; 0: half of main memory, because parsing takes as much again
/// @throws UsageError as cannot_read() when the file cannot be opened or read, is neither a regular file nor a pipe,
/// has
///         more bytes than that or than main memory has room for, is in a format that is named (zip, UTF-16, ...), or
///         when its gzip data is truncated, damaged or followed by something else than zeros
std::string content_of(const std::string& path, std::size_t most = 0);

} // namespace gpulab
