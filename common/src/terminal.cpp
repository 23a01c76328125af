#include "gpulab/terminal.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include <sys/ioctl.h>
#include <unistd.h>

namespace gpulab {

namespace {

/// The width of the terminal behind stdout; 0 when nothing says it.
std::size_t width_of_stdout() {
    const char* const told = std::getenv("COLUMNS");
    if (told && std::atoi(told) > 0) return static_cast<std::size_t>(std::atoi(told));
    winsize size{};
    return ioctl(fileno(stdout), TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

/// Whether a line may end before this character: a space or a line feed, but not beside an equals sign.
bool may_break(std::string_view text, std::size_t at) {
    if (text[at] == '\n') return true;
    return text[at] == ' ' && at > 0 && text[at - 1] != '=' && text.substr(at, 2) != " =";
}

} // namespace

Terminal terminal_of_stdout() {
    Terminal terminal;
    terminal.progress = isatty(fileno(stderr)) != 0;
    if (isatty(fileno(stdout)) == 0) return terminal;
    if (const std::size_t columns = width_of_stdout(); columns > 0)
        terminal.columns = std::clamp(columns, min_columns, max_columns);
    const char *const no_color = std::getenv("NO_COLOR"), *const term = std::getenv("TERM");
    terminal.colour = !(no_color && *no_color) && !(term && std::string_view(term) == "dumb");
    return terminal;
}

std::string wrapped(std::string_view text, std::size_t columns, std::size_t first_indent, std::size_t indent) {
    std::string lines;
    for (bool first = true; first || !text.empty(); first = false) {
        const std::size_t spaces = first ? first_indent : indent;
        const std::size_t room = columns > spaces ? columns - spaces : 1;
        // Up to the line feed, if there is one within the room; else to the last place that leaves the line short
        // enough.
        std::size_t end = text.find('\n');
        if (std::min(end, text.size()) > room) {
            end = room;
            while (end > 0 && !may_break(text, end)) --end;
            if (end == 0) // the first word is too long
                for (end = room; end < text.size() && !may_break(text, end);) ++end;
        }
        std::string_view line = text.substr(0, end);
        line = line.substr(0, line.find_last_not_of(' ') + 1);
        lines.append(spaces, ' ').append(line) += '\n';
        text.remove_prefix(std::min(end, text.size()));
        text.remove_prefix(std::min(text.find_first_not_of(" \n"), text.size()));
    }
    return lines;
}

} // namespace gpulab
