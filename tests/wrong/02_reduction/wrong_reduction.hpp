/// @file
/// Sums and prefix sums with one classic mistake each. The tests must reject every one of them.
#pragma once

#include <span>
#include <string_view>

#include "reduction.hpp"
#include "scan.hpp"

namespace reduction::wrong {

/// A known-wrong variant and what is wrong with it. @tparam Run SumRun<float> or ScanRun<float>
template <class Run> struct WrongVariant {
    std::string_view name;
    std::string_view mistake;
    Run* run;
    /// A CPU device runs the items of a group one after another and answers right in spite of the mistake. There the
    /// test cases tagged [.oclgrind-...] stand in: oclgrind must find a data race.
    bool cpu_device_forgives = false;
};
using WrongSum = WrongVariant<SumRun<float>>;
using WrongScan = WrongVariant<ScanRun<float>>;

std::span<const WrongSum> opencl_sums();
std::span<const WrongScan> opencl_scans();
std::span<const WrongSum> cuda_sums();
std::span<const WrongScan> cuda_scans();

} // namespace reduction::wrong
