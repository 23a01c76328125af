/// @file
/// How cost grows with size: what the studies `growth` of all labs share.
#pragma once

#include <algorithm>
#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gpulab/error.hpp"
#include "gpulab/jobs.hpp"
#include "gpulab/options.hpp"
#include "gpulab/report.hpp"

namespace gpulab {

/// How long a study `growth` may take.
struct Patience {
    double run_ms = 500;    ///< one run of a variant
    double size_ms = 60000; ///< all variants at one size, with problem, reference and checks
};

/// Measures some variants at growing sizes, until memory or time ends, and gives each result its time per element.
///
///     Growth growth(options, report, "element", {"cpu_threads", "cuda_vectorised"});
///     for (const std::size_t n : growth.sizes("--n", n, 16, 4, most)) {
///         if (!growth.fits(fmt::format("n = {}", n), n, device_bytes, host_bytes)) break;
///         ... the problem and its reference ...
///         report.begin({{"n", n}});
///         for (const auto& job : growth.jobs(variants())) {
///             Result result = run(job, ...);
///             growth.add_to(result);
///             report.add(std::move(result), work);
///         }
///     }
class Growth {
public:
    /// @param element what the time is divided by, such as "element" or "cell_and_step": the results get the extra
    ///        value `ns_per_element`, which has a column
    /// @param variants those that are measured, unless the user has chosen others by name
    Growth(const Options& options, Report& report, const std::string& element, std::vector<std::string_view> variants,
           const Patience& patience = {});

    /// first, factor * first, ... up to `most`, or up to `value` where the user gave this option.
    /// @throws UsageError when that is less than `first`
    std::vector<std::size_t> sizes(const std::string& option, std::size_t value, std::size_t first, std::size_t factor,
                                   std::size_t most) const;

    /// Begins the next size. @param size for the message: "n = 1024" @param elements by which its times are divided
    /// @return false, after a line in the report that says why this size and all larger ones are left out: memory (see
    ///         check_memory()), or the times so far, taken as proportional to the elements. The first size counts only
    ///         with the time of its kernels
    bool fits(const std::string& size, double elements, double device_bytes, double host_bytes);

    /// The jobs of the study among all jobs of the lab; those that would take too long are skipped, unless the user
    /// named them. Called when problem and reference are ready. @throws UsageError when there are none
    template <class Run> std::vector<Job<Run>> jobs(std::vector<Job<Run>> all) {
        std::erase_if(all, [&](const Job<Run>& job) { return !takes(job.variant.name); });
        if (all.empty()) throw UsageError("--study growth: it has none of the chosen variants");
        for (Job<Run>& job : all)
            if (job.skip.empty()) job.skip = too_slow(job.variant.name, job.device().id());
        ready();
        return all;
    }
    /// The same from a table of variants.
    template <class Table> auto jobs(const Table& table) { return jobs(gpulab::jobs(table, options_)); }

    /// Adds the time per element to the result of the next job, if it has a time.
    /// @param elements of this result; 0: those of fits()
    void add_to(Result& result, double elements = 0);

private:
    struct Seen {
        double run_ms = 0, wall_ms = 0; ///< of one run, and of all runs and their checks
        double elements = 0;
    };
    bool takes(std::string_view variant) const;
    bool is_slow(const std::string& variant, const Seen& seen) const;
    std::string too_slow(std::string_view variant, const std::string& device) const;
    std::string why_too_long() const;
    void ready();

    const Options& options_;
    Report& report_;
    std::string field_;
    std::vector<std::string_view> variants_;
    Patience patience_;
    int sizes_ = 0;                           ///< measured so far
    double elements_ = 0, last_elements_ = 0; ///< of this size and of the one before
    double begin_ms_ = 0, ready_ms_ = 0;      ///< how long problem and reference took is the difference
    double last_ms_ = 0;                      ///< when the last result was there
    std::map<std::pair<std::string, std::string>, Seen> seen_; ///< by variant and device
};

} // namespace gpulab
