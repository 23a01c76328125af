#include "gpulab/diagnosis.hpp"

#include <fmt/format.h>

namespace gpulab {

namespace {

/// 1st, 2nd, 3rd, 4th, 11th, 32nd.
std::string ordinal(std::size_t n) {
    const std::size_t tens = n / 10 % 10, ones = n % 10;
    const char* const ending = tens == 1 ? "th" : ones == 1 ? "st" : ones == 2 ? "nd" : ones == 3 ? "rd" : "th";
    return fmt::format("{}{}", n, ending);
}

std::string range(std::size_t first, std::size_t last) {
    return first == last ? fmt::format("{}", first) : fmt::format("{} to {}", first, last);
}

} // namespace

void IndexPattern::add(std::size_t i) {
    if (count_ == 0 || i != last_ + 1) { // a run begins
        if (runs_ == 0) {
            first_ = i;
        } else if (runs_ == 1) {
            first_end_ = last_ + 1;
            period_ = i - first_;
        } else {
            same_lengths_ = same_lengths_ && last_ + 1 - begin_ == first_end_ - first_;
            same_period_ = same_period_ && i - begin_ == period_;
        }
        begin_ = i;
        ++runs_;
    }
    last_ = i;
    ++count_;
}

std::string IndexPattern::in_words(std::size_t n) const {
    if (count_ == 0) return "";
    if (count_ == n) return "all";
    if (count_ == 1) return fmt::format("element {}", first_);
    if (runs_ == 1) {
        constexpr std::size_t few = 256; // the elements left over after whole work-groups are fewer
        if (first_ == 0) return fmt::format("the first {}", count_);
        if (last_ + 1 < n) return "elements " + range(first_, last_);
        return count_ < few ? fmt::format("the last {}", count_) : fmt::format("all from element {} on", first_);
    }
    if (runs_ == 2) return "elements " + range(first_, first_end_ - 1) + " and " + range(begin_, last_);

    const std::size_t length = first_end_ - first_, last_length = last_ + 1 - begin_;
    const bool cut_short = last_length < length && last_ + 1 == n; // by the end of the array
    if (!same_period_ || !same_lengths_ || !(last_length == length || cut_short)) return "";
    std::string words =
        length == 1 ? fmt::format("every {}", ordinal(period_)) : fmt::format("{} of every {}", length, period_);
    if (first_ > 0) words += fmt::format(", from element {} on", first_);
    if (begin_ + period_ < n) words += fmt::format(", up to element {}", last_);
    return words;
}

void Diagnosis::wrong(std::size_t i, std::size_t n, unsigned looks) {
    wrong_.add(i);
    any_ |= looks;
    // The ends have no neighbour on one side, so nothing they hold speaks against a shift.
    if (i == 0) looks |= look_before;
    if (i + 1 == n) looks |= look_after;
    all_ &= looks;
    if (looks & look_poison) ++poison_;
    if (looks & look_nan) ++nan_;
}

std::string Diagnosis::where() const {
    const std::size_t n = right_.count() + wrong_.count();
    if (const std::string simple = wrong_.in_words(n); !simple.empty())
        return wrong_.count() == 1 && n > 1 ? "only " + simple : simple;
    if (wrong_.count() > right_.count())
        if (const std::string simple = right_.in_words(n); !simple.empty()) return "all but " + simple;
    const std::size_t span = wrong_.last() + 1 - wrong_.first();
    const bool nearly_all = wrong_.count() >= span - span / 10;
    return fmt::format("{} element {} and element {}", nearly_all ? "nearly all between" : "scattered between",
                       wrong_.first(), wrong_.last());
}

std::string Diagnosis::what(bool integers, bool bytes) const {
    const std::string unwritten = integers ? "never written" : "never written, or computed from unwritten data";
    const unsigned look = all_ & any_; // at least one element has it, and none speaks against it
    if (look & look_poison) return unwritten;
    if (look & look_nan) return "NaN";
    if (look & look_zero) return "zero";
    if (look & look_before) return "off by one: what is expected one element before";
    if (look & look_after) return "off by one: what is expected one element after";
    if (look & look_twice) return "twice the expected value";
    if (look & look_half) return "half the expected value";
    if (look & look_negative) return "the expected value with the other sign";
    const std::size_t by_chance = bytes ? wrong_.count() / 16 : 0;
    if (poison_ > by_chance) return fmt::format("{} of them {}", poison_, unwritten);
    if (nan_ > 0) return fmt::format("{} of them NaN", nan_);
    return "";
}

} // namespace gpulab
