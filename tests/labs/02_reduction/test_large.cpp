// More elements than 32 bits count, on GPUs that have the memory: an index or a count of 32 bits fails here and nowhere
// else. The numbers are ones, far apart, among zeros: every sum of them is below 2^24, so that a float holds it
// exactly, whatever the order of summation, and is known without a reference.
#include <fmt/format.h>

#include "dot.hpp"
#include "gpulab/math.hpp"
#include "gpulab_testing/large_cases.hpp"
#include "gpulab_testing/steps.hpp"
#include "reduction.hpp"
#include "scan.hpp"

using namespace gpulab::testing;
using reduction::Scan;
using reduction::Stopwatch;

namespace {

/// Every 641st element of the large arrays is a one, the 641st being the first. 641 divides 2^31 + 321 and 2^32 + 1: of
/// the last elements, those that 32 bits do not count, exactly one is a one, and none of the first elements is, that an
/// index gets back to when it wraps.
constexpr std::size_t apart = 641;

/// Zeros with a one at elements apart - 1, 2 apart - 1 and so on.
std::vector<float> ones_apart(std::size_t n) {
    std::vector<float> a(n);
    for (std::size_t i = apart - 1; i < n; i += apart) a[i] = 1;
    return a;
}

/// How many of the first n there are.
std::size_t ones_among(std::size_t n) { return n / apart; }

/// Ones and zeros in turn: the other factor of a dot product.
std::vector<float> every_other(std::size_t n) {
    std::vector<float> b(n);
    for (std::size_t i = 0; i < n; i += 2) b[i] = 1;
    return b;
}

/// The dot product of ones_apart and every_other: ones stand at the even places of i = apart - 1, 2 apart - 1 ...,
/// which, apart being odd, are the first, the third and so on.
std::size_t ones_shared(std::size_t n) { return gpulab::ceil_div(ones_among(n), 2); }

/// What is wrong with a variant's sum or dot product, or "". @param expected the exact number
template <class Run, class Problem> std::string number_fault(Run* run, const Problem& p, std::size_t expected) {
    reduction::Scalar<float> got(1, gpulab::poison_value<float>());
    Stopwatch once;
    if (std::string stray = stray_write(run, p, got, once); !stray.empty()) return stray;
    return got[0] == static_cast<float>(expected) ? "" : fmt::format("{} and not {}", got[0], expected);
}

/// What is wrong with a variant's prefix sums of ones_apart(), or "". @param out space for them
std::string scan_fault(reduction::ScanRun<float>* run, const reduction::ScanProblem<float>& p,
                       reduction::Prefixes<float>& out) {
    Stopwatch once;
    if (std::string stray = stray_write(run, p, out, once); !stray.empty()) return stray;
    const std::size_t wrong = wrong_among(out.size(), [&](std::size_t i) {
        const std::size_t counted = p.kind == Scan::inclusive ? i + 1 : i; // elements in this sum
        return out[i] == static_cast<float>(ones_among(counted));
    });
    return wrong < out.size() ? fmt::format("prefix {} is {}", wrong, out[wrong]) : "";
}

/// Adds the test cases of a table. A library may count in 32 bits, if it says so.
template <class Table, class Fault> LargeCases large_cases(const Table& table, const Fault& fault) {
    return {table, "reaches elements that 32 bits do not count", 2, 2,
            [fault](const auto& v, std::size_t n) -> std::string {
                try {
                    return fault(v.run, n);
                } catch (const gpulab::Unsupported& e) {
                    return v.baseline ? "" : e.what();
                }
            }};
}

LastMade last;

const LargeCases sums = large_cases(reduction::sum_variants<float>(), [](auto* run, std::size_t n) {
    const auto& p = last.get<reduction::SumProblem<float>>(fmt::format("sum of {}", n),
                                                           [&] { return reduction::SumProblem<float>{ones_apart(n)}; });
    return number_fault(run, p, ones_among(n));
});
const LargeCases dots = large_cases(reduction::dot_variants<float>(), [](auto* run, std::size_t n) {
    const auto& p = last.get<reduction::DotProblem<float>>(fmt::format("dot product of {}", n), [&] {
        return reduction::DotProblem<float>{ones_apart(n), every_other(n)};
    });
    return number_fault(run, p, ones_shared(n));
});
const LargeCases scans = large_cases(reduction::scan_variants<float>(), [](auto* run, std::size_t n) {
    using ProblemAndSpace = std::pair<reduction::ScanProblem<float>, reduction::Prefixes<float>>;
    auto& [p, out] = last.get<ProblemAndSpace>(fmt::format("scan of {}", n), [&] {
        return ProblemAndSpace{reduction::ScanProblem<float>{Scan::inclusive, ones_apart(n)},
                               reduction::Prefixes<float>(n)};
    });
    for (const Scan kind : {Scan::inclusive, Scan::exclusive}) {
        p.kind = kind;
        if (const std::string fault = scan_fault(run, p, out); !fault.empty())
            return (kind == Scan::inclusive ? "inclusive: " : "exclusive: ") + fault;
    }
    return std::string();
});

} // namespace
