#include "table.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace gpulab {

namespace {

constexpr std::size_t variant_width = 24; // of nearly all names in the labs; a longer one takes the space behind it
constexpr std::size_t device_width = 8;   // "opencl:0"
constexpr std::size_t min_width = 8;      // of a named column of figures: "12345.67"
constexpr int stays = 100;                // Column::leaves of those that never do

const Parameter* find(const Parameters& parameters, const std::string& name) {
    const auto found =
        std::find_if(parameters.begin(), parameters.end(), [&](const Parameter& p) { return p.name == name; });
    return found == parameters.end() ? nullptr : &*found;
}

/// The number with this number of decimals, or with fewer when it is too long.
std::string fitted(double value, int decimals, std::size_t width) {
    for (; decimals >= 0; --decimals)
        if (std::string text = fmt::format("{:.{}f}", value, decimals); text.size() <= width) return text;
    return fmt::format("{:.1e}", value);
}

/// The same for a figure that may not have been measured.
std::string figure(double value, int decimals, std::size_t width, bool known) {
    return known ? fitted(value, decimals, width) : "-";
}

std::string named_cell(const Parameter* p, const NamedColumn& column, std::size_t width) {
    if (!p) return "-";
    const auto* const number = std::get_if<double>(&p->value);
    if (!number) return shown(*p);
    std::string text = fmt::format(fmt::runtime(column.format), *number);
    return text.size() <= width ? text : fmt::format("{:.1e}", *number);
}

/// Without characters that a terminal would act on.
std::string harmless(std::string text) {
    for (char& c : text)
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) c = '?';
    return text;
}

} // namespace

std::string shown(const Parameter& p) {
    if (const auto* text = std::get_if<std::string>(&p.value)) return harmless(*text);
    if (const auto* whole = std::get_if<std::int64_t>(&p.value)) return fmt::format("{}", *whole);
    const double number = std::get<double>(p.value);
    const bool is_whole = number == std::floor(number) && std::abs(number) < 1e15;
    return is_whole ? fmt::format("{:.0f}", number) : fmt::format("{:.6g}", number);
}

Table::Table(const Parameters& problem, const Work& work, const std::vector<NamedColumn>& named, bool with_device,
             const Terminal& terminal)
    : terminal_(terminal), with_device_(with_device) {
    const auto timed = [](const Result& r) { return r.kernel.repeats > 0 && !r.device.emulated; };
    // What a row can do without leaves first: the error of a right result, the rate that is not the bound, ...
    const int flops_leave = work.arithmetic == Arithmetic::none ? 2 : 20;
    const int bytes_leave = work.arithmetic == Arithmetic::none ? 20 : 2;
    figures_.push_back(
        {"kernel ms", 9, stays, [=](const Result& r) { return figure(r.kernel.median, 4, 9, timed(r)); }});
    figures_.push_back({"total ms", 9, 21, [=](const Result& r) { return figure(r.total_ms, 4, 9, r.total_ms > 0); }});
    if (work.bytes > 0)
        figures_.push_back(
            {"GB/s", 8, bytes_leave, [=](const Result& r) { return figure(r.gb_per_s(), 2, 8, timed(r)); }});
    if (work.flops > 0)
        figures_.push_back(
            {"GFLOP/s", 8, flops_leave, [=](const Result& r) { return figure(r.gflop_per_s(), 2, 8, timed(r)); }});
    figures_.push_back({"% bound", 7, stays, [](const Result& r) { return figure(r.percent, 1, 7, r.percent > 0); }});
    figures_.push_back({"speed-up", 8, 22, [](const Result& r) { return figure(r.speedup, 2, 8, r.speedup > 0); }});
    int extras = 0;
    for (const NamedColumn& column : named) {
        if (const Parameter* p = find(problem, column.name)) {
            parameters_.push_back(column);
            parameter_widths_.push_back(std::max(column.heading.size(), named_cell(p, column, 20).size()));
            continue;
        }
        const std::size_t digits = fmt::format(fmt::runtime(column.format), 1.0 / 3).size(); // all that it asks for
        const std::size_t width = std::max({column.heading.size(), min_width, digits});
        const int leaves = extras == 0 ? 23 : 19 - extras; // the lab named the most important one first
        figures_.push_back({column.heading, width, leaves,
                            [=](const Result& r) { return named_cell(find(r.extra, column.name), column, width); }});
        ++extras;
    }
    figures_.push_back({"error", 7, 1, [](const Result& r) {
                            return r.status == Result::Status::passed ? fmt::format("{:.1e}", r.error) : "-";
                        }});
    leave_out_what_does_not_fit();
}

void Table::leave_out_what_does_not_fit() {
    const auto fits = [&] { return heading().size() - 1 <= terminal_.columns; };
    while (!fits()) {
        const auto first = std::min_element(figures_.begin(), figures_.end(),
                                            [](const Column& a, const Column& b) { return a.leaves < b.leaves; });
        if (first->leaves == stays) return;
        left_out_.push_back(first->heading);
        figures_.erase(first);
    }
    gap_ = 2;
    if (!fits()) gap_ = 1;
}

std::string Table::labels(const std::vector<std::string>& parameters, const std::string& variant,
                          const std::string& device) const {
    std::string text = " ";
    for (std::size_t i = 0; i < parameters.size(); ++i)
        text += fmt::format(" {:>{}}", parameters[i], parameter_widths_[i]);
    text += fmt::format("{}{:<{}}", parameters.empty() ? " " : "  ", variant, variant_width);
    return with_device_ ? text + fmt::format(" {:<{}}", device, device_width) : text;
}

std::string Table::heading() const {
    std::vector<std::string> parameters;
    for (const NamedColumn& column : parameters_) parameters.push_back(column.heading);
    std::string text = labels(parameters, "variant", "device");
    for (const Column& column : figures_) text += fmt::format("{:>{}}", column.heading, gap_ + column.width);
    return text + std::string(gap_, ' ') + "result\n";
}

std::string Table::row(const Parameters& problem, const Result& r, const std::string& stated) const {
    constexpr std::size_t indent = 6;
    std::vector<std::string> parameters;
    for (std::size_t i = 0; i < parameters_.size(); ++i)
        parameters.push_back(named_cell(find(problem, parameters_[i].name), parameters_[i], parameter_widths_[i]));
    std::string text = labels(parameters, r.variant, r.has_device ? r.device.id() : "-");
    if (r.status == Result::Status::skipped) {
        text += "  skipped";
        if (r.reason.empty() || r.reason == stated) return text + "\n";
        if (text.size() + 2 + r.reason.size() <= terminal_.columns && r.reason.find('\n') == std::string::npos)
            return text + ": " + r.reason + "\n";
        return text + ":\n" + wrapped(r.reason, terminal_.columns, indent, indent);
    }
    std::size_t end = labels(parameters, "", r.has_device ? r.device.id() : "-").size(); // of the column
    for (const Column& column : figures_) {
        const std::string cell = column.cell(r);
        end += gap_ + column.width;
        const std::size_t before = text.size() + cell.size();
        text.append(end > before ? end - before : 1, ' ') += cell;
    }
    text.append(gap_, ' ');
    const bool right = r.status == Result::Status::passed;
    const std::string& below = right ? r.note : r.reason;
    const char *const word = right ? "right" : "WRONG", *const colour = right ? "\x1b[32m" : "\x1b[31m";
    text += terminal_.colour ? fmt::format("{}{}\x1b[0m\n", colour, word) : fmt::format("{}\n", word);
    return below.empty() ? text : text + wrapped(below, terminal_.columns, indent, indent);
}

} // namespace gpulab
