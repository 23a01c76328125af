#include "host_access.hpp"

#include <csignal>
#include <cstdint>
#include <map>
#include <mutex>
#include <sys/mman.h>
#include <unistd.h>

#include "runtime.hpp"

namespace cuda_emulator {

namespace {

struct Closed {
    std::mutex mutex;
    std::map<char*, std::size_t> ranges; // whole pages
    int open = 0;
};

Closed& closed() {
    static auto* const all = new Closed;
    return *all;
}

/// In a signal handler little is allowed: no more than this.
void explain(int, siginfo_t* info, void*) {
    static constexpr char line[] = "CUDA emulator: the host touches device memory: copy it with cudaMemcpy\n";
    if (memory().in_arena(reinterpret_cast<std::uintptr_t>(info->si_addr)))
        (void)!write(STDERR_FILENO, line, sizeof line - 1);
    std::signal(SIGSEGV, SIG_DFL); // and the access is done again
}

void watch_faults() {
    struct sigaction known {};
    if (sigaction(SIGSEGV, nullptr, &known) != 0 || known.sa_handler != SIG_DFL) return; // the program has its own
    struct sigaction own {};
    own.sa_sigaction = explain;
    own.sa_flags = SA_SIGINFO;
    sigaction(SIGSEGV, &own, nullptr);
}

} // namespace

void close_to_host(void* begin, std::size_t bytes) {
    static std::once_flag once;
    std::call_once(once, watch_faults);
    Closed& all = closed();
    const std::lock_guard lock(all.mutex);
    const std::size_t whole = (bytes + page_bytes - 1) / page_bytes * page_bytes;
    all.ranges[static_cast<char*>(begin)] = whole;
    if (all.open == 0) mprotect(begin, whole, PROT_NONE);
}

void open_to_host(void* begin) {
    Closed& all = closed();
    const std::lock_guard lock(all.mutex);
    const auto found = all.ranges.find(static_cast<char*>(begin));
    if (found == all.ranges.end()) return;
    mprotect(begin, found->second, PROT_READ | PROT_WRITE);
    all.ranges.erase(found);
}

DeviceMemoryOpen::DeviceMemoryOpen() {
    Closed& all = closed();
    const std::lock_guard lock(all.mutex);
    if (all.open++ > 0) return;
    for (const auto& [begin, bytes] : all.ranges) mprotect(begin, bytes, PROT_READ | PROT_WRITE);
}

DeviceMemoryOpen::~DeviceMemoryOpen() {
    Closed& all = closed();
    const std::lock_guard lock(all.mutex);
    if (--all.open > 0) return;
    for (const auto& [begin, bytes] : all.ranges) mprotect(begin, bytes, PROT_NONE);
}

} // namespace cuda_emulator
