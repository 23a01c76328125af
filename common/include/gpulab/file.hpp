/// @file
/// Files that are written completely or not at all.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdio>
#include <string>
#include <string_view>

namespace gpulab {

/// A file that will be written. The constructor checks that it can be written, so that an unwritable file is known
/// before the work is done. The content goes to a temporary file beside it, which takes the final name only when it is
/// complete; until then an existing file stays as it was. Move-only.
///
/// - A new file gets the permissions that the umask leaves. One that replaces another keeps its permissions, and its
///   owner and group where the system lets it. Further hard links to the old file keep the old content.
/// - A file whose name ends with .gz is compressed with gzip.
/// - A symbolic link stays a link; its target is written, even if it does not exist yet.
/// - A file that may not be written (mode 444) and a directory are refused.
/// - A file that may be written, but not replaced because its folder may not be written, is overwritten by commit().
///   An error may then leave a part of the content.
/// - A signal that ends the program (Ctrl-C, kill, a closed terminal) removes the temporary file, also where a library,
///   such as PoCL, has a handler for it. A file larger than
///   `ulimit -f` allows is an error.
/// - A named pipe that no program reads is an error after patience_for_pipes.
/// - A file that is not regular (a pipe, a terminal) is written at once, and so is the file that stdout or stderr goes
///   to (`--trace /dev/stderr 2> out.txt`): the content follows what was printed.
/// - `-` is stdout, while the options keep that for results (see Options::output()); commit() writes it.
class OutputFile {
public:
    OutputFile() = default;
    /// Checks that the file can be written, and leaves nothing behind.
    /// @throws UsageError "cannot write FILE: reason"
    explicit OutputFile(std::string path);
    ~OutputFile(); ///< removes the temporary file when commit() was not reached
    OutputFile(OutputFile&& other) noexcept;
    OutputFile& operator=(OutputFile&& other) noexcept;

    /// Writes the content and gives the file its name: prepare(), then commit().
    void write(std::string_view content);

    /// Writes the content to the temporary file; a file that is not regular, or to which stdout or stderr goes, gets it
    /// at once.
    /// @throws Error when the disk is full, or no program reads the pipe
    void prepare(std::string_view content);

    /// Adds to what prepare() or append() has written: for a content that comes in parts.
    /// @throws Error as prepare() does
    void append(std::string_view content);

    /// Gives the prepared file its name. @throws Error when it cannot be renamed
    void commit();

    explicit operator bool() const { return !path_.empty(); }
    /// Whether it can be written again, as a whole: a regular file that nothing else is printed to.
    bool repeatable() const { return !path_.empty() && !special_ && !to_stdout_; }
    const std::string& path() const { return path_; }

private:
    void discard() noexcept;
    std::string path_;
    std::string temporary_;       // not empty: it exists
    std::string content_;         // for a file that is overwritten in place
    bool prepared_ = false;       // content_ is to be written
    bool packed_ = false;         // compressed with gzip
    bool special_ = false;        // not a regular file
    bool in_place_ = false;       // the file may be written, its folder may not
    bool to_stdout_ = false;      // which StdoutForResults keeps
    std::FILE* stream_ = nullptr; // stdout or stderr, when it goes to the file
};

/// The file at a path; no file for an empty path. @throws UsageError when it cannot be written
OutputFile output_file(const std::string& path);

/// How long a named pipe is waited for that no other program opens. Tests wait less.
inline std::chrono::milliseconds patience_for_pipes{5000};

/// Whether two names lead to the same file, also through links. The file need not exist.
bool same_file(const std::string& a, const std::string& b);

/// Why a folder cannot take a new file of this size in bytes, or "". The folder is made if it is not there.
std::string why_not_writable(const std::string& folder, std::size_t bytes);

/// Writes out what was printed. @throws Error when stdout cannot take it (a full disk)
void flush_stdout();

} // namespace gpulab
