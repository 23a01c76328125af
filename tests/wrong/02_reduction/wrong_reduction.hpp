/// @file
/// Sums, dot products, series and prefix sums with one classic mistake each. The tests must reject every one of them.
#pragma once

#include <span>
#include <string_view>

#include "dot.hpp"
#include "gpulab_testing/wrong.hpp"
#include "reduction.hpp"
#include "scan.hpp"
#include "series.hpp"

namespace reduction::wrong {

using gpulab::testing::Forgiven;
using gpulab::testing::WrongVariant;
using WrongSum = WrongVariant<SumRun<float>>;
using WrongDoubleSum = WrongVariant<SumRun<double>>;
using WrongDot = WrongVariant<DotRun<float>>;
using WrongSeries = WrongVariant<SeriesRun<float>>;
using WrongScan = WrongVariant<ScanRun<float>>;

std::span<const WrongSum> cpu_sums();
std::span<const WrongDot> cpu_dots();
std::span<const WrongSeries> cpu_series();
std::span<const WrongScan> cpu_scans();
std::span<const WrongSum> opencl_sums();
std::span<const WrongSum> opencl_minima();
std::span<const WrongDoubleSum> opencl_double_sums();
std::span<const WrongDot> opencl_dots();
std::span<const WrongSeries> opencl_series();
std::span<const WrongScan> opencl_scans();
std::span<const WrongSum> cuda_sums();
std::span<const WrongSum> cuda_minima();
std::span<const WrongDoubleSum> cuda_double_sums();
std::span<const WrongDot> cuda_dots();
std::span<const WrongSeries> cuda_series();
std::span<const WrongScan> cuda_scans();

/// Its sum is right, but it does not fill it with NaN before every run.
SumRun<float> cpu_without_poison;

/// For the tools of compute-sanitizer: CUDA trees whose mistake need not show on a GPU.
SumRun<float> cuda_barrier_in_branch, cuda_no_barrier_before_tree;

/// What the wrong kernels are made from, with no mistake switched on: these must pass, or the wrong ones would be
/// rejected for something else.
struct Controls {
    SumRun<float>* sum;
    DotRun<float>* dot;
    SeriesRun<float>* series;
    ScanRun<float>* scan;
    SumRun<double>* double_sum = nullptr;
    SumRun<float>* minimum = nullptr;
};
Controls cpu_controls();
Controls opencl_controls();
Controls cuda_controls();

} // namespace reduction::wrong
