/// @file
/// How wide a table on stdout may be, and whether it may have colours.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace gpulab {

/// No table is wider than max_columns, and none has to be narrower than min_columns.
inline constexpr std::size_t max_columns = 110, min_columns = 80;

/// Where tables are shown.
struct Terminal {
    std::size_t columns = max_columns; ///< no line of a table is longer; min_columns ... max_columns
    bool colour = false;               ///< whether to write escape codes for colours
    bool progress = false;             ///< whether stderr is a terminal, so that a line there can be overwritten
};

/// How to print to stdout. A file or a pipe gets max_columns and no colour, whatever the environment says. Of a
/// terminal the variable COLUMNS says how wide it is, whatever it says itself. It has no colours if NO_COLOR is set and
/// not empty (no-color.org), or TERM is "dumb".
Terminal terminal_of_stdout();

/// Breaks text between words into lines of at most `columns` characters. A word that is longer stays whole, and so does
/// `n = 5`.
/// @param first_indent,indent spaces in front of the first line and of the others
/// @return the lines, each with its line feed
std::string wrapped(std::string_view text, std::size_t columns, std::size_t first_indent, std::size_t indent);

} // namespace gpulab
