#include "wrong_reduction.hpp"

#include <array>

#include "gpulab/math.hpp"
#include "gpulab/opencl/buffer.hpp"
#include "gpulab/opencl/timing.hpp"
#include "gpulab/poisoning.hpp"
#include "launch.hpp"
#include "wrong_reduction.cl.hpp"

namespace reduction::wrong {

namespace {

constexpr int always = 1 << 30;       // runs
constexpr std::size_t odd_tile = 640; // a tile of no size that is tested anyway

void enqueue(const cl::CommandQueue& queue, gpulab::ClEvents& events, const cl::Kernel& kernel, std::size_t groups) {
    queue.enqueueNDRangeKernel(kernel, cl::NullRange, cl::NDRange(groups * local_size), cl::NDRange(local_size),
                               nullptr, events.add());
}

/// In place of a kernel that a run leaves out.
void enqueue_nothing(const cl::CommandQueue& queue, gpulab::ClEvents& events) {
    queue.enqueueMarkerWithWaitList(nullptr, events.add());
}

/// Runs a kernel and adds up its groups' sums; `kept` of `groups` says how many of them count.
/// @param runs how many runs of a measurement do anything
Scalar<float> sum_of_groups(const char* name, const std::vector<float>& in, std::size_t n, std::size_t groups,
                            std::size_t kept, Stopwatch& watch, int runs = always) {
    const gpulab::ClBuffer<float> a(in);
    gpulab::ClBuffer<float> sums(groups);
    const bool cleared_once = std::string_view(name) == "not_cleared"; // but not before every run
    if (cleared_once) sums.copy_from(std::vector<float>(groups));
    cl::Kernel kernel = kernel_for<float>(wrong_reduction_cl, name);
    const cl_ulong count = n;
    gpulab::set_args(kernel, a.data(), count, cl::Local(local_size * sizeof(float)), sums.data());
    const auto launch = [&](const cl::CommandQueue& queue, gpulab::ClEvents& events) {
        if (runs-- > 0) enqueue(queue, events, kernel, groups);
        else enqueue_nothing(queue, events);
    };
    watch.tile(odd_tile);
    if (cleared_once) gpulab::watch_queue(watch, launch);
    else gpulab::watch_queue(watch, launch, gpulab::poisoning(sums));
    std::vector<float> host(groups);
    sums.copy_to(host);
    double total = 0;
    for (std::size_t g = 0; g < kept; ++g) total += host[g];
    return {static_cast<float>(total)};
}

/// A kernel with a grid stride whose groups' sums all count.
void strided(const char* name, const SumProblem<float>& p, Scalar<float>& sum, Stopwatch& watch, int runs = always) {
    const std::size_t groups = group_count(p.size());
    sum = sum_of_groups(name, p.a, p.size(), groups, groups, watch, runs);
}

/// Makes the groups' sums in the first run and adds them up in each: only where they are poisoned too does it show.
void group_sums_made_once(const SumProblem<float>& p, Scalar<float>& sum, Stopwatch& watch) {
    const gpulab::ClBuffer<float> a(p.a);
    const std::size_t groups = group_count(p.size());
    gpulab::ClBuffer<float> sums(groups), result(1);
    cl::Kernel first = kernel_for<float>(wrong_reduction_cl, "right_sum");
    cl::Kernel second = kernel_for<float>(wrong_reduction_cl, "right_sum");
    const cl::LocalSpaceArg x = cl::Local(local_size * sizeof(float));
    gpulab::set_args(first, a.data(), cl_ulong{p.size()}, x, sums.data());
    gpulab::set_args(second, sums.data(), cl_ulong{groups}, x, result.data());
    bool made = false;
    const auto launch = [&](const cl::CommandQueue& queue, gpulab::ClEvents& events) {
        if (!made) enqueue(queue, events, first, groups);
        made = true;
        enqueue(queue, events, second, 1);
    };
    gpulab::watch_queue(watch, launch, gpulab::poisoning(sums, result));
    result.copy_to(sum);
}

/// One element per item, without a test for the end: up to 1 KiB of the guard band behind the input is read.
void reads_past_end(const SumProblem<float>& p, Scalar<float>& sum, Stopwatch& watch) {
    const std::size_t groups = std::max<std::size_t>(1, gpulab::ceil_div(p.size(), local_size));
    sum = sum_of_groups("reads_past_end", p.a, p.size(), groups, groups, watch);
}

/// As printed in program 2.7: the second round takes whole groups of partial sums only.
void partial_sums_dropped(const SumProblem<float>& p, Scalar<float>& sum, Stopwatch& watch) {
    const std::size_t groups = std::max<std::size_t>(1, gpulab::ceil_div(p.size(), local_size));
    const std::size_t second_round = groups / local_size;
    sum = sum_of_groups("group_sums", p.a, p.size(), groups, second_round > 0 ? second_round * local_size : groups,
                        watch);
}

/// The minimum in two launches: of up to four groups, so that a round of their loop is no wider than a guard band, then
/// of the groups' minima.
void minimum(const char* first_kernel, const char* second_kernel, const SumProblem<float>& p, Scalar<float>& out,
             Stopwatch& watch) {
    const gpulab::ClBuffer<float> a(p.a);
    const std::size_t groups = std::clamp<std::size_t>(gpulab::ceil_div(p.size(), local_size), 1, 4);
    gpulab::ClBuffer<float> minima(groups), result(1);
    cl::Kernel first = kernel_for<float>(wrong_reduction_cl, first_kernel);
    cl::Kernel second = kernel_for<float>(wrong_reduction_cl, second_kernel);
    const cl::LocalSpaceArg x = cl::Local(local_size * sizeof(float));
    gpulab::set_args(first, a.data(), cl_ulong{p.size()}, x, minima.data());
    gpulab::set_args(second, minima.data(), cl_ulong{groups}, x, result.data());
    const auto launch = [&](const cl::CommandQueue& queue, gpulab::ClEvents& events) {
        enqueue(queue, events, first, groups);
        enqueue(queue, events, second, 1);
    };
    gpulab::watch_queue(watch, launch, gpulab::poisoning(minima, result));
    result.copy_to(out);
}

/// A kernel that adds up something in groups, and the host that adds up the groups' sums.
template <class T, class... Arguments>
void groups_of(const char* name, std::size_t n, Scalar<T>& sum, Stopwatch& watch, int runs,
               const Arguments&... arguments) {
    const std::size_t groups = group_count(n);
    gpulab::ClBuffer<T> sums(groups);
    cl::Kernel kernel = kernel_for<T>(wrong_reduction_cl, name);
    gpulab::set_args(kernel, arguments..., cl_ulong{n}, cl::Local(local_size * sizeof(T)), sums.data());
    const auto launch = [&](const cl::CommandQueue& queue, gpulab::ClEvents& events) {
        if (runs-- > 0) enqueue(queue, events, kernel, groups);
        else enqueue_nothing(queue, events);
    };
    gpulab::watch_queue(watch, launch, gpulab::poisoning(sums));
    std::vector<T> host(groups);
    sums.copy_to(host);
    double total = 0;
    for (const T x : host) total += x;
    sum[0] = static_cast<T>(total);
}

void dot(const char* name, const DotProblem<float>& p, Scalar<float>& sum, Stopwatch& watch, int runs = always) {
    const gpulab::ClBuffer<float> a(p.a), b(p.b);
    groups_of(name, p.size(), sum, watch, runs, a.data(), b.data());
}

void double_sum(const char* name, const SumProblem<double>& p, Scalar<double>& sum, Stopwatch& watch) {
    const gpulab::ClBuffer<double> a(p.a);
    groups_of(name, p.size(), sum, watch, always, a.data());
}

void series(const char* name, const SeriesProblem<float>& p, Scalar<float>& sum, Stopwatch& watch, int runs = always) {
    groups_of(name, p.terms, sum, watch, runs, cl_int{p.series == Series::pi}, p.x);
}

/// A scan with room for one mistake.
struct Mistake {
    const char* kernel = "scan_groups";
    bool swap_kinds = false;            // inclusive for exclusive
    bool scan_sums_inclusively = false; // each group's own sum is added to it
    bool join = true;                   // whether the groups are joined at all
    int runs = always;                  // that do anything
};

void scan(const Mistake& m, const ScanProblem<float>& p, Prefixes<float>& out, Stopwatch& watch) {
    const std::size_t groups = std::max<std::size_t>(1, gpulab::ceil_div(p.size(), local_size));
    const gpulab::ClBuffer<float> a(p.a);
    gpulab::ClBuffer<float> result(p.size()), sums(groups), before(groups + 1);
    int runs = m.runs;
    cl::Kernel first = kernel_for<float>(wrong_reduction_cl, m.kernel);
    cl::Kernel add = kernel_for<float>(wrong_reduction_cl, "add_shifted");
    const cl_ulong n = p.size();
    const cl_int inclusive = (p.kind == Scan::inclusive) != m.swap_kinds;
    gpulab::set_args(first, a.data(), result.data(), n, cl::Local(local_size * sizeof(float)), sums.data(), inclusive);
    gpulab::set_args(add, result.data(), n, before.data(), cl_int{m.scan_sums_inclusively});
    const auto launch = [&](const cl::CommandQueue& queue, gpulab::ClEvents& events) {
        if (runs-- <= 0) return enqueue_nothing(queue, events);
        enqueue(queue, events, first, groups);
        std::vector<float> host(groups), up_to(groups + 1); // the sums of the groups are scanned on the host
        queue.enqueueReadBuffer(sums.data(), CL_TRUE, 0, groups * sizeof(float), host.data());
        for (std::size_t g = 0; g < groups; ++g) up_to[g + 1] = up_to[g] + host[g];
        before.copy_from(up_to);
        if (m.join) enqueue(queue, events, add, groups);
    };
    watch.tile(odd_tile);
    gpulab::watch_queue(watch, launch, gpulab::poisoning(result, sums, before));
    result.copy_to(out);
}

#define WRONG_SUM(name) [](const SumProblem<float>& p, Scalar<float>& s, Stopwatch& w) { strided(name, p, s, w); }
#define WRONG_MINIMUM(first, second) \
    [](const SumProblem<float>& p, Scalar<float>& s, Stopwatch& w) { minimum(first, second, p, s, w); }
#define WRONG_DOUBLE_SUM(name) \
    [](const SumProblem<double>& p, Scalar<double>& s, Stopwatch& w) { double_sum(name, p, s, w); }
#define WRONG_DOT(name) [](const DotProblem<float>& p, Scalar<float>& s, Stopwatch& w) { dot(name, p, s, w); }
#define WRONG_SERIES(name) [](const SeriesProblem<float>& p, Scalar<float>& s, Stopwatch& w) { series(name, p, s, w); }
#define WRONG_SCAN(...) \
    [](const ScanProblem<float>& p, Prefixes<float>& o, Stopwatch& w) { scan(Mistake{__VA_ARGS__}, p, o, w); }

// These launch their kernels in the first run only; the poison before the next ones shows it.
void sum_once(const SumProblem<float>& p, Scalar<float>& s, Stopwatch& w) { strided("right_sum", p, s, w, 1); }
void dot_once(const DotProblem<float>& p, Scalar<float>& s, Stopwatch& w) { dot("right_dot", p, s, w, 1); }
void series_once(const SeriesProblem<float>& p, Scalar<float>& s, Stopwatch& w) { series("right_series", p, s, w, 1); }
void scan_once(const ScanProblem<float>& p, Prefixes<float>& o, Stopwatch& w) { scan({.runs = 1}, p, o, w); }

} // namespace

Controls opencl_controls() {
    return {WRONG_SUM("right_sum"),
            WRONG_DOT("right_dot"),
            WRONG_SERIES("right_series"),
            WRONG_SCAN(),
            WRONG_DOUBLE_SUM("added_in_double"),
            WRONG_MINIMUM("right_minimum", "right_minimum")};
}

std::span<const WrongSum> opencl_sums() {
    static const std::array table = {
        WrongSum{"reads_past_end", "Book 2.7: the last group reads past the array", reads_past_end},
        WrongSum{"partial_sums_dropped", "Book 2.7: sums that fill no group are lost", partial_sums_dropped},
        WrongSum{"no_barrier_before_tree", "no barrier before the tree", WRONG_SUM("no_barrier_before_tree"), "",
                 Forgiven::by_cpus},
        WrongSum{"no_barrier_in_tree", "no barrier between the steps", WRONG_SUM("no_barrier_in_tree"), "",
                 Forgiven::by_cpus},
        WrongSum{"not_cleared", "the accumulator is not cleared", WRONG_SUM("not_cleared")},
        WrongSum{"int_accumulator", "Book 1.6: floats added in an int", WRONG_SUM("int_accumulator")},
        WrongSum{"tail_dropped", "n mod 4 elements left out", WRONG_SUM("tail_dropped")},
        WrongSum{"stops_early", "the last step of the tree is missing", WRONG_SUM("stops_early")},
        WrongSum{"one_place_for_all", "groups overwrite each other's sum", WRONG_SUM("one_place_for_all")},
        WrongSum{"group_stride", "elements counted several times", WRONG_SUM("group_stride")},
        WrongSum{"first_run_only", "does nothing from the second run on", sum_once},
        WrongSum{"group_sums_made_once", "adds up the groups' sums of an earlier run", group_sums_made_once},
        WrongSum{"last_tile_of_one", "a last tile of one element is lost", WRONG_SUM("last_tile_of_one")},
        WrongSum{"nan_lost_in_a_lane", "one lane of 32 takes NaN for 0", WRONG_SUM("nan_lost_in_a_lane")},
        WrongSum{"flushes_denormals", "denormals become 0", WRONG_SUM("flushes_denormals")},
    };
    return table;
}

std::span<const WrongSum> opencl_minima() {
    static const std::array table = {
        WrongSum{"reads_past_end", "the last items read past the array",
                 WRONG_MINIMUM("minimum_reads_past_end", "right_minimum")},
        WrongSum{"reads_past_minima", "the second launch reads past the groups' minima",
                 WRONG_MINIMUM("right_minimum", "minimum_reads_past_end")},
    };
    return table;
}

std::span<const WrongDoubleSum> opencl_double_sums() {
    static const std::array table = {
        WrongDoubleSum{"added_in_float", "the accumulators are floats", WRONG_DOUBLE_SUM("added_in_float")},
    };
    return table;
}

std::span<const WrongDot> opencl_dots() {
    static const std::array table = {
        WrongDot{"dot_squares", "a is multiplied by itself", WRONG_DOT("dot_squares")},
        WrongDot{"dot_tail_dropped", "n mod 4 products left out", WRONG_DOT("dot_tail_dropped")},
        WrongDot{"dot_one_too_many", "<= n for < n", WRONG_DOT("dot_one_too_many")},
        WrongDot{"first_run_only", "does nothing from the second run on", dot_once},
        WrongDot{"dot_nan_lost_in_vectors", "NaN is lost, but not in the tail", WRONG_DOT("dot_nan_lost_in_vectors")},
        WrongDot{"dot_skips_zeros", "0 times NaN is lost", WRONG_DOT("dot_skips_zeros")},
    };
    return table;
}

std::span<const WrongSeries> opencl_series() {
    static const std::array table = {
        WrongSeries{"series_one_sign", "an item alternates the sign from term to term, though its stride is even",
                    WRONG_SERIES("series_one_sign")},
        WrongSeries{"series_from_one", "the first term is left out", WRONG_SERIES("series_from_one")},
        WrongSeries{"series_one_too_many", "<= terms for < terms", WRONG_SERIES("series_one_too_many")},
        WrongSeries{"first_run_only", "does nothing from the second run on", series_once},
    };
    return table;
}

std::span<const WrongScan> opencl_scans() {
    static const std::array table = {
        WrongScan{"inclusive_for_exclusive", "off by one element", WRONG_SCAN("scan_groups", true)},
        WrongScan{"own_sum_added", "off by one group", WRONG_SCAN("scan_groups", false, true)},
        WrongScan{"groups_not_joined", "each group starts from 0", WRONG_SCAN("scan_groups", false, false, false)},
        WrongScan{"no_barrier", "neighbours read what is being written", WRONG_SCAN("scan_without_barrier"), "",
                  Forgiven::by_cpus},
        WrongScan{"first_run_only", "does nothing from the second run on", scan_once},
        WrongScan{"last_tile_of_one", "a last tile of one element is not written", WRONG_SCAN("scan_last_tile_of_one")},
        WrongScan{"subtracts", "exclusive as inclusive minus the element: NaN too early", WRONG_SCAN("scan_subtracts")},
    };
    return table;
}

} // namespace reduction::wrong
