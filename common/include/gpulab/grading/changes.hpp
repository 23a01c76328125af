/// @file
/// In a test of speed an input changes between the repeats of a call, so that no repeat can hand in what an earlier one
/// has computed. The worker changes it, and the judge, which computes the reference, does the same once more.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "gpulab/input.hpp"

namespace gpulab::grading {

/// A part of an array that gets the values of another part.
struct Change {
    std::size_t to = 0, from = 0, count = 0;
};

/// What changes before a run: something before the last run, and before one in eight of the others.
/// @param seed of the changes of a case; it says nothing about the inputs
/// @param run,runs the number of the run, from 0, and how many there are
/// @param n the length of the array
inline std::optional<Change> change_before(std::uint64_t seed, int run, int runs, std::size_t n) {
    const auto bits = [&](std::uint64_t i) { return random_bits(seed, static_cast<std::uint64_t>(4 * run) + i); };
    const std::size_t count = std::max<std::size_t>(1, n / 256);
    if (n < 2 || (run + 1 < runs && bits(0) % 8 != 0)) return {};
    return Change{bits(1) % (n - count + 1), bits(2) % (n - count + 1), count};
}

/// Makes a change on the host.
template <class T> void make(const Change& change, std::vector<T>& values) {
    const std::vector<T> part(values.begin() + static_cast<std::ptrdiff_t>(change.from),
                              values.begin() + static_cast<std::ptrdiff_t>(change.from + change.count));
    std::copy(part.begin(), part.end(), values.begin() + static_cast<std::ptrdiff_t>(change.to));
}

/// What `Task::changing(problem)` returns: the input that may change. Tasks without it have none.
template <class Task>
concept Changing = requires(typename Task::Problem& problem) {
    Task::changing(problem);
};

} // namespace gpulab::grading
