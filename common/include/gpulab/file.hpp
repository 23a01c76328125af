/// @file
/// Files that are written completely or not at all.
#pragma once

#include <cstddef>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>

namespace gpulab {

/// A file that will be written. The constructor checks that it can be written, so that an unwritable file is known
/// before the work is done. commit() writes the content to a temporary file beside it, which takes the final name when
/// it is complete; until then an existing file stays as it was. Move-only.
///
/// - A new file gets the permissions that the umask leaves. One that replaces another keeps its permissions, and its
///   owner and group where the system lets it. Further hard links to the old file keep the old content.
/// - A file whose name ends with .gz is compressed with gzip.
/// - A symbolic link stays a link; its target is written, even if it does not exist yet.
/// - A file that may not be written (mode 444), a folder that may not be written and a directory are refused.
/// - A file that is not regular (a pipe, a terminal) is written as it is, and so is the file that stdout or stderr goes
///   to (`--trace /dev/stderr 2> out.txt`): the content follows what was printed.
/// - `-` is stdout, after keep_stdout_for_results() (see Options::output()).
class OutputFile {
public:
    OutputFile() = default;
    /// Checks that the file can be written, and leaves nothing behind.
    /// @throws UsageError "cannot write FILE: reason"
    explicit OutputFile(std::string path);
    OutputFile(OutputFile&&) noexcept = default;
    OutputFile& operator=(OutputFile&&) noexcept = default;

    /// Writes the file: prepare(), then commit().
    void write(std::string_view content);
    /// Keeps the content for commit().
    void prepare(std::string_view content) { content_ = content; }
    /// Adds to what is kept for commit(): for a content that comes in parts.
    void append(std::string_view part) {
        if (!content_) content_.emplace();
        content_->append(part);
    }
    /// Writes what has been prepared, if there is something. @throws Error when it cannot be written (a full disk)
    void commit();

    explicit operator bool() const { return !path_.empty(); }
    /// Whether it can be written again, as a whole: a regular file that nothing else is printed to.
    bool repeatable() const { return !path_.empty() && !special_; }
    const std::string& path() const { return path_; }

private:
    std::string path_;
    std::optional<std::string> content_;
    bool special_ = false;        // not a regular file, or one that stream_ goes to
    std::FILE* stream_ = nullptr; // stdout or stderr, when it goes to the file
};

/// The file at a path; no file for an empty path. @throws UsageError when it cannot be written
OutputFile output_file(const std::string& path);

/// Whether two names lead to the same file, also through links. The file need not exist.
bool same_file(const std::string& a, const std::string& b);

/// Why a folder cannot take a new file of this size in bytes, or "". The folder is made if it is not there.
std::string why_not_writable(const std::string& folder, std::size_t bytes);

/// Writes out what was printed. @throws Error when stdout cannot take it (a full disk)
void flush_stdout();

/// Whether a file name means stdout: `-`, /dev/stdout, or the very file that stdout goes to. /dev/null does not.
bool names_stdout(const std::string& path);

/// Keeps stdout for results: from now on what the program prints to stdout goes to stderr, and an OutputFile named `-`
/// goes to stdout. @throws Error when the system has no file descriptor left
void keep_stdout_for_results();

} // namespace gpulab
