/// @file
/// A host thread for each device: where one thread puts the commands of all devices into their queues, one device after
/// the other, every device waits for the host.
#pragma once

#include <atomic>
#include <exception>
#include <functional>
#include <thread>
#include <utility>
#include <vector>

#include "gpulab/threads.hpp"

namespace cg {

/// Threads that do the same for all devices at the same time, each for its own. To put a command into a queue takes the
/// host some microseconds, which a single thread spends for one device after the other. The threads live as long as
/// this object, and wait awake for some ten milliseconds, because waking up takes as long as several commands.
class HostThreads {
public:
    /// @param count of devices; the caller's thread works for the first one
    explicit HostThreads(std::size_t count) : errors_(count) {
        try {
            for (std::size_t i = 1; i < count; ++i) threads_.start([this, i] { work(i); });
        } catch (...) { // no more threads: those that wait must end
            begin(nullptr);
            throw;
        }
    }
    ~HostThreads() { begin(nullptr); }
    HostThreads(const HostThreads&) = delete;
    HostThreads& operator=(const HostThreads&) = delete;

    /// Calls body(i) for every device i, and waits. @throws what it throws for one of them
    void on_all(const std::function<void(std::size_t)>& body) {
        begin(&body);
        call(0);
        while (busy_ > 0) std::this_thread::yield();
        std::exception_ptr first;
        for (std::exception_ptr& error : errors_)
            if (const std::exception_ptr here = std::exchange(error, nullptr); !first) first = here;
        if (first) std::rethrow_exception(first);
    }

private:
    /// Begins a round, in which every thread calls the body once; null ends the threads.
    void begin(const std::function<void(std::size_t)>* body) {
        body_ = body;
        busy_ = threads_.count();
        ++round_;
        round_.notify_all();
    }
    void work(std::size_t i) {
        for (unsigned seen = 0;; ++seen) {
            for (int turn = 0; turn < 50'000 && round_ == seen; ++turn) std::this_thread::yield();
            round_.wait(seen);
            if (!body_) return;
            call(i);
            --busy_;
        }
    }
    void call(std::size_t i) try { (*body_)(i); } catch (...) {
        errors_[i] = std::current_exception();
    }

    const std::function<void(std::size_t)>* body_ = nullptr;
    std::atomic<unsigned> round_ = 0;
    std::atomic<std::size_t> busy_ = 0;
    std::vector<std::exception_ptr> errors_; // of the devices
    gpulab::Threads threads_;                // the last member: they end before what they use
};

} // namespace cg
