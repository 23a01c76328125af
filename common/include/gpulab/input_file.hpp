/// @file
/// Files that are read: regular files and pipes, compressed with gzip or not.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "gpulab/error.hpp"

namespace gpulab {

/// The error of a file that cannot be read: "cannot read PATH: WHY".
UsageError cannot_read(const std::string& path, const std::string& why);

/// A file that is read from its beginning. A file compressed with gzip is decompressed, whatever its name.
/// Regular files and pipes only: a device may never end. Errors are those of cannot_read(). Move-only.
class InputFile {
public:
    /// Opens the file. A named pipe is waited for until a program writes to it.
    /// @throws UsageError when it cannot be opened, or is neither a regular file nor a pipe
    explicit InputFile(std::string path);
    ~InputFile();
    InputFile(InputFile&&) noexcept;

    /// Reads on until the text has this many bytes, or to the end.
    /// @return false at the end
    /// @throws UsageError when the file cannot be read, its gzip data is truncated, damaged or followed by something
    ///         else, or the text of a pipe or a compressed file takes more than half of main memory
    /// @throws std::bad_alloc
    bool read(std::string& text, std::size_t most);

    /// Whether the length of the text is that of the file. After a read().
    bool has_length() const;
    std::uintmax_t bytes() const { return bytes_; } ///< of a regular file, as it is stored

private:
    struct Stream;
    std::string path_;
    bool pipe_ = false;
    std::uintmax_t bytes_ = 0;
    std::unique_ptr<Stream> stream_;
};

/// The whole content of a file, decompressed.
/// @throws UsageError as InputFile does, when there are more than `most` bytes, or when main memory does not suffice
std::string content_of(const std::string& path, std::size_t most);

} // namespace gpulab
