/// @file
/// Cuts an index range into parts and gives each to a thread, whose exception reaches the caller. Threads that wait for
/// each other: threads.hpp. (Apart from it, because what it includes would take a third of the time in which a
/// CUDA rung compiles.)
#pragma once

#include <cstddef>
#include <cstring>
#include <type_traits>
#include <vector>

namespace gpulab {

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
