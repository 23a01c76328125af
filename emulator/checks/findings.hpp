/// @file
/// Faults that the checks have found, in the form in which Oclgrind prints its findings.
#pragma once

#include <functional>
#include <mutex>
#include <set>
#include <string>

#include "machine/observer.hpp"

namespace cuda_emulator {

/// A thread that did something.
struct Party {
    Dim3 thread{0, 0, 0}, block{0, 0, 0};
    const Instruction* instruction = nullptr;
};

struct Finding {
    std::string what;    ///< "Invalid read of size 4 at global memory address 0x1000000000004"
    std::string kind;    ///< with the lines it names the finding: each is told once
    std::string kernel;  ///< mangled
    std::string note;    ///< more, in words; may be empty
    Party first, second; ///< the second of a race only
};

/// Where an instruction stands in the user's own files: the innermost place that is not in a header of the toolkit.
const Location& own_location(const Instruction&);

/// A kernel's name as the user wrote it: "lab::(anonymous namespace)::tree<float>(...)" is "tree<float>".
std::string short_name(const std::string& mangled);

/// What was found in this process. Several threads may add findings.
class Findings {
public:
    /// Where the text of a finding goes; to stderr unless set.
    void send_to(std::function<void(const std::string&)> sink) { sink_ = std::move(sink); }
    /// Tells of a finding unless the same has been told of.
    void add(const Finding&);
    std::size_t count() const;

private:
    mutable std::mutex lock_;
    std::set<std::string> told_;
    std::function<void(const std::string&)> sink_;
};

std::string in_words(const Finding&);

} // namespace cuda_emulator
