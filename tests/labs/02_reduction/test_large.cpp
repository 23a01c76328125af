// Arrays that 32 bits cannot count, on GPUs that have the memory.
#include <catch2/catch_test_macros.hpp>
#include <source_location>

#include "gpulab_testing/variants.hpp"
#include "large.hpp"

using gpulab::Backend;
using gpulab::testing::large_devices_or_skip;
using reduction::Scan;
using reduction::testing::every_other;
using reduction::testing::ones_among;
using reduction::testing::ones_apart;
using reduction::testing::ones_shared;

namespace {

/// Adds a test case for each variant of a table that takes any n: `fault(run, n)` says what is wrong with it.
/// It is registered by hand and not by VariantCases, because large_devices_or_skip() chooses the devices.
class LargeCases {
public:
    template <class Table, class Fault> LargeCases(const Table& table, const Fault& fault) {
        for (const auto& variant : table) {
            if (variant.backend == Backend::cpu || variant.name.ends_with("one_block")) continue;
            gpulab::testing::detail::add_test_case(
                std::string(variant.name) + " reaches elements that 32 bits do not count",
                "[" + std::string(name_of(variant.backend)) + "][large]",
                [variant, fault] {
                    for (const auto& [device, n] : large_devices_or_skip(variant.backend, 2, 2)) {
                        gpulab::use(device);
                        INFO(variant.name << " on " << device.name << ", n = " << n);
                        try {
                            const std::string what = fault(variant.run, n); // CHECK would catch Unsupported
                            CHECK(what == "");
                        } catch (const gpulab::Unsupported&) {
                            CHECK(variant.baseline); // a library may count in 32 bits, if it says so
                        }
                    }
                },
                std::source_location::current());
        }
    }
};

gpulab::testing::LastMade last;

const LargeCases sums(reduction::sum_variants<float>(), [](auto* run, std::size_t n) {
    const auto& p = last.get<reduction::SumProblem<float>>(fmt::format("sum of {}", n),
                                                           [&] { return reduction::SumProblem<float>{ones_apart(n)}; });
    return reduction::testing::large_fault(run, p, ones_among(n));
});
const LargeCases dots(reduction::dot_variants<float>(), [](auto* run, std::size_t n) {
    const auto& p = last.get<reduction::DotProblem<float>>(fmt::format("dot product of {}", n), [&] {
        return reduction::DotProblem<float>{ones_apart(n), every_other(n)};
    });
    return reduction::testing::large_fault(run, p, ones_shared(n));
});
const LargeCases scans(reduction::scan_variants<float>(), [](auto* run, std::size_t n) {
    using ProblemAndSpace = std::pair<reduction::ScanProblem<float>, reduction::Prefixes<float>>;
    auto& [p, out] = last.get<ProblemAndSpace>(fmt::format("scan of {}", n), [&] {
        return ProblemAndSpace{reduction::ScanProblem<float>{Scan::inclusive, ones_apart(n)},
                               reduction::Prefixes<float>(n)};
    });
    p.kind = Scan::inclusive;
    const std::string fault = reduction::testing::large_scan_fault(run, p, out);
    if (!fault.empty()) return "inclusive: " + fault;
    p.kind = Scan::exclusive;
    const std::string other = reduction::testing::large_scan_fault(run, p, out);
    return other.empty() ? "" : "exclusive: " + other;
});

} // namespace
