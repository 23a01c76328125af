/// @file
/// Starts threads, or says why not. Cuts an index range into parts and gives each to a thread, whose exception reaches
/// the caller; or starts a team of threads that wait for each other.
#pragma once

#include <cstddef>
#include <cstring>
#include <functional>
#include <thread>
#include <type_traits>
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

/// The number of parts that the work is worth, at most hardware_threads().
/// @param worth_a_thread work below which another thread does not pay off
unsigned parts_for(std::size_t work, std::size_t worth_a_thread);

namespace detail {
void call_for_parts(unsigned parts, void (*call)(const void* body, unsigned part), const void* body);
}

/// Calls body(part) for part = 0 ... parts - 1, each in its own thread, and waits. Where the system has no more
/// threads, the caller's thread does the parts that are left: no part may wait for another.
/// @throws the first part's exception, if any threw
template <class Body> void for_parts(unsigned parts, const Body& body) {
    const auto call = [](const void* b, unsigned part) { (*static_cast<const Body*>(b))(part); };
    detail::call_for_parts(parts, call, &body);
}

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

/// Calls body(begin, end) for consecutive pieces of 0 ... n - 1.
template <class Body> void for_ranges(std::size_t n, std::size_t worth_a_thread, const Body& body) {
    const unsigned parts = parts_for(n, worth_a_thread);
    for_parts(parts, [&](unsigned part) {
        const std::size_t share = n / parts, rest = n % parts;
        const std::size_t begin = part * share + (part < rest ? part : rest);
        body(begin, begin + share + (part < rest ? 1 : 0));
    });
}

/// n zeros. For a large array this takes less time than std::vector<T>(n): the system clears each page of new memory
/// when it is first written, and here all threads write first.
/// @tparam T a number, or a structure of numbers
template <class T> std::vector<T> zeros(std::size_t n) {
    static_assert(std::is_trivially_copyable_v<T>);
    constexpr std::size_t worth_a_thread = std::size_t{1} << 20;
    std::vector<T> values;
    if (n == 0) return values;
    values.reserve(n);
    for_ranges(n, worth_a_thread, [&](std::size_t begin, std::size_t end) {
        std::memset(static_cast<void*>(values.data() + begin), 0, (end - begin) * sizeof(T));
    });
    values.resize(n);
    return values;
}

} // namespace gpulab
