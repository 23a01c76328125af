/// @file
/// Starts threads, or says why not; and teams of threads that wait for each other.
#pragma once

#include <cstddef>
#include <functional>
#include <thread>
#include <vector>

namespace gpulab {

/// Threads that run until their work is done. Its destructor waits for all of them.
class Threads {
public:
    Threads() = default;
    ~Threads() { join(); }
    Threads(const Threads&) = delete;
    Threads& operator=(const Threads&) = delete;

    /// Starts a thread that calls work(), which does not throw. @throws Unsupported when the system has no more threads
    void start(std::function<void()> work);
    void join();                                          ///< waits for all threads
    std::size_t count() const { return threads_.size(); } ///< started, and not joined yet

private:
    std::vector<std::thread> threads_;
};

/// Calls body(thread) for thread = 0 ... threads - 1, all at the same time, and waits: they may wait for each other.
/// None begins before all have been started.
/// @throws Unsupported when the system has no more threads: then no body has been called. Else the exception of the
///         first thread that threw
void in_team(int threads, const std::function<void(int thread)>& body);

/// The same for threads that meet at a std::barrier of that size. A thread that throws leaves it, so that the others do
/// not wait for it.
template <class Barrier, class Body> void in_team(int threads, Barrier& barrier, const Body& body) {
    in_team(threads, [&](int thread) {
        try {
            body(thread);
        } catch (...) {
            barrier.arrive_and_drop();
            throw;
        }
    });
}

} // namespace gpulab
