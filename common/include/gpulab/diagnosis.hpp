/// @file
/// What a wrong output looks like, in words: which elements are wrong, and what they hold instead.
#pragma once

#include <cmath>
#include <cstddef>
#include <span>
#include <string>

#include "gpulab/poison.hpp"

namespace gpulab {

/// A set of indices, described in words: "the last 3", "every 32nd, from element 31 on". Does not store them.
class IndexPattern {
public:
    /// @param i greater than the one before
    void add(std::size_t i);

    std::size_t count() const { return count_; }
    std::size_t first() const { return first_; }
    std::size_t last() const { return last_; }

    /// @param n the number of elements there are, greater than last() @return "" when they follow no simple rule
    std::string in_words(std::size_t n) const;

private:
    // Indices that follow each other are a run. The first run ends before first_end_, the last one begins at begin_.
    std::size_t count_ = 0, runs_ = 0, first_ = 0, last_ = 0, first_end_ = 0, begin_ = 0;
    std::size_t period_ = 0;   // from the first run to the second
    bool same_period_ = true;  // from every run to the next
    bool same_lengths_ = true; // of all runs; the last one is not looked at before it has ended
};

/// What a wrong element may hold; several can be true at a time, so they are bits of one number.
inline constexpr unsigned look_poison = 1, look_nan = 2, look_zero = 4;
inline constexpr unsigned look_before = 8, look_after = 16; ///< what is expected one element before, or after
inline constexpr unsigned look_twice = 32, look_half = 64, look_negative = 128; ///< a multiple of what is expected

/// What the wrong element i looks like: look_zero and so on, combined.
/// @param matches `matches(a, b)`: is a, within the tolerance for element i, the same as b?
template <class T, class Matches>
unsigned looks_of(std::size_t i, std::span<const T> expected, T actual, const Matches& matches) {
    const double e = static_cast<double>(expected[i]), a = static_cast<double>(actual);
    unsigned looks = is_poison(actual) ? look_poison : 0; // of an integer it may be something else, too
    if (std::isnan(a)) return looks ? looks : look_nan;
    if (a == 0) looks |= look_zero;
    if (i > 0 && matches(expected[i - 1], actual)) looks |= look_before;
    if (i + 1 < expected.size() && matches(expected[i + 1], actual)) looks |= look_after;
    const auto multiple = [&](double factor, unsigned look) { // not where the multiple would have passed for right
        if (matches(factor * e, a) && !matches(e, factor * e)) looks |= look;
    };
    multiple(2, look_twice);
    multiple(0.5, look_half);
    multiple(-1, look_negative);
    return looks;
}

/// Collects which elements are right or wrong, and says what the wrong ones look like.
class Diagnosis {
public:
    /// Element i is right. Call right() or wrong() once for every element, in ascending order.
    void right(std::size_t i) { right_.add(i); }
    /// Element i is wrong.
    /// @param n the number of elements @param looks from looks_of()
    void wrong(std::size_t i, std::size_t n, unsigned looks);

    /// Where the wrong elements are: "the last 3", "all but every 32nd", "between element 5 and element 90".
    std::string where() const;

    /// What all wrong elements hold, or how many were never written: "zero", "twice the expected value"; "" when they
    /// have nothing in common.
    /// @param integers whether the elements are integers
    /// @param bytes whether they have one byte: about one random byte in 256 equals the poison
    std::string what(bool integers, bool bytes) const;

private:
    IndexPattern right_, wrong_;
    unsigned all_ = ~0u, any_ = 0; // the looks that all wrong elements have, and that at least one has
    std::size_t poison_ = 0, nan_ = 0;
};

} // namespace gpulab
