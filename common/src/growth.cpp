#include "gpulab/growth.hpp"

#include <fmt/format.h>

namespace gpulab {

Growth::Growth(const Options& options, Report& report, const std::string& element,
               std::vector<std::string_view> variants, const Patience& patience)
    : options_(options), report_(report), field_("ns_per_" + element), variants_(std::move(variants)),
      patience_(patience) {
    report.column(field_, "ns each", "{:.4g}");
    std::string words = element;
    std::replace(words.begin(), words.end(), '_', ' ');
    report.say("ns each: nanoseconds of kernel time per " + words);
}

std::vector<std::size_t> Growth::sizes(const std::string& option, std::size_t value, std::size_t first,
                                       std::size_t factor, std::size_t most) const {
    if (options_.given(option)) most = value;
    if (most < first) throw UsageError(fmt::format("--study growth: at least {} {} is needed", option, first));
    std::vector<std::size_t> list = {first};
    while (list.back() <= most / factor) list.push_back(list.back() * factor);
    return list;
}

bool Growth::takes(std::string_view variant) const {
    return !options_.chosen_variants().empty() || std::ranges::find(variants_, variant) != variants_.end();
}

bool Growth::is_slow(const std::string& variant, const Seen& seen) const {
    return !options_.named(variant) && seen.run_ms * elements_ / seen.elements > patience_.run_ms;
}

std::string Growth::too_slow(std::string_view variant, const std::string& device) const {
    const auto found = seen_.find({std::string(variant), device});
    if (found == seen_.end() || !is_slow(found->first.first, found->second)) return "";
    const Seen& seen = found->second;
    return fmt::format("one run would take about {:.2g} s; --variant {} runs it anyway",
                       1e-3 * seen.run_ms * elements_ / seen.elements, variant);
}

/// Why this size would take too long after all that was seen at smaller ones; "" when it would not.
std::string Growth::why_too_long() const {
    if (seen_.empty()) return "";
    double ms = (ready_ms_ - begin_ms_) * elements_ / last_elements_;
    bool any = false;
    for (const auto& [key, seen] : seen_) {
        if (is_slow(key.first, seen)) continue;
        any = true;
        ms += seen.wall_ms * elements_ / seen.elements;
    }
    if (!any) return fmt::format("every variant would take more than {:.2g} s for a run", 1e-3 * patience_.run_ms);
    // The first size also starts the devices and compiles their kernels, and that time does not grow.
    if (sizes_ > 1 && ms > patience_.size_ms)
        return fmt::format("with its checks it would take about {:.0f} s", 1e-3 * ms);
    return "";
}

bool Growth::fits(const std::string& size, double elements, double device_bytes, double host_bytes) {
    last_elements_ = std::exchange(elements_, elements);
    std::string why = lack_of_memory(options_, device_bytes, host_bytes);
    if (why.empty()) why = why_too_long();
    if (!why.empty()) report_.say(fmt::format("{} and larger are left out: {}", size, why));
    begin_ms_ = clock_ms();
    return why.empty();
}

void Growth::ready() {
    ++sizes_;
    last_ms_ = ready_ms_ = clock_ms();
}

void Growth::add_to(Result& result, double elements) {
    const double wall_ms = clock_ms() - std::exchange(last_ms_, clock_ms());
    if (result.kernel.repeats == 0) return; // it did not run
    if (elements == 0) elements = elements_;
    seen_[{result.variant, result.device.id()}] = {result.kernel.median, wall_ms, elements_};
    result.extra.push_back({field_, 1e6 * result.kernel.median / elements});
}

} // namespace gpulab
