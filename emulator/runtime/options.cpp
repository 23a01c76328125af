#include "options.hpp"

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace cuda_emulator {

namespace {

[[noreturn]] void refuse(const char* name, const char* value, const char* expected) {
    std::fprintf(stderr, "CUDA emulator: %s=%s: %s is expected\n", name, value, expected);
    std::_Exit(2);
}

std::uint64_t number(const char* name, std::uint64_t usual, std::uint64_t least, std::uint64_t most) {
    const char* const value = std::getenv(name);
    if (!value || !*value) return usual;
    std::uint64_t n = 0;
    const auto [end, error] = std::from_chars(value, value + std::strlen(value), n);
    if (error != std::errc{} || *end || n < least || n > most) {
        const std::string expected = "a whole number from " + std::to_string(least) + " to " + std::to_string(most);
        refuse(name, value, expected.c_str());
    }
    return n;
}

Options read() {
    Options o;
    o.order = number("CUDA_EMULATOR_ORDER", 0, 0, UINT64_MAX);
    o.devices = static_cast<int>(number("CUDA_EMULATOR_DEVICES", 1, 0, 64));
    o.threads = static_cast<int>(number("CUDA_EMULATOR_THREADS", 0, 1, 4096));
    if (const char* const counts = std::getenv("CUDA_EMULATOR_COUNTS")) o.counts = counts;
    if (const char* const check = std::getenv("CUDA_EMULATOR_CHECK"); check && *check) {
        if (!std::strcmp(check, "off")) o.check = Options::Check::off;
        else if (!std::strcmp(check, "fail")) o.check = Options::Check::fail;
        else if (std::strcmp(check, "report")) refuse("CUDA_EMULATOR_CHECK", check, "off, report or fail");
    }
    return o;
}

} // namespace

const Options& options() {
    static const Options all = read();
    return all;
}

} // namespace cuda_emulator
