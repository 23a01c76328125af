// The sums that need what OpenCL 3.0 leaves to the device.
#include <catch2/catch_test_macros.hpp>
#include <iostream>
#include <numeric>

#include "../checks.hpp"
#include "optional_sums.hpp"
#if defined(GPULAB_WITH_OPENCL)
#include "../groups.hpp"

using gpulab::testing::Faults;
using gpulab::testing::sizes_next_to;
using gpulab::testing::straddling_sizes;
using reduction::Scalar;
using reduction::testing::first_fault;
using reduction::testing::whole_numbers;

namespace {

template <class T> using Variant = gpulab::Variant<reduction::SumRun<T>>;

/// Whether the current device can run a variant. Where no device here can, the test case is skipped.
template <class T> bool able(const Variant<T>& v) {
    const auto why_not = [&] {
        Scalar<T> sum(1);
        gpulab::Stopwatch once;
        return gpulab::testing::message_of<gpulab::Unsupported>([&] { v.run({}, sum, once); });
    };
    const std::string why = why_not();
    if (why.empty()) return true;
    for (const gpulab::Device& device : gpulab::testing::devices_or_skip(v.backend)) {
        if (!gpulab::unmet_need(v.needs, device).empty()) continue;
        gpulab::use(device);
        if (why_not().empty()) return false;
    }
    std::cout << "skipped: " << why << std::endl; // also where devices are required: none has what is optional
    SKIP(why);
    return false;
}

template <class T> void check(const Variant<T>& v, Faults& faults) {
    if (!able(v)) return;
    faults.check("by hand", [&]() -> std::string {
        for (const std::size_t n : {0, 1, 5, 100, 1000}) {
            std::vector<T> numbers(n);
            std::iota(numbers.begin(), numbers.end(), T{1});
            Scalar<T> sum(1, T{-1});
            gpulab::Stopwatch once;
            gpulab::testing::in_turn([&] { v.run({numbers}, sum, once); });
            if (sum[0] != static_cast<T>(n * (n + 1) / 2)) return fmt::format("1 + ... + {} is not {}", n, sum[0]);
        }
        return "";
    });
    faults.check("every size", [&] { return first_fault(v.run, v.backend, straddling_sizes()); });
    std::vector<gpulab::Tile> tiles;
    faults.check("contract", [&] {
        const auto p = reduction::make_sum_problem<T>(1000, gpulab::testing::seed);
        return reduction::testing::contract_violation(v, p, Scalar<T>(1), tiles);
    });
    faults.check("sizes next to its tiles", [&] {
        const auto sizes = sizes_next_to(tiles, gpulab::testing::largest_near_tile(v.backend));
        return first_fault(v.run, v.backend, sizes, whole_numbers);
    });
    faults.check("NaN and infinities", [&]() -> std::string {
        for (const std::size_t n : reduction::testing::special_sizes(tiles, 1'000'000))
            if (const std::string fault = reduction::testing::special_fault(v.run, n, tiles); !fault.empty())
                return fault;
        return "";
    });
    if (reduction::testing::keeps_denormals<T>(v.backend))
        faults.check("denormals", [&]() -> std::string {
            for (const std::size_t n : {1, 1000, 100'003})
                if (const std::string fault =
                        reduction::testing::denormal_fault(v.run, n, reduction::testing::smallest<T>);
                    !fault.empty())
                    return fault;
            return "";
        });
    faults.check("2^24 + 8 elements", // past 2^24 a float no longer counts every integer
                 [&] { return first_fault(v.run, v.backend, {(1 << 24) + 8}, whole_numbers); });
    for (const std::size_t groups : {1, 3, 255, 257, 1000}) {
        const reduction::testing::Groups requested(groups);
        faults.check(fmt::format("{} groups", groups), [&] {
            return first_fault(v.run, v.backend, {1023, 4099, 300'007});
        });
    }
}

using gpulab::testing::VariantCases;
const VariantCases floats(reduction::optional_sum_variants<float>(), "adds up floats", "", check<float>);
const VariantCases doubles(reduction::optional_sum_variants<double>(), "adds up doubles", "", check<double>);

} // namespace
#endif
