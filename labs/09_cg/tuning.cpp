#include "tuning.hpp"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <fmt/format.h>
#include <map>
#include <mutex>
#include <sstream>

#include "gpulab/error.hpp"
#include "gpulab/file.hpp"
#include "gpulab/input_file.hpp"

namespace cg {

Tuned first_local_minimum(const std::function<double(std::size_t)>& time, std::size_t most) {
    Tuned tuned;
    tuned.one_ms = tuned.best_ms = time(1);
    for (std::size_t groups = 2; groups <= most; ++groups) {
        const double now = time(groups);
        if (!(now < tuned.best_ms)) break;
        tuned.groups = groups;
        tuned.best_ms = now;
    }
    return tuned;
}

Tuned fastest_groups(const std::function<double(std::size_t)>& run, std::size_t rows) {
    const bool small = rows < 4096;
    const auto time = [&](std::size_t groups) {
        double best = run(groups); // the first run may compile or fetch something
        for (int again = 0; again < (small ? 1 : 4); ++again) best = std::min(best, run(groups));
        return best;
    };
    return first_local_minimum(time, small ? 2 : max_groups);
}

double saved_percent(double one_ms, double ms) { return one_ms > 0 ? 100 * (1 - ms / one_ms) : 0; }

namespace {

constexpr const char* heading = "device,kernel,type,rows,groups,one_ms,best_ms";
constexpr std::size_t max_bytes = std::size_t{1} << 20; // some ten thousand lines

std::string without_commas(std::string text) {
    std::ranges::replace_if(
        text, [](char c) { return c == ',' || c == '\n'; }, ' ');
    return text;
}

template <class Number> bool read_number(const std::string& word, Number& number) {
    const auto [stop, bad] = std::from_chars(word.data(), word.data() + word.size(), number);
    return bad == std::errc{} && stop == word.data() + word.size();
}

bool is_time(double ms) { return ms >= 0 && std::isfinite(ms); }

} // namespace

TuningCache::TuningCache(std::string path) : path_(std::move(path)) {
    std::error_code ignored;
    if (path_.empty() || !std::filesystem::exists(path_, ignored)) return; // store() makes it
    std::istringstream file(gpulab::content_of(path_, max_bytes));
    std::string line;
    for (std::size_t number = 1; std::getline(file, line); ++number) {
        const auto wrong = [&] {
            return gpulab::UsageError(fmt::format("{}:{}: not a line of a table '{}'", path_, number, heading));
        };
        if (number == 1 && line != heading) throw wrong();
        if (number == 1) continue;
        std::vector<std::string> words;
        std::istringstream rest(line);
        for (std::string word; std::getline(rest, word, ',');) words.push_back(word);
        Tuned t;
        if (words.size() != 7 || !read_number(words[3], t.rows) || !read_number(words[4], t.groups) ||
            !read_number(words[5], t.one_ms) || !read_number(words[6], t.best_ms) || t.groups < 1 ||
            t.groups > max_groups || !is_time(t.one_ms) || !is_time(t.best_ms))
            throw wrong();
        t.device = words[0];
        t.kernel = words[1];
        t.type = words[2];
        entries_.push_back(t);
    }
}

std::optional<Tuned> TuningCache::find(const std::string& device, const std::string& kernel, const std::string& type,
                                       std::size_t rows) const {
    for (const Tuned& t : entries_)
        if (t.device == without_commas(device) && t.kernel == kernel && t.type == type && t.rows == rows) return t;
    return {};
}

void TuningCache::store(const Tuned& entry) {
    entries_.emplace_back(entry).device = without_commas(entry.device);
    if (!path_.empty()) gpulab::OutputFile(path_).write(text());
}

std::string TuningCache::text() const {
    std::string all = std::string(heading) + "\n";
    for (const Tuned& t : entries_)
        all += fmt::format("{},{},{},{},{},{},{}\n", t.device, t.kernel, t.type, t.rows, t.groups, t.one_ms, t.best_ms);
    return all;
}

Tuned find_groups(const std::string& file, const std::string& device, const std::string& kernel,
                  const std::string& type, std::size_t rows, const std::function<double(std::size_t)>& time) {
    static std::mutex mutex;
    static auto* const caches = new std::map<std::string, TuningCache>; // by file; kept for the whole program
    const std::lock_guard lock(mutex);
    TuningCache& cache = caches->try_emplace(file, file).first->second;
    // Systems of about the same size share an entry: the next power of two.
    const std::size_t size = std::bit_ceil(std::max<std::size_t>(rows, 1));
    if (const std::optional<Tuned> known = cache.find(device, kernel, type, size)) return *known;
    Tuned found = fastest_groups(time, rows);
    found.device = device;
    found.kernel = kernel;
    found.type = type;
    found.rows = size;
    cache.store(found);
    return found;
}

std::string tuning_table(const std::vector<Tuned>& entries) {
    const Tuned& any = entries.front();
    std::string text = fmt::format("{}, up to {} rows in {}: groups per compute unit\n  {:<8}{:>12}{:>12}{:>8}{:>8}\n",
                                   any.device, any.rows, any.type, "kernel", "1: ms", "best: ms", "groups", "saved");
    for (const Tuned& t : entries)
        text += fmt::format("  {:<8}{:>12.4f}{:>12.4f}{:>8}{:>7.0f}%\n", t.kernel, t.one_ms, t.best_ms, t.groups,
                            saved_percent(t.one_ms, t.best_ms));
    return text;
}

} // namespace cg
