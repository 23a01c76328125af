#include "gpulab/terminal.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include <sys/ioctl.h>
#include <unistd.h>

namespace gpulab {

namespace {

/// The width that the terminal behind stdout says it has; 0 when it says nothing.
std::size_t width_of_stdout() {
#if defined(TIOCGWINSZ)
    winsize size{};
    if (ioctl(fileno(stdout), TIOCGWINSZ, &size) == 0) return size.ws_col;
#endif
    return 0;
}

/// Whether a line may end before this character: a space or a line feed, but not beside an equals sign.
bool may_break(std::string_view text, std::size_t at) {
    if (text[at] == '\n') return true;
    return text[at] == ' ' && at > 0 && text[at - 1] != '=' && text.substr(at, 2) != " =";
}

} // namespace

Terminal make_terminal(bool is_terminal, std::size_t columns, const TerminalVariables& variables) {
    Terminal terminal;
    if (!is_terminal) return terminal;
    if (variables.columns && std::atoi(variables.columns) > 0)
        columns = static_cast<std::size_t>(std::atoi(variables.columns));
    if (columns > 0) terminal.columns = std::clamp(columns, min_columns, max_columns);
    const bool refused = variables.no_color && *variables.no_color;
    const bool dumb = variables.term && std::string_view(variables.term) == "dumb";
    terminal.colour = !refused && !dumb;
    return terminal;
}

Terminal terminal_of_stdout() {
    Terminal terminal = make_terminal(
        isatty(fileno(stdout)) != 0, width_of_stdout(),
        {.columns = std::getenv("COLUMNS"), .no_color = std::getenv("NO_COLOR"), .term = std::getenv("TERM")});
    terminal.progress = isatty(fileno(stderr)) != 0;
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
