#include "checked_run.hpp"

#include <atomic>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <mutex>
#include <unistd.h>

#include "checks/checks.hpp"
#include "checks/counts.hpp"
#include "runtime.hpp"

namespace cuda_emulator {

namespace {

Checks& checks() {
    static auto* const all = new Checks;
    return *all;
}

/// Where counts go, a line for each launch. @return nullptr where nobody asked for them
std::ostream* counts() {
    static std::ostream* const file = [] {
        if (options().counts.empty()) return static_cast<std::ostream*>(nullptr);
        auto* const made = new std::ofstream(options().counts, std::ios::app);
        if (!*made) {
            say("CUDA_EMULATOR_COUNTS: " + options().counts + " cannot be written");
            std::_Exit(2);
        }
        return static_cast<std::ostream*>(made);
    }();
    return file;
}

std::atomic<int> kernels_that_wait = 0;
std::atomic<bool> refused = false;

/// At the end of the process, behind the program's own handlers.
void at_exit(int status, void*) {
    if (const int left = kernels_that_wait; left > 0 && sticky_error() == cudaSuccess)
        say("the program ended before " + std::to_string(left) + (left == 1 ? " kernel" : " kernels") +
            " began, because it never waited for them (cudaDeviceSynchronize)");
    if (options().check != Options::Check::fail || status != 0) return;
    if (checks().findings().count() == 0 && sticky_error() == cudaSuccess && !refused) return;
    std::fflush(nullptr);
    _exit(exit_with_findings);
}

[[gnu::constructor]] void when_loaded() { on_exit(at_exit, nullptr); }

} // namespace

void say(const std::string& line) { std::fprintf(stderr, "CUDA emulator: %s\n", line.c_str()); }

void refuse(const std::string& line) {
    say(line);
    refused = true;
}

void note_waiting_kernels(int change) { kernels_that_wait += change; }

void run_checked(const Launch& launch, Memory& arena) {
    static std::mutex lock;
    std::unique_ptr<Observer> observer;
    if (options().check != Options::Check::off) observer = checks().observe();
    if (std::ostream* const out = counts()) {
        std::unique_ptr<Observer> counter = count_launch(*out, lock);
        observer = observer ? both(std::move(observer), std::move(counter)) : std::move(counter);
    }
    run(launch, arena, observer.get());
    if (std::ostream* const out = counts()) out->flush();
}

void say_fault(const Fault& fault) {
    if (options().check == Options::Check::off) return say(fault.what());
    // What the checks see they have told of, in more words.
    if (checks().findings().count() > 0 &&
        (fault.kind == Fault::Kind::illegal_address || fault.kind == Fault::Kind::misaligned_address))
        return;
    std::string what = fault.text;
    what[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(what[0])));
    checks().findings().add({what, "fault", fault.kernel, "", {fault.thread, fault.block, fault.instruction}, {}});
}

} // namespace cuda_emulator
