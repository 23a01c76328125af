/// @file
/// What a benchmark loop needs: the devices of each variant, and one run of a variant, judged.
#pragma once

#include <algorithm>
#include <functional>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "gpulab/device.hpp"
#include "gpulab/error.hpp"
#include "gpulab/guard.hpp"
#include "gpulab/options.hpp"
#include "gpulab/report.hpp"
#include "gpulab/stopwatch.hpp"
#include "gpulab/variant.hpp"

namespace gpulab {

/// One variant on the devices that it needs, or the reason why it cannot run.
template <class Run> struct Job {
    Variant<Run> variant;
    std::vector<Device> devices; ///< variant.needs.devices of them; fewer where there are not enough
    std::string skip;            ///< not empty: do not run, and say this

    /// The first device, or one without a name where there is none.
    Device device() const { return devices.empty() ? Device{} : devices.front(); }
};

/// Why a device cannot run a variant with these needs; empty when it can.
std::string unmet_need(const Needs& needs, const Device& device);

/// The same for the devices that a variant gets together: there must be enough of them, and each must meet the needs.
std::string unmet_need(const Needs& needs, std::span<const Device> devices);

/// Why an exception that ended a variant is no fault of it: a device with smaller groups than it takes, no more
/// threads or memory, or what it says itself (Unsupported). Empty when it is.
std::string why_unable(const std::exception& e, const Device& device);

/// Why a variant cannot run because it is an exercise that nobody has begun; empty when it is none. The environment
/// variable GPULAB_UNSOLVED, which `./lab run` in a hand-out sets, names them: "opencl_dot=dot opencl_scan=prefix-sum".
std::string why_unsolved(std::string_view variant);

/// Every chosen variant on every chosen device of its back end, in the order of devices, then of the table.
/// A variant that needs several devices appears once, with the first of the chosen ones.
/// A variant that cannot run appears once, with the reason.
/// @throws UsageError when the user asked by name for a back end or a variant that no device here can run, or when
///         the choices leave nothing to run
template <class Table> auto jobs(const Table& table, const Options& options) {
    using V = std::decay_t<decltype(*std::begin(table))>;
    using Run = std::remove_pointer_t<decltype(V::run)>;
    for (const std::string& name : options.chosen_variants())
        if (std::none_of(std::begin(table), std::end(table), [&](const V& v) { return v.name == name; }))
            throw UsageError("--variant: " + name + " belongs to another operation of this lab");
    std::vector<Job<Run>> list;
    for (const Backend backend : {Backend::cpu, Backend::opencl, Backend::cuda}) {
        const bool wanted = std::any_of(std::begin(table), std::end(table), [&](const V& v) {
            return v.backend == backend && options.wants(v.name, backend);
        });
        if (!wanted && !options.named(backend)) continue; // without looking for devices: a GPU takes 0.2 s to open
        const std::vector<Device> found = options.devices(backend);
        const std::string why_none = options.why_no_devices(backend);
        if (!why_none.empty() && options.named(backend))
            throw UsageError("back end " + std::string(name_of(backend)) + ": " + why_none);
        const auto add = [&](const V& v, std::vector<Device> on, std::string skip) {
            if (!skip.empty() && options.named(v.name)) throw UsageError(std::string(v.name) + ": " + skip);
            list.push_back({v, std::move(on), std::move(skip)});
        };
        if (!why_none.empty()) {
            for (const V& v : table)
                if (v.backend == backend && options.wants(v.name, backend)) add(v, {}, why_none);
            continue;
        }
        for (std::size_t i = 0; i < found.size(); ++i)
            for (const V& v : table) {
                if (v.backend != backend || !options.wants(v.name, backend)) continue;
                if (v.needs.devices > 1 && i > 0) continue; // it has the first ones already
                const std::size_t count = std::min(v.needs.devices, found.size() - i);
                const auto first = found.begin() + static_cast<std::ptrdiff_t>(i);
                const std::vector<Device> on(first, first + static_cast<std::ptrdiff_t>(count));
                const std::string unsolved = why_unsolved(v.name);
                Needs needs = v.needs;
                needs.gpu = needs.gpu || v.baseline;
                add(v, on, unsolved.empty() ? unmet_need(needs, on) : unsolved);
            }
    }
    for (const std::string& name : options.chosen_variants())
        if (std::none_of(list.begin(), list.end(), [&](const Job<Run>& job) { return job.variant.name == name; }))
            throw UsageError("--variant: " + name + " does not run on the chosen back ends and devices");
    if (list.empty()) throw UsageError("nothing to run: the chosen devices have no variant");
    return list;
}

/// Refuses --variant for a study that has its own kernels. @throws UsageError when the user named variants
void refuse_variants(const Options& options);

/// The devices for the kernels that only a study has: those of these back ends that the user chose.
/// @throws UsageError when there are none, or when the user named variants
std::vector<Device> study_devices(const Options& options, std::initializer_list<Backend> backends);

/// One pass from host data to host data, in milliseconds.
struct Pass {
    double took_ms = 0;
    double left_out_ms = 0; ///< the part of it that does not count: Stopwatch::leave_out()
};

/// The time of a pass: the median of five, of as many as the kernel has repeats, or of as many as 0.3 s take if that is
/// less. A large problem shall not take long for this one number. @param pass runs one
double total_ms(int repeats, const std::function<Pass()>& pass);

/// Runs a computation on its devices and judges it: poisons the output, times the kernel and judges the output of the
/// last timed run; then times the whole pass from host data to host data and judges its output, which the kernel's
/// first run on fresh memory computed.
///
/// @param name the name of the result
/// @param devices given to use(); the result names the first. At least one
/// @param output handed to body; `poison(output)` must be callable
/// @param options repeats, warm-up, and whether the user asked for this name
/// @param body `body(output, watch)`: a variant with its problem, or a study's kernel with its parameters
/// @param judge a function of no arguments that compares the output and returns a Comparison
/// @return passed; failed, when a comparison said so or the body threw WrongResult or wrote outside a buffer; skipped,
///         when it threw what why_unable() explains
/// @throws UsageError when the user asked by name for a variant that is skipped
/// @throws Error and the back ends' exceptions for what went wrong on the device
template <class Output, class Body, class Judge>
Result measure(std::string_view name, std::span<const Device> devices, Output& output, const Options& options,
               const Body& body, const Judge& judge) {
    Result result;
    result.variant = name;
    result.backend = devices.front().backend;
    result.device = devices.front();
    result.devices = devices.size();
    result.has_device = true;

    take_stray_write(); // of someone else
    const auto judge_run = [&] {
        if (const std::string stray = take_stray_write(); !stray.empty()) throw WrongResult(stray);
        const Comparison comparison = judge();
        result.tolerance = comparison.tolerance;
        if (!comparison.passed) {
            result.error = comparison.error;
            throw WrongResult(comparison.message);
        }
        result.error = std::max(result.error, comparison.error);
    };
    try {
        use(devices);
        poison(output);
        Stopwatch watch = options.stopwatch();
        body(output, watch);
        result.kernel = watch.kernel();
        judge_run();

        // Everything is warm now (contexts, compiled kernels), so whole passes can be timed.
        result.total_ms = total_ms(watch.repeats(), [&] {
            poison(output);
            Stopwatch once;
            const double begin = clock_ms();
            body(output, once);
            result.prepared_ms = once.prepared_ms();
            return Pass{clock_ms() - begin, once.left_out_ms()};
        });
        judge_run();
        if (devices.front().emulated) { // nothing that a GPU would take as long for
            result.kernel = {.repeats = result.kernel.repeats};
            result.total_ms = result.prepared_ms = 0;
        }
        result.status = Result::Status::passed;
    } catch (const WrongResult& e) {
        result.reason = e.what();
        result.status = Result::Status::failed;
    } catch (const std::exception& e) {
        result.reason = why_unable(e, result.device);
        if (result.reason.empty()) throw;
        if (options.named(name)) throw UsageError(std::string(name) + ": " + result.reason);
        result.status = Result::Status::skipped;
    }
    return result;
}

/// The same on one device.
template <class Output, class Body, class Judge>
Result measure(std::string_view name, const Device& device, Output& output, const Options& options, const Body& body,
               const Judge& judge) {
    return measure(name, std::span(&device, 1), output, options, body, judge);
}

/// Runs one of the jobs that jobs() returned, and judges it; see measure(). A lab's loop:
///
///     for (const auto& job : jobs) {
///         report.doing(job.variant.name);
///         Result result = run(job, problem, out, options, [&] { return compare(reference, out); });
///         report.add(std::move(result), work);
///     }
template <class Run, class Problem, class Output, class Judge>
Result run(const Job<Run>& job, const Problem& problem, Output& output, const Options& options, const Judge& judge) {
    Result result;
    if (job.skip.empty()) {
        result = measure(
            job.variant.name, std::span<const Device>(job.devices), output, options,
            [&](Output& out, Stopwatch& watch) { job.variant.run(problem, out, watch); }, judge);
        if (result.device.is_cpu) result.note = job.variant.slow_on_cpu;
        return result;
    }
    result.variant = job.variant.name;
    result.backend = job.variant.backend;
    result.device = job.device();
    result.has_device = !job.devices.empty();
    result.reason = job.skip;
    return result;
}

/// Runs the CPU variant to which speed-ups refer, for Report::sequential(): its name, and its median time.
/// @param table the lab's variants @param name of one of them, which leaves its answer in `output`
/// @param watch how often it runs
/// @throws Error when the table has no such name
template <class Table, class Problem, class Output>
Sequential sequential(const Table& table, std::string_view name, const Problem& problem, Output& output,
                      Stopwatch watch = Stopwatch(1, 3)) {
    run_of(table, name)(problem, output, watch);
    return {std::string(name), watch.kernel().median};
}

/// Why a problem does not fit; empty when it does. A device that is a CPU holds the host's data as well.
/// @param devices of which each must take device_bytes
/// @param host_memory_bytes 0: unknown
/// @param name of the problem for the message, or ""
std::string lack_of_memory(std::span<const Device> devices, double host_memory_bytes, double device_bytes,
                           double host_bytes, const std::string& name);

/// The same on this computer. Only the devices that a chosen variant runs on count.
/// @param device_bytes what the hungriest variant needs on a device
/// @param host_bytes what the program needs in main memory
/// @param name of the problem for the message, a file for example
std::string lack_of_memory(const Options& options, double device_bytes, double host_bytes,
                           const std::string& name = "");

/// Stops a run that would not fit, before anything is allocated: see lack_of_memory().
/// @throws UsageError naming the device, what is needed and what there is
void check_memory(const Options& options, double device_bytes, double host_bytes, const std::string& name = "");

} // namespace gpulab
