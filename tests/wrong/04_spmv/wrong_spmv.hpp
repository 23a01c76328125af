/// @file
/// SpMV variants with one classic mistake each. The tests must reject every one of them.
#pragma once

#include <span>
#include <string_view>

#include "spmv.hpp"

namespace spmv::wrong {

/// A known-wrong variant and what is wrong with it.
/// @tparam R Run<float>, Run<double> or, for entries in any order, RunCoo<float>
template <class R> struct WrongVariant {
    std::string_view name;
    std::string_view mistake;
    R* run;
    /// The first check that finds it; empty where several would.
    std::string_view found_by = "";
    /// The answer may be right all the same on a device that forgives missing barriers: only a tool that watches the
    /// barriers and the accesses (oclgrind, compute-sanitizer) is sure to see the mistake.
    bool needs_tool = false;
};

std::span<const WrongVariant<Run<float>>> cpu_variants();
std::span<const WrongVariant<Run<float>>> cuda_variants();
std::span<const WrongVariant<Run<double>>> cuda_double_variants();
std::span<const WrongVariant<RunCoo<float>>> cuda_coo_variants();
std::span<const WrongVariant<Run<float>>> opencl_variants();
std::span<const WrongVariant<Run<double>>> opencl_double_variants();
std::span<const WrongVariant<RunCoo<float>>> opencl_coo_variants();

// Made like the wrong ones, but right: the checks accept them, on a device that no wrong one has broken.
void cpu_right(const Problem<float>& p, Output<float>& y, Stopwatch& watch);
void cuda_right(const Problem<float>& p, Output<float>& y, Stopwatch& watch);
void opencl_right(const Problem<float>& p, Output<float>& y, Stopwatch& watch);

} // namespace spmv::wrong
