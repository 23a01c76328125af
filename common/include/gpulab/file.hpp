/// @file
/// Files that are written to the end or not at all.
#pragma once

#include <string>
#include <string_view>

namespace gpulab {

/// A file to be. Opened early, so that an unwritable place is known before the work is done; the content goes to
/// a temporary file beside it, which takes the final name only when it is complete. An existing file stays as it
/// was until then. Move-only.
class OutputFile {
public:
    OutputFile() = default;
    /// @throws UsageError "cannot write FILE: reason"
    explicit OutputFile(std::string path);
    ~OutputFile(); ///< removes the temporary file if write() was never called
    OutputFile(OutputFile&& other) noexcept;
    OutputFile& operator=(OutputFile&& other) noexcept;

    /// Writes the content and gives the file its name. Something that is not a regular file (a pipe, /dev/stdout)
    /// is written directly.
    /// @throws Error when the disk is full or the file cannot be renamed
    void write(std::string_view content);

    explicit operator bool() const { return !path_.empty(); }
    const std::string& path() const { return path_; }

private:
    void discard() noexcept;
    std::string path_;
    std::string temporary_;
};

} // namespace gpulab
