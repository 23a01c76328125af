#include "wrong_reduction.hpp"

#include <array>

#include "gpulab/math.hpp"
#include "gpulab/opencl/buffer.hpp"
#include "gpulab/opencl/timing.hpp"
#include "launch.hpp"
#include "wrong_reduction.cl.hpp"

namespace reduction::wrong {

namespace {

void enqueue(const cl::CommandQueue& queue, gpulab::ClEvents& events, const cl::Kernel& kernel, std::size_t groups) {
    queue.enqueueNDRangeKernel(kernel, cl::NullRange, cl::NDRange(groups * local_size), cl::NDRange(local_size),
                               nullptr, events.add());
}

/// Runs a kernel and adds up its groups' sums; `kept` of `groups` says how many of them count.
Scalar<float> sum_of_groups(const char* name, const std::vector<float>& in, std::size_t n, std::size_t groups,
                            std::size_t kept, Stopwatch& watch) {
    const gpulab::ClBuffer<float> a(in);
    gpulab::ClBuffer<float> sums(groups);
    if (std::string_view(name) == "not_cleared") {
        const std::vector<float> zeros(groups); // cleared once, but not before every run
        sums.copy_from(zeros);
    }
    cl::Kernel kernel = kernel_for<float>(wrong_reduction_cl, name);
    const cl_ulong count = n;
    gpulab::set_args(kernel, a.data(), count, cl::Local(local_size * sizeof(float)), sums.data());
    gpulab::watch_queue(watch, [&](const cl::CommandQueue& queue, gpulab::ClEvents& events) {
        enqueue(queue, events, kernel, groups);
    });
    std::vector<float> host(groups);
    sums.copy_to(host);
    double total = 0;
    for (std::size_t g = 0; g < kept; ++g) total += host[g];
    return {static_cast<float>(total)};
}

/// A kernel with a grid stride whose groups' sums all count.
void strided(const char* name, const SumProblem<float>& p, Scalar<float>& sum, Stopwatch& watch) {
    const std::size_t groups = group_count(p.size());
    sum = sum_of_groups(name, p.a, p.size(), groups, groups, watch);
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

/// A kernel that adds up something in groups, and the host that adds up the groups' sums.
template <class T, class... Arguments>
void groups_of(const char* name, std::size_t n, Scalar<T>& sum, Stopwatch& watch, const Arguments&... arguments) {
    const std::size_t groups = group_count(n);
    const gpulab::ClBuffer<T> sums(groups);
    cl::Kernel kernel = kernel_for<T>(wrong_reduction_cl, name);
    gpulab::set_args(kernel, arguments..., cl_ulong{n}, cl::Local(local_size * sizeof(T)), sums.data());
    const auto launch = [&](const cl::CommandQueue& queue, gpulab::ClEvents& events) {
        enqueue(queue, events, kernel, groups);
    };
    gpulab::watch_queue(watch, launch, [&](const cl::CommandQueue& queue) { sums.poison_async(queue); });
    std::vector<T> host(groups);
    sums.copy_to(host);
    double total = 0;
    for (const T x : host) total += x;
    sum[0] = static_cast<T>(total);
}

void dot(const char* name, const DotProblem<float>& p, Scalar<float>& sum, Stopwatch& watch) {
    const gpulab::ClBuffer<float> a(p.a), b(p.b);
    groups_of(name, p.size(), sum, watch, a.data(), b.data());
}

void series(const char* name, const SeriesProblem<float>& p, Scalar<float>& sum, Stopwatch& watch) {
    groups_of(name, p.terms, sum, watch, cl_int{p.series == Series::pi}, p.x);
}

/// A scan with room for one mistake.
struct Mistake {
    const char* kernel = "scan_groups";
    bool swap_kinds = false;            // inclusive for exclusive
    bool scan_sums_inclusively = false; // each group's own sum is added to it
    bool join = true;                   // whether the groups are joined at all
};

void scan(const Mistake& m, const ScanProblem<float>& p, Prefixes<float>& out, Stopwatch& watch) {
    const std::size_t groups = std::max<std::size_t>(1, gpulab::ceil_div(p.size(), local_size));
    const gpulab::ClBuffer<float> a(p.a);
    gpulab::ClBuffer<float> result(p.size()), sums(groups), before(groups + 1);
    cl::Kernel first = kernel_for<float>(wrong_reduction_cl, m.kernel);
    cl::Kernel add = kernel_for<float>(wrong_reduction_cl, "add_shifted");
    const cl_ulong n = p.size();
    const cl_int inclusive = (p.kind == Scan::inclusive) != m.swap_kinds;
    gpulab::set_args(first, a.data(), result.data(), n, cl::Local(local_size * sizeof(float)), sums.data(), inclusive);
    gpulab::set_args(add, result.data(), n, before.data(), cl_int{m.scan_sums_inclusively});
    gpulab::watch_queue(watch, [&](const cl::CommandQueue& queue, gpulab::ClEvents& events) {
        enqueue(queue, events, first, groups);
        std::vector<float> host(groups), up_to(groups + 1); // the sums of the groups are scanned on the host
        queue.enqueueReadBuffer(sums.data(), CL_TRUE, 0, groups * sizeof(float), host.data());
        for (std::size_t g = 0; g < groups; ++g) up_to[g + 1] = up_to[g] + host[g];
        before.copy_from(up_to);
        if (m.join) enqueue(queue, events, add, groups);
    });
    result.copy_to(out);
}

#define WRONG_SUM(name) [](const SumProblem<float>& p, Scalar<float>& s, Stopwatch& w) { strided(name, p, s, w); }
#define WRONG_DOT(name) [](const DotProblem<float>& p, Scalar<float>& s, Stopwatch& w) { dot(name, p, s, w); }
#define WRONG_SERIES(name) [](const SeriesProblem<float>& p, Scalar<float>& s, Stopwatch& w) { series(name, p, s, w); }
#define WRONG_SCAN(...) \
    [](const ScanProblem<float>& p, Prefixes<float>& o, Stopwatch& w) { scan(Mistake{__VA_ARGS__}, p, o, w); }

} // namespace

std::span<const WrongSum> opencl_sums() {
    static const std::array table = {
        WrongSum{"reads_past_end", "Book 2.7: the last group reads past the array", reads_past_end},
        WrongSum{"partial_sums_dropped", "Book 2.7: sums that fill no group are lost", partial_sums_dropped},
        WrongSum{"no_barrier_before_tree", "no barrier before the tree", WRONG_SUM("no_barrier_before_tree"), true},
        WrongSum{"no_barrier_in_tree", "no barrier between the steps", WRONG_SUM("no_barrier_in_tree"), true},
        WrongSum{"not_cleared", "the accumulator is not cleared", WRONG_SUM("not_cleared")},
        WrongSum{"int_accumulator", "Book 1.6: floats added in an int", WRONG_SUM("int_accumulator")},
        WrongSum{"tail_dropped", "n mod 4 elements left out", WRONG_SUM("tail_dropped")},
        WrongSum{"stops_early", "the last step of the tree is missing", WRONG_SUM("stops_early")},
        WrongSum{"one_place_for_all", "groups overwrite each other's sum", WRONG_SUM("one_place_for_all")},
        WrongSum{"group_stride", "elements counted several times", WRONG_SUM("group_stride")},
    };
    return table;
}

std::span<const WrongDoubleSum> opencl_double_sums() {
    static const std::array table = {
        WrongDoubleSum{"added_in_float", "the accumulators are floats",
                       [](const SumProblem<double>& p, Scalar<double>& sum, Stopwatch& watch) {
                           const gpulab::ClBuffer<double> a(p.a);
                           groups_of("added_in_float", p.size(), sum, watch, a.data());
                       }},
    };
    return table;
}

std::span<const WrongDot> opencl_dots() {
    static const std::array table = {
        WrongDot{"dot_squares", "a is multiplied by itself", WRONG_DOT("dot_squares")},
        WrongDot{"dot_tail_dropped", "n mod 4 products left out", WRONG_DOT("dot_tail_dropped")},
        WrongDot{"dot_one_too_many", "<= n for < n", WRONG_DOT("dot_one_too_many")},
    };
    return table;
}

std::span<const WrongSeries> opencl_series() {
    static const std::array table = {
        WrongSeries{"series_one_sign", "an item alternates the sign from term to term, though its stride is even",
                    WRONG_SERIES("series_one_sign")},
        WrongSeries{"series_from_one", "the first term is left out", WRONG_SERIES("series_from_one")},
        WrongSeries{"series_one_too_many", "<= terms for < terms", WRONG_SERIES("series_one_too_many")},
    };
    return table;
}

std::span<const WrongScan> opencl_scans() {
    static const std::array table = {
        WrongScan{"inclusive_for_exclusive", "off by one element", WRONG_SCAN("scan_groups", true)},
        WrongScan{"own_sum_added", "off by one group", WRONG_SCAN("scan_groups", false, true)},
        WrongScan{"groups_not_joined", "each group starts from 0", WRONG_SCAN("scan_groups", false, false, false)},
        WrongScan{"no_barrier", "neighbours read what is being written", WRONG_SCAN("scan_without_barrier"), true},
    };
    return table;
}

} // namespace reduction::wrong
