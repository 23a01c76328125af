/// @file
/// What every lab's tests need: sizes that straddle warps and blocks, devices or a visible skip, and one way to
/// find a variant's fault that the tests of right kernels and of wrong ones share.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gpulab/compare.hpp"
#include "gpulab/device.hpp"
#include "gpulab/error.hpp"
#include "gpulab/stopwatch.hpp"

namespace gpulab::testing {

/// The seed of all random inputs in the tests; Catch2 shows it when an assertion fails (INFO).
inline constexpr std::uint64_t seed = 20160;

/// 0, 1, 2 and around every power of two at which a warp, a block or a tile ends, and a prime.
const std::vector<std::size_t>& straddling_sizes();

/// The same without the larger ones: for oclgrind, which is a thousand times slower than the real thing.
const std::vector<std::size_t>& small_sizes();

/// The devices of a back end. When there are none, or the build leaves the back end out, the running test case is
/// skipped with the reason; with GPULAB_REQUIRE_DEVICES=1 in the environment it fails instead.
const std::vector<Device>& devices_or_skip(Backend backend);

/// Skips the running test case with a reason, or fails it when GPULAB_REQUIRE_DEVICES=1.
void skip_or_fail(const std::string& reason);

/// What is wrong with a variant on the current device, or "" when its answer is right.
///
/// The output is poisoned, the kernel runs twice (so that one that adds to what it finds is seen), stray writes
/// are looked for in the guard bands, and the whole output is judged.
/// @param run a variant, or anything called as `run(problem, output, watch)`
/// @param judge a function of no arguments that compares the output and returns a Comparison
/// @throws Unsupported as the variant does: it is no fault to say that a problem cannot be done
template <class Run, class Problem, class Output, class Judge>
std::string fault_of(const Run& run, const Problem& problem, Output& output, const Judge& judge) {
    poison(output);
    Stopwatch twice(1, 1);
    try {
        run(problem, output, twice);
    } catch (const WrongResult& e) {
        return e.what();
    }
    if (twice.kernel().repeats != 1) return "the variant did not time its kernel";
    const Comparison comparison = judge();
    return comparison.passed ? "" : comparison.message;
}

} // namespace gpulab::testing
