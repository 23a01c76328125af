// OpenCL libraries that end the program. Some call abort() where an error is due: PoCL without /sys, or without memory.
// A process survives that from outside only. So it starts once more and leaves out the platform, which costs nothing
// where nothing fails. To try all platforms in a child first would take as long again as to find them: PoCL takes 50
// ms, a GPU 0.2 s.
#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <string>
#include <unistd.h>
#include <vector>

#include "backends.hpp"

namespace gpulab::detail {

namespace {

constexpr const char* variable = "GPULAB_OPENCL_ABORTED"; // "PLATFORM: WHAT;PLATFORM: WHAT", of the starts before

// For the signal handler, which allocates nothing.
std::atomic<bool> at_work = false;
char setting[1024], line[1024];
char* const* arguments = nullptr;
std::vector<char*> environment;

std::string of_environment() {
    const char* const value = std::getenv(variable);
    return value ? value : "";
}

extern "C" void start_again(int) {
    if (!at_work) return; // then abort() ends the program
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
    action.sa_handler = start_again;
    action.sa_flags = SA_RESETHAND;
    sigaction(SIGABRT, &action, nullptr);
}

} // namespace gpulab::detail
