#include "gpulab/trace/trace.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

namespace gpulab {

namespace {
double first_begin(const std::vector<TraceEvent>& events) {
    return std::min_element(events.begin(), events.end(),
                            [](const auto& a, const auto& b) { return a.begin_us < b.begin_us; })
        ->begin_us;
}
} // namespace

void Timeline::serialise_kinds() {
    std::map<std::string, std::vector<TraceEvent*>> by_kind;
    for (TraceEvent& e : events_) by_kind[e.kind].push_back(&e);
    for (auto& [kind, list] : by_kind) {
        std::stable_sort(list.begin(), list.end(), [](const auto* a, const auto* b) { return a->end_us < b->end_us; });
        for (std::size_t i = 1; i < list.size(); ++i)
            list[i]->begin_us = std::max(list[i]->begin_us, list[i - 1]->end_us);
    }
}

double Timeline::span_us() const {
    if (events_.empty()) return 0;
    double end = events_.front().end_us;
    for (const TraceEvent& e : events_) end = std::max(end, e.end_us);
    return end - first_begin(events_);
}

double Timeline::overlap_percent() const {
    struct Edge {
        double at;
        int step;
        const std::string* kind;
    };
    std::vector<Edge> edges;
    for (const TraceEvent& e : events_)
        if (e.end_us > e.begin_us) {
            edges.push_back({e.begin_us, +1, &e.kind});
            edges.push_back({e.end_us, -1, &e.kind});
        }
    std::sort(edges.begin(), edges.end(), [](const Edge& a, const Edge& b) { return a.at < b.at; });
    std::map<std::string, int> running;
    double any = 0, several = 0, last = 0;
    for (const Edge& edge : edges) {
        const auto kinds = std::count_if(running.begin(), running.end(), [](const auto& r) { return r.second > 0; });
        if (kinds >= 1) any += edge.at - last;
        if (kinds >= 2) several += edge.at - last;
        running[*edge.kind] += edge.step;
        last = edge.at;
    }
    return any > 0 ? 100 * several / any : 0;
}

std::string Timeline::lanes(std::size_t width) const {
    const double span = span_us();
    if (events_.empty() || width == 0) return "";
    const double zero = first_begin(events_);
    std::map<int, std::string> rows;
    const auto column = [&](double us) {
        const double place = span > 0 ? (us - zero) / span * static_cast<double>(width) : 0;
        return std::min(static_cast<std::size_t>(std::max(place, 0.0)), width - 1);
    };
    for (const TraceEvent& e : events_) {
        std::string& row = rows.try_emplace(e.lane, width, ' ').first->second;
        const std::size_t begin = column(e.begin_us);
        // At least one character; the next command starts in the column where this one ends.
        const std::size_t end = std::max(begin + 1, e.end_us - zero >= span ? width : column(e.end_us));
        for (std::size_t i = begin; i < end; ++i) row[i] = e.symbol;
    }
    std::string text;
    for (const auto& [lane, row] : rows) text += fmt::format("  {:>2} |{}|\n", lane, row);
    std::string legend;
    std::set<std::string> named;
    for (const TraceEvent& e : events_)
        if (named.insert(e.kind).second) legend += fmt::format("{} {}   ", e.symbol, e.kind);
    return text + fmt::format("      {}0 ... {:.1f} us\n", legend, span);
}

std::string chrome_trace(const std::vector<std::pair<std::string, Timeline>>& timelines) {
    using Json = nlohmann::ordered_json;
    Json list = Json::array();
    int process = 0;
    for (const auto& [title, timeline] : timelines) {
        ++process;
        if (timeline.empty()) continue;
        const double zero = first_begin(timeline.events());
        list.push_back({{"name", "process_name"}, {"ph", "M"}, {"pid", process}, {"args", {{"name", title}}}});
        std::set<int> lanes;
        for (const TraceEvent& e : timeline.events()) {
            if (lanes.insert(e.lane).second)
                list.push_back({{"name", "thread_name"},
                                {"ph", "M"},
                                {"pid", process},
                                {"tid", e.lane},
                                {"args", {{"name", fmt::format("{} {}", timeline.lane(), e.lane)}}}});
            list.push_back({{"name", e.name + ": " + e.kind},
                            {"cat", e.kind},
                            {"ph", "X"},
                            {"ts", e.begin_us - zero},
                            {"dur", e.end_us - e.begin_us},
                            {"pid", process},
                            {"tid", e.lane}});
        }
    }
    std::string text = "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[";
    for (const Json& event : list) text += (&event == &list.front() ? "\n  " : ",\n  ") + event.dump();
    return text + "\n]}\n"; // one event on each line
}

} // namespace gpulab
