// OpenCL libraries that end the program. Some call abort() where an error is due: PoCL without /sys, or without memory.
// What a library has left behind then is of no use. So the program starts once more and leaves out the platform, which
// costs nothing where nothing fails. To try all platforms in a child first would take as long again as to find them:
// PoCL takes 50 ms, a GPU 0.2 s.
//
// The libraries call the abort() below, because the program's functions come before those of libc. A handler of SIGABRT
// would not do: LLVM, which PoCL compiles with, sets its own.
#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <sstream>
#include <string>
#include <unistd.h>
#include <vector>

#include "backends.hpp"

namespace gpulab::detail {

namespace {

constexpr const char* variable = "GPULAB_OPENCL_ABORTED"; // "PLATFORM: WHAT;PLATFORM: WHAT", of the starts before

// For abort(), which allocates nothing.
std::atomic<bool> at_work = false;
char setting[1024], line[1024];
char* const* arguments = nullptr;
std::vector<char*> environment;

std::string of_environment() {
    const char* const value = std::getenv(variable);
    return value ? value : "";
}

/// Returns only if OpenCL is not at work, or the program cannot start again.
void start_again() {
    if (!at_work || !arguments) return;
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    if (write(STDERR_FILENO, line, std::char_traits<char>::length(line)) >= 0)
        execve("/proc/self/exe", arguments, environment.data());
}

} // namespace

std::vector<Aborted> aborted_opencl() {
    std::vector<Aborted> all;
    std::istringstream items(of_environment());
    for (std::string item; std::getline(items, item, ';');)
        if (const std::size_t colon = item.find(": "); colon != std::string::npos)
            all.push_back({item.substr(0, colon), item.substr(colon + 2)});
    return all;
}

bool aborted_in_a_rung() {
    return std::ranges::any_of(aborted_opencl(), [](const Aborted& one) { return one.what != searching; });
}

void opencl_works(const std::string& platform, const std::string& what) {
    at_work = false;
    std::snprintf(setting, sizeof setting, "%s=%s;%s: %s", variable, of_environment().c_str(), platform.c_str(),
                  what.c_str());
    std::snprintf(line, sizeof line, "The OpenCL platform %s ended the program in %s. It begins again without it.\n",
                  platform.c_str(), what.c_str());
    at_work = true;
}

void opencl_rests() { at_work = false; }

void survive_opencl(char* const* argv) {
    struct sigaction action {};
    const bool taken = sigaction(SIGABRT, nullptr, &action) != 0 || action.sa_handler != SIG_DFL; // by a test, or MPI
    const bool rank = std::getenv("PMIX_RANK") || std::getenv("PMI_RANK"); // of MPI: it cannot join the others again
    if (arguments || taken || rank || access("/proc/self/exe", X_OK) != 0) return;
    arguments = argv;
    environment = {setting};
    for (char** one = environ; *one; ++one)
        if (!std::string(*one).starts_with(variable)) environment.push_back(*one);
    environment.push_back(nullptr);
}

} // namespace gpulab::detail

extern "C" {

void abort() noexcept {
    gpulab::detail::start_again();
    reinterpret_cast<void (*)()>(dlsym(RTLD_NEXT, "abort"))();
    __builtin_unreachable();
}

#if defined(__GLIBC__)
/// What assert() calls.
void __assert_fail(const char* what, const char* file, unsigned number, const char* function) noexcept {
    std::fprintf(stderr, "%s:%u: %s: '%s' does not hold\n", file, number, function, what);
    abort();
}
#endif

} // extern "C"
