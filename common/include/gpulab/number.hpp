/// @file
/// Numbers in text files.
#pragma once

#include <charconv>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

namespace gpulab {

namespace detail {
/// real_in() by the C library, for a C++ library whose from_chars() reads no real numbers: libc++ before version 20.
inline std::optional<double> real_by_strtod(const std::string& word) {
    if (word.find_first_not_of("+ \t\n\v\f\r") != 0 || word.find_first_of("xX") != word.npos) return {};
    char* stop = nullptr;
    const double number = std::strtod(word.c_str(), &stop);
    return stop == word.c_str() + word.size() ? std::optional(number) : std::nullopt;
}
} // namespace detail

/// The number that a word is, as C writes it, also nan and inf. One that is too large becomes infinite, one that is too
/// small 0. @return nothing for a word that is no number
inline std::optional<double> real_in(std::string_view word) {
    if (word.size() > 1 && word[0] == '+' && word[1] != '-') word.remove_prefix(1);
    const auto read = [&word](auto number) -> std::optional<double> {
        const char* const end = word.data() + word.size();
        if constexpr (requires { std::from_chars(end, end, number); }) {
            const auto [stop, error] = std::from_chars(word.data(), end, number);
            if (stop != end) return {};
            if (error != std::errc::result_out_of_range)
                return error == std::errc{} ? std::optional(number) : std::nullopt;
        }
        return detail::real_by_strtod(std::string(word));
    };
    return read(0.0);
}

/// A hint for the message about a word that is no number, or "": some programs write a minus sign or a dash for -.
inline std::string_view hint_of_minus(std::string_view word) {
    const bool other = word.starts_with("\xE2\x88\x92") || word.starts_with("\xE2\x80\x93"); // U+2212, U+2013
    return other ? "; its minus is not the character -" : "";
}

} // namespace gpulab
