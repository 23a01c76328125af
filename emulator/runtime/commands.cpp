#include "commands.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>

#include "host_access.hpp"
#include "options.hpp"

namespace cuda_emulator {

namespace {

/// A host gets this many commands ahead of its devices at most, as on a GPU.
constexpr std::size_t most_pending = 1024;
/// How long a host that makes no call of the runtime computes on before all that waits is carried out beside it: it may
/// be waiting for a kernel that stores to its memory.
constexpr std::chrono::milliseconds host_is_silent{100};

struct Pending {
    std::mutex mutex;
    std::condition_variable changed;
    std::deque<CommandPtr> commands; // in the order in which they came; some are done
    std::uint64_t calls = 0;         // of add() and finish()
    std::uint64_t random = 0;
    bool watched = false;
};

Pending& pending() {
    static auto* const all = new Pending; // never destroyed: threads and destructors of the program may still need it
    return *all;
}

std::uint64_t next_random(std::uint64_t& state) { // xorshift64* (Marsaglia; Vigna)
    state ^= state >> 12, state ^= state << 25, state ^= state >> 27;
    return state * 0x2545F4914F6CDD1D;
}

/// Helps where the host has been silent for a while.
void watch_host() {
    std::uint64_t before = 0;
    for (;;) {
        std::this_thread::sleep_for(host_is_silent);
        bool silent = false;
        {
            Pending& all = pending();
            const std::lock_guard lock(all.mutex);
            silent = all.calls == before && !all.commands.empty();
            before = all.calls;
        }
        if (silent) Schedule::help();
    }
}

} // namespace

CommandPtr Schedule::add(std::function<void()> work, std::vector<CommandPtr> after) {
    Pending& all = pending();
    const std::lock_guard lock(all.mutex);
    std::erase_if(after, [](const CommandPtr& c) { return !c || c->state_ == Command::State::done; });
    const CommandPtr command = std::make_shared<Command>(std::move(work), std::move(after));
    const auto done = [](const CommandPtr& c) { return c->state_ == Command::State::done; };
    while (!all.commands.empty() && done(all.commands.front())) all.commands.pop_front();
    all.commands.push_back(command);
    ++all.calls;
    if (!std::exchange(all.watched, true)) {
        all.random = options().order * 0x9E3779B97F4A7C15;
        std::thread(watch_host).detach();
    }
    return command;
}

void Schedule::after_add(const CommandPtr& command) {
    Pending& all = pending();
    std::unique_lock lock(all.mutex);
    const CommandPtr oldest = all.commands.size() > most_pending ? all.commands.front() : nullptr;
    const bool at_once = options().order != 0 && next_random(all.random) >> 63;
    lock.unlock();
    if (oldest) finish(oldest);
    if (at_once) finish(command);
}

bool Schedule::is_done(const CommandPtr& command) {
    const std::lock_guard lock(pending().mutex);
    return !command || command->state_ == Command::State::done;
}

void Schedule::finish(const CommandPtr& command) {
    if (is_done(command)) return;
    const DeviceMemoryOpen open;
    Pending& all = pending();
    std::unique_lock lock(all.mutex);
    ++all.calls;
    std::vector<CommandPtr> stack{command}; // each waits for the one behind it
    while (!stack.empty()) {
        const CommandPtr current = stack.back();
        if (current->state_ == Command::State::running) { // by another thread
            all.changed.wait(lock, [&] { return current->state_ == Command::State::done; });
        }
        if (current->state_ == Command::State::done) {
            stack.pop_back();
            continue;
        }
        const auto first = std::ranges::find_if(current->after_,
                                                [](const CommandPtr& c) { return c->state_ != Command::State::done; });
        if (first != current->after_.end()) {
            stack.push_back(*first);
            continue;
        }
        current->state_ = Command::State::running;
        lock.unlock();
        current->work_();
        lock.lock();
        current->state_ = Command::State::done;
        current->work_ = nullptr;
        current->after_.clear();
        all.changed.notify_all();
        stack.pop_back();
    }
}

CommandPtr Schedule::next_ready() {
    for (const CommandPtr& command : pending().commands) {
        const auto done = [](const CommandPtr& c) { return c->state_ == Command::State::done; };
        if (command->state_ == Command::State::waiting && !command->taken_ &&
            std::ranges::all_of(command->after_, done)) {
            command->taken_ = true;
            return command;
        }
    }
    return nullptr;
}

void Schedule::help() {
    const auto next = [] {
        const std::lock_guard lock(pending().mutex);
        return next_ready();
    };
    while (const CommandPtr first = next()) // each of them may wait for another one
        std::thread([first, next] {
            for (CommandPtr command = first; command; command = next()) finish(command);
        }).detach();
}

void Schedule::finish_all() {
    for (;;) {
        CommandPtr last;
        {
            Pending& all = pending();
            const std::lock_guard lock(all.mutex);
            std::erase_if(all.commands, [](const CommandPtr& c) { return c->state_ == Command::State::done; });
            if (all.commands.empty()) return;
            last = all.commands.back();
        }
        finish(last);
    }
}

} // namespace cuda_emulator
