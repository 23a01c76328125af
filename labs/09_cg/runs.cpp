#include "runs.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <set>

#include "gpulab/error.hpp"
#include "judge.hpp"

namespace cg {

template <class T> std::vector<gpulab::Job<Run<T>>> jobs(const gpulab::Options& options, std::size_t parts) {
    std::vector<gpulab::Job<Run<T>>> list;
    for (auto& job : gpulab::jobs(variants<T>(), options)) {
        if (takes_several_devices(job.variant.name) && job.skip.empty()) {
            if (std::ranges::any_of(list, [&](const auto& j) { return j.variant.name == job.variant.name; })) continue;
            std::vector<gpulab::Device> all = options.devices(job.variant.backend);
            std::erase_if(all, [&](const auto& d) { return !gpulab::unmet_need(job.variant.needs, d).empty(); });
            if (!options.given("--device") && !std::ranges::all_of(all, &gpulab::Device::is_cpu))
                std::erase_if(all, [](const auto& d) { return d.is_cpu; });
            if (parts > 0 && parts < all.size()) all.resize(parts);
            job.devices = all;
            job.skip = refused_option(options, job.variant.name);
            if (!job.skip.empty() && options.named(job.variant.name))
                throw gpulab::UsageError(fmt::format("{}: {}", job.variant.name, job.skip));
        }
        list.push_back(std::move(job));
    }
    return list;
}

std::string refused_option(const gpulab::Options& options, std::string_view variant) {
    if (!options.stopwatch().flush_l2() || !takes_several_devices(variant) || !variant.starts_with("cuda_")) return "";
    return "--flush-l2: the caches of several GPUs are not emptied";
}

void add_columns(gpulab::Report& report) {
    report.column("iterations", "iterations");
    report.column("us_per_iteration", "us/iteration", "{:.2f}");
}

template <class T> gpulab::Parameters iteration_values(const Output<T>& out, double ms) {
    const auto iterations = static_cast<double>(std::max<std::size_t>(out.iterations(), 1));
    gpulab::Parameters values = {{"iterations", out.iterations()}};
    if (ms > 0) values.push_back({"us_per_iteration", 1000 * ms / iterations}); // the CUDA emulator has no times
    return values;
}

template <class T> void Notes<T>::add(const gpulab::Job<Run<T>>& job, gpulab::Result& result) {
    if (result.status != gpulab::Result::Status::passed) return;
    double norm = 0;
    for (const T v : problem_.b) norm += static_cast<double>(v) * v;
    const double residual = true_residual(problem_, out_.x);
    result.extra = iteration_values(out_, result.kernel.median);
    result.extra.push_back({"residual", norm > 0 ? residual / std::sqrt(norm) : residual});
    if (takes_several_devices(job.variant.name)) result.extra.push_back({"devices", job.devices.size()});
    if (!out_.kernel_ms.empty() && result.kernel.median > 0) {
        double sum = 0;
        for (const auto& [name, ms] : out_.kernel_ms) {
            result.extra.push_back({"ms_" + name, ms});
            sum += ms;
        }
        result.extra.push_back({"ms_overhead", std::max(0.0, result.kernel.median - sum)});
        timed.push_back(result);
    }
    const std::string name = result.variant + " on " + result.device.id();
    if (solver.empty() || (solution.end != End::converged && out_.end == End::converged)) {
        solver = name;
        solution = out_;
    }
    histories.emplace_back(name, out_.history);
    if (!out_.timeline.empty()) timelines.emplace_back(name, out_.timeline);
    for (const std::string& note : out_.notes)
        if (std::ranges::find(printed, note) == printed.end()) printed.push_back(note);
}

std::string kernel_times(const std::string& heading, const std::vector<gpulab::Result>& results) {
    // At most five characters up to 99999 ms.
    const auto short_ms = [](double ms) { return fmt::format("{:.{}f}", ms, ms < 9.995 ? 2 : ms < 99.95 ? 1 : 0); };
    std::string text = heading + "\nall: the median of the timed runs; kernels: one more run; rest: the difference\n";
    std::set<std::string> named; // devices
    for (const gpulab::Result& result : results)
        if (named.insert(result.device.id()).second)
            text += fmt::format("{}: {}\n", result.device.id(), result.device.name);
    text += fmt::format("{:<20} {:<8}   all  spmv   dot next_x next_r next_p  pack  rest", "variant", "device");
    for (const gpulab::Result& result : results) {
        text += fmt::format("\n{:<20} {:<8}{:>6}", result.variant, result.device.id(), short_ms(result.kernel.median));
        for (const char* const kernel : {"spmv", "dot", "next_x", "next_r", "next_p", "pack", "overhead"}) {
            const auto ms = std::ranges::find(result.extra, std::string("ms_") + kernel, &gpulab::Parameter::name);
            const std::string cell = ms == result.extra.end() ? "-" : short_ms(std::get<double>(ms->value));
            text += fmt::format("{:>{}}", cell, std::string_view(kernel).starts_with("next") ? 7 : 6);
        }
    }
    return text + "\n"; // a dash: a kernel that this rung does not have
}

template <class T> bool print_notes(const Notes<T>& notes, Files& files) {
    if (!notes.timed.empty()) fmt::print("\n{}", kernel_times("milliseconds of the whole solution", notes.timed));
    for (const std::string& line : notes.printed) fmt::print("\n{}\n", line);
    for (const auto& [title, timeline] : notes.timelines) fmt::print("\n{}:\n{}", title, timeline.lanes());
    const bool traced = files.write_trace(notes.timelines);
    files.write_histories(notes.histories);
    return traced;
}

template <class T>
gpulab::Parameters parameters(const Problem<T>& p, const std::string& matrix, const gpulab::Parameters& more) {
    gpulab::Parameters all = {{"matrix", matrix},
                              {"type", sizeof(T) == 8 ? "double" : "float"},
                              {"n", p.n()},
                              {"nonzeros", p.matrix.nonzeros()},
                              {"method", p.steepest ? "steepest" : "cg"},
                              {"preconditioner", p.jacobi ? "jacobi" : "none"},
                              {"tolerance", p.tolerance},
                              {"criterion", p.absolute ? "absolute" : "relative"},
                              {"limit", p.limit},
                              {"parts", p.parts},
                              {"balance", balance_names[static_cast<std::size_t>(p.balance)]}};
    all.insert(all.end(), more.begin(), more.end());
    return all;
}

#define INSTANTIATE(T)                                                                      \
    template std::vector<gpulab::Job<Run<T>>> jobs<T>(const gpulab::Options&, std::size_t); \
    template gpulab::Parameters iteration_values(const Output<T>&, double);                 \
    template class Notes<T>;                                                                \
    template bool print_notes(const Notes<T>&, Files&);                                     \
    template gpulab::Parameters parameters(const Problem<T>&, const std::string&, const gpulab::Parameters&);
INSTANTIATE(float)
INSTANTIATE(double)

} // namespace cg
