// OpenCL libraries that end the program. Some call abort() where an error is due: PoCL without /sys, or without memory.
// Some reach outside their memory, and some do not answer when they are asked for devices, until an alarm comes.
// What a library has left behind then is of no use. So the program starts once more and leaves out the platform, which
// costs nothing where nothing fails. To try all platforms in a child first would take as long again as to find them:
// PoCL takes 50 ms, a GPU 0.2 s.
//
// The libraries call the abort() below, because the program's functions come before those of libc. A handler of SIGABRT
// would not do: LLVM, which PoCL compiles with, sets its own. Of the other signals, it calls the handlers that it
// finds.
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
char setting[1024], line[1024], silent[1024];
constexpr unsigned patience_s = 60; // for a search
char* const* arguments = nullptr;
std::vector<char*> environment;

std::string of_environment() {
    const char* const value = std::getenv(variable);
    return value ? value : "";
}

/// Returns only if OpenCL is not at work, or the program cannot start again. @param why a line for stderr
void start_again(const char* why) {
    if (!at_work || !arguments) return;
    alarm(0); // which execve() would keep
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    [[maybe_unused]] const auto written = write(STDERR_FILENO, why, std::char_traits<char>::length(why));
    execve("/proc/self/exe", arguments, environment.data());
}

void on_signal(int number) {
    start_again(number == SIGALRM ? silent : line);
    if (number != SIGALRM) std::signal(number, SIG_DFL); // what caused it happens again
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
    std::snprintf(silent, sizeof silent,
                  "The OpenCL platform %s does not answer in %s. The program begins again without "
                  "it.\n",
                  platform.c_str(), what.c_str());
    at_work = true;
    if (arguments) alarm(what == searching ? patience_s : 0);
}

void opencl_rests() {
    at_work = false;
    if (arguments) alarm(0);
}

void survive_opencl(char* const* argv) {
    struct sigaction action {};
    const bool taken = sigaction(SIGABRT, nullptr, &action) != 0 || action.sa_handler != SIG_DFL; // by a test, or MPI
    const bool rank = std::getenv("PMIX_RANK") || std::getenv("PMI_RANK"); // of MPI: it cannot join the others again
    if (arguments || taken || rank || access("/proc/self/exe", X_OK) != 0) return;
    arguments = argv;
    for (const int number : {SIGALRM, SIGSEGV, SIGBUS}) std::signal(number, on_signal);
    environment = {setting};
    for (char** one = environ; *one; ++one)
        if (!std::string(*one).starts_with(variable)) environment.push_back(*one);
    environment.push_back(nullptr);
}

} // namespace gpulab::detail

extern "C" {

void abort() noexcept {
    gpulab::detail::start_again(gpulab::detail::line);
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
