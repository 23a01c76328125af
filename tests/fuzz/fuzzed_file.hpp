/// @file
/// What the fuzzers of files share: a file that holds the fuzzed bytes, and what an error must look like.
#pragma once

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>

#include "gpulab/error.hpp"

namespace fuzz {

/// The name of this process's file. It lies in memory, because it is written anew for every input.
inline const std::string& file_name() {
    static const std::string name = "/dev/shm/gpulab_fuzz_" + std::to_string(::getpid());
    static const int at_exit = std::atexit([] { ::unlink(name.c_str()); });
    (void)at_exit;
    return name;
}

inline void write_file(std::string_view bytes) {
    std::ofstream(file_name(), std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

/// Ends the fuzzer when something does not hold.
inline void require(bool holds, const char* what, const std::string& detail = "") {
    if (holds) return;
    std::fprintf(stderr, "%s: %s\n", what, detail.c_str());
    __builtin_trap();
}

/// An error message is one line of bearable length that a terminal can show.
inline void check_message(const std::string& message) {
    require(!message.empty() && message.size() < 2000, "a message without an end", message);
    for (const char c : message) require(static_cast<unsigned char>(c) >= 0x20, "a control character", message);
}

/// Whether an action takes its input. If it refuses it with such an exception, the message must be in order.
/// @param words that the message must have
template <class Refusal = gpulab::UsageError, class Action>
bool accepts(const Action& action, const std::string& words = "") {
    try {
        action();
        return true;
    } catch (const Refusal& e) {
        check_message(e.what());
        require(std::string(e.what()).find(words) != std::string::npos, "a message without a name", e.what());
    }
    return false;
}

} // namespace fuzz
