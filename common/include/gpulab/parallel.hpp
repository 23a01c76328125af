/// @file
/// Cuts an index range into parts and gives each to a thread. An exception in a part reaches the caller.
#pragma once

#include <algorithm>
#include <cstddef>
#include <exception>
#include <thread>
#include <vector>

#include "gpulab/device.hpp"

namespace gpulab {

/// The number of parts that the work is worth, at most hardware_threads().
/// @param worth_a_thread work below which another thread does not pay off
inline unsigned parts_for(std::size_t work, std::size_t worth_a_thread) {
    const auto most = static_cast<std::size_t>(hardware_threads());
    return static_cast<unsigned>(std::clamp<std::size_t>(work / worth_a_thread, 1, most));
}

/// Calls body(part) for part = 0 ... parts - 1, each in its own thread, and waits.
/// @throws the first part's exception, if any threw
template <class Body> void for_parts(unsigned parts, const Body& body) {
    std::vector<std::exception_ptr> errors(parts);
    const auto guarded = [&](unsigned part) {
        try {
            body(part);
        } catch (...) {
            errors[part] = std::current_exception();
        }
    };
    {
        std::vector<std::jthread> workers;
        for (unsigned part = 1; part < parts; ++part) workers.emplace_back(guarded, part);
        if (parts > 0) guarded(0);
    }
    for (const std::exception_ptr& error : errors)
        if (error) std::rethrow_exception(error);
}

/// Calls body(begin, end) for consecutive pieces of 0 ... n - 1.
template <class Body> void for_ranges(std::size_t n, std::size_t worth_a_thread, const Body& body) {
    const unsigned parts = parts_for(n, worth_a_thread);
    for_parts(parts, [&](unsigned part) {
        const std::size_t share = n / parts, rest = n % parts;
        const std::size_t begin = part * share + std::min<std::size_t>(part, rest);
        body(begin, begin + share + (part < rest ? 1 : 0));
    });
}

} // namespace gpulab
