/// @file
/// What every lab's tests need: sizes that straddle warps and blocks, devices or a visible skip, and one way to
/// find a variant's fault that the tests of right kernels and of wrong ones share.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "gpulab/compare.hpp"
#include "gpulab/device.hpp"
#include "gpulab/error.hpp"
#include "gpulab/guard.hpp"
#include "gpulab/stopwatch.hpp"

namespace gpulab::testing {

/// What is said by an action that refuses its input with such an exception, or "" when it does not.
template <class Refusal = UsageError, class Action> std::string message_of(const Action& action) {
    try {
        action();
    } catch (const Refusal& e) {
        return e.what();
    }
    return "";
}

/// The seed of all random inputs in the tests: the same numbers on every machine and in every run.
inline constexpr std::uint64_t seed = 20160;

/// 0, 1, 2 and around every power of two at which a warp, a block or a tile ends, and a prime.
const std::vector<std::size_t>& straddling_sizes();

/// The same without the larger ones: for oclgrind, which is a thousand times slower than the real thing.
const std::vector<std::size_t>& small_sizes();

/// The devices of a back end; with GPULAB_TEST_DEVICES=gpu in the environment without CPUs, where there is a GPU. When
/// there are none, or the build leaves the back end out, the running test case is
/// skipped with the reason; with GPULAB_REQUIRE_DEVICES=1 in the environment it fails instead.
const std::vector<Device>& devices_or_skip(Backend backend);

/// Runs the test case once for each of these devices, from its beginning, and makes the device current. @return it
const Device& each_device(Backend backend);

/// Runs something on a GPU while no other test of this user does. Tests run side by side, and a GPU that switches
/// between processes takes a hundred times as long for each launch and copy: 1.1 ms for 12 us, with 12 processes on an
/// H200. So each runs its variant in turn, and makes inputs and compares results while others have the GPU.
///
/// An action that takes longer than a minute loses its turn, so that a kernel that hangs does not stop the other tests.
/// GPULAB_TEST_TURNS=0 in the environment switches turns off, and on a CPU there are none. Turns may be nested. With
/// GPULAB_TEST_TURNS=shared the program shares its turn with all others that run so, and keeps it between its actions:
/// for compute-sanitizer, under which programs side by side take less time than one after the other.
///
/// (CUDA's multi-process service would share the GPU better, but one kernel that reads outside its arrays would end all
/// processes that share it.)
void in_turn(const std::function<void()>& action);

/// The running test case takes no more turns, because what it runs hardly uses the GPU. A turn that it has ends.
void leave_turns();

/// Skips the running test case with a reason, or fails it when GPULAB_REQUIRE_DEVICES=1.
void skip_or_fail(const std::string& reason);

/// The passes of fault_of(). The first ones of a test case have a third, whose resets are delayed. With
/// GPULAB_TEST_UNDER_TOOL=1 in the environment there is one pass, which runs the kernel once and once more: a tool that
/// looks at every access sees no more in the fifth run than in the first two, and slows each down a hundred times.
std::vector<Stopwatch> passes();

/// What is wrong with a variant on the current device, or "" when its answer is right.
///
/// It runs in two passes: its kernel once, and once more from the start three times over, so that both a kernel that is
/// wrong the first time and one that builds on what an earlier run left behind are seen. The first problems of a test
/// case run a third time, with TestHooks::reset_delay_ms. Before each pass the output is poisoned; after each, stray
/// writes are looked for in all guard bands and the whole output is judged.
/// @param run a variant, or anything called as `run(problem, output, watch)`
/// @param judge a function of no arguments that compares the output and returns a Comparison
/// @throws Unsupported as the variant does: it is no fault to say that a problem cannot be done
template <class Run, class Problem, class Output, class Judge>
std::string fault_of(const Run& run, const Problem& problem, Output& output, const Judge& judge) {
    for (Stopwatch& watch : passes()) {
        poison(output);
        take_stray_write();
        try {
            in_turn([&] { run(problem, output, watch); });
        } catch (const WrongResult& e) {
            return e.what();
        }
        if (const std::string stray = take_stray_write(); !stray.empty()) return stray;
        if (watch.kernel().repeats != watch.repeats()) return "the variant did not time its kernel";
        const Comparison comparison = judge();
        if (!comparison.passed) return comparison.message;
    }
    return "";
}

} // namespace gpulab::testing
