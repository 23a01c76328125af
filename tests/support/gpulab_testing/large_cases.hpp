/// @file
/// One test case for each variant of a lab's table with arrays that 32 bits cannot count.
#pragma once

#include <atomic>
#include <catch2/catch_test_macros.hpp>
#include <source_location>
#include <string>

#include "gpulab/parallel.hpp"
#include "gpulab_testing/large.hpp"
#include "gpulab_testing/variants.hpp"

namespace gpulab::testing {

/// Adds a test case for each variant of a table that takes any n when the program starts. Its name is "<variant>
/// <sentence>", its tags are that of the back end and [large].
class LargeCases {
public:
    /// @param table rows of Variant<Run>
    /// @param on_device,on_host how many arrays of n floats there are at a time: they choose the devices
    /// @param fault `fault(variant, n)`: what is wrong with it on the current device, or ""
    template <class Table, class Fault>
    LargeCases(const Table& table, const std::string& sentence, std::size_t on_device, std::size_t on_host,
               const Fault& fault, std::source_location where = std::source_location::current()) {
        for (const auto& variant : table) {
            if (variant.backend == Backend::cpu || variant.name.ends_with("one_block")) continue;
            const auto body = [=] {
                for (const auto& [device, n] : large_devices_or_skip(variant.backend, on_device, on_host)) {
                    use(device);
                    INFO(variant.name << " on " << device.name << ", n = " << n);
                    const std::string what = fault(variant, n); // may skip, which CHECK would catch
                    CHECK(what == "");
                }
            };
            detail::add_test_case(std::string(variant.name) + " " + sentence,
                                  "[" + std::string(name_of(variant.backend)) + "][large]", body, where);
        }
    }
};

/// Which of 0 ... n - 1 is not `right(i)`, or n when all are. Looks on all CPU threads.
/// @param worth_a_thread see for_ranges()
template <class Right>
std::size_t wrong_among(std::size_t n, const Right& right, std::size_t worth_a_thread = 1 << 20) {
    std::atomic<std::size_t> wrong{n};
    for_ranges(n, worth_a_thread, [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i)
            if (!right(i)) return wrong.store(i);
    });
    return wrong;
}

} // namespace gpulab::testing
