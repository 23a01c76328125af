/// @file
/// SpMV variants with one classic mistake each. The tests must reject every one of them.
#pragma once

#include <span>
#include <string_view>

#include "gpulab_testing/wrong.hpp"
#include "spmv.hpp"

namespace spmv::wrong {

using gpulab::testing::Forgiven;
using gpulab::testing::WrongVariant;

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
