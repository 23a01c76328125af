// OpenCL libraries that end the program. Some call abort() where an error is due: PoCL without /sys, or without memory.
// Some reach outside their memory, some call exit(), and some do not answer when they are asked for devices.
// What a library has left behind then is of no use. So the program starts once more: what failed in the search for
// devices is tried again, once and the vendors' libraries one by one; what failed in a rung is left out. This costs
// nothing where nothing fails. To try all platforms in a child first would take as long again as to find them: PoCL
// takes 50 ms, a GPU 0.2 s.
//
// The libraries call the abort() below, because the program's functions come before those of libc. A handler of SIGABRT
// would not do: LLVM, which PoCL compiles with, sets its own. Of the other signals, it calls the handlers that it
// finds.
#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <dlfcn.h>
#include <fcntl.h>
#include <functional>
#include <sstream>
#include <string>
#include <string_view>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include "backends.hpp"

namespace gpulab::detail {

namespace {

constexpr const char* variable = "GPULAB_OPENCL_ABORTED"; // "PLATFORM: WHAT;PLATFORM: WHAT", of the starts before

// For abort(), which allocates nothing.
struct Ending {
    char setting[4096], line[1024];
};
Ending ended, silent;
std::atomic<bool> at_work = false;
char* const* arguments = nullptr;
std::vector<char*> environment;
pid_t self = 0;
bool trial = false; // in a child

// A search on a busy machine may take long, so what it may take is processor time. A wait takes none.
constexpr unsigned patience_s = 30;
constexpr std::time_t most_processor_s = 20;
std::time_t began = 0, seen = 0; // seconds of processor time

std::time_t processor_seconds() {
    timespec now{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return now.tv_sec;
}

std::string of_environment() {
    const char* const value = std::getenv(variable);
    return value ? value : "";
}

/// Returns only if OpenCL is not at work, or the program cannot start again.
void start_again(Ending& how) {
    if (!at_work || !arguments) return;
    if (trial) _exit(&how == &silent ? 2 : 1);
    if (getpid() != self) return; // a child of the library
    alarm(0);                     // which execve() would keep
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    [[maybe_unused]] const auto written = write(STDERR_FILENO, how.line, std::char_traits<char>::length(how.line));
    environment.front() = how.setting;
    execve("/proc/self/exe", arguments, environment.data());
}

void on_signal(int number) {
    if (number == SIGALRM) {
        const std::time_t now = processor_seconds();
        if (at_work && now > seen && now < began + most_processor_s) { // it computes
            seen = now;
            alarm(patience_s);
            return;
        }
        start_again(silent);
        return;
    }
    start_again(ended);
    std::signal(number, SIG_DFL); // what caused it happens again
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
    return std::ranges::any_of(aborted_opencl(), [](const Aborted& one) { return !one.what.ends_with(searching); });
}

bool given_up(const std::string& platform) {
    const std::vector<Aborted> all = aborted_opencl();
    const auto of_it = [&](const Aborted& one) { return one.platform == platform; };
    return std::ranges::count_if(all, of_it) > 1 ||
           std::ranges::any_of(all, [&](const Aborted& one) { return of_it(one) && !one.what.ends_with(searching); });
}

void opencl_works(const std::string& platform, const std::string& what) {
    at_work = false;
    const std::string before = of_environment();
    const bool once_more = what == searching && before.find(";" + platform + ": ") == std::string::npos;
    const auto prepare = [&](Ending& how, const char* verb, const char* advice) {
        std::snprintf(how.setting, sizeof how.setting, "%s=%s;%s: %s in %s", variable, before.c_str(), platform.c_str(),
                      verb, what.c_str());
        std::snprintf(how.line, sizeof how.line, "OpenCL: %s %s in %s. The program begins again %s.%s\n",
                      platform.c_str(), verb, what.c_str(), once_more ? "and tries once more" : "without it",
                      once_more ? "" : advice);
    };
    prepare(ended, "ended the program", "");
    prepare(silent, "does not answer",
            " If it does not after a restart of the computer either, take its file out of /etc/OpenCL/vendors.");
    if (once_more) *ended.line = '\0'; // soon over
    if (arguments && what == searching) {
        began = seen = processor_seconds();
        alarm(patience_s);
    }
    at_work = true;
}

std::string fault_in_a_child(const std::function<void()>& search) {
    const pid_t child = fork();
    if (child == 0)
        [&]() noexcept {
            trial = true;
            const int nowhere = open("/dev/null", O_WRONLY);
            for (const int stream : {STDOUT_FILENO, STDERR_FILENO}) dup2(nowhere, stream);
            opencl_works("", searching);
            search();
            _exit(0);
        }();
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) != child || status == 0) return "";
    return WIFEXITED(status) && WEXITSTATUS(status) == 2 ? "does not answer" : "ended the program";
}

void remember(const Aborted& one) {
    setenv(variable, (of_environment() + ";" + one.platform + ": " + one.what).c_str(), 1);
}

void opencl_rests() {
    at_work = false;
    if (arguments) alarm(0);
}

void survive_opencl(char* const* argv) {
    const auto taken = [](int number) { // by a test, MPI, or a sanitizer
        struct sigaction action {};
        return sigaction(number, nullptr, &action) != 0 || action.sa_handler != SIG_DFL;
    };
    const bool rank = std::getenv("PMIX_RANK") || std::getenv("PMI_RANK"); // of MPI: it cannot join the others again
    if (arguments || taken(SIGABRT) || rank || access("/proc/self/exe", X_OK) != 0) return;
    arguments = argv;
    self = getpid();
    std::atexit([] {
        if (std::string_view(ended.setting).ends_with(searching)) start_again(ended);
    });
    for (const int number : {SIGALRM, SIGSEGV, SIGBUS, SIGILL, SIGFPE})
        if (!taken(number)) std::signal(number, on_signal);
    environment = {ended.setting};
    for (char** one = environ; *one; ++one)
        if (!std::string(*one).starts_with(variable)) environment.push_back(*one);
    environment.push_back(nullptr);
}

} // namespace gpulab::detail

extern "C" {

void abort() noexcept {
    gpulab::detail::start_again(gpulab::detail::ended);
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
