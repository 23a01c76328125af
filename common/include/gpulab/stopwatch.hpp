/// @file
/// Collects the kernel times of a variant: warm-up runs that do not count, then repeats that do.
#pragma once

#include <cstddef>
#include <string_view>
#include <type_traits>
#include <vector>

#include "gpulab/poisoning.hpp" // resets: a variant that has the stopwatch has them

namespace gpulab {

/// Median and extremes of the repeats, in milliseconds.
struct Timing {
    double median = 0;
    double min = 0;
    double max = 0;
    int repeats = 0; ///< how many runs these figures are based on; 0 when nothing was timed
};

/// Median, minimum and maximum of a set of times. The median of an even count is the mean of the middle two.
Timing summarise(std::vector<double> times_ms);

struct TestHooks;

/// Milliseconds since some fixed moment, by a clock that never goes back.
double clock_ms();

/// In place of a reset, where there is none.
struct NoReset {
    template <class... StreamOrQueue> void operator()(const StreamOrQueue&...) const {}
};
template <class Reset> inline constexpr bool is_reset = !std::is_same_v<std::remove_cvref_t<Reset>, NoReset>;

/// A size at which a variant splits its work: a block, a tile in shared memory, a whole grid before it strides.
struct Tile {
    std::size_t size = 0;
    std::string_view of; ///< what is counted: "elements", "rows", "nnz", "m"; a string literal
};

/// How often a variant repeats its kernel, and how long each run took.
///
/// A variant hands its kernel to the stopwatch, which runs it warmup() times untimed and then repeats()
/// times timed: `time()` here for CPU code, `watch_stream()` (cuda/timing.hpp) for CUDA and
/// `watch_queue()` (opencl/timing.hpp) for OpenCL. All three take a reset that runs, untimed, before every run. It
/// poisons what the kernel is about to compute (`poisoning(out)`, in gpulab/poisoning.hpp), so that no run passes off
/// the result of an earlier one as its own, and restores what an in-place algorithm overwrites.
class Stopwatch {
public:
    /// @param warmup    runs before the first timed one, at least 0
    /// @param repeats   timed runs at most, at least 1
    /// @param budget_s  once this much time has been spent and three runs are timed, stop early; 0: never stop early
    /// @param flush_l2  on a GPU, evict the L2 cache before every run
    explicit Stopwatch(int warmup = 0, int repeats = 1, double budget_s = 0, bool flush_l2 = false)
        : warmup_(warmup), repeats_(repeats), budget_s_(budget_s), flush_l2_(flush_l2) {}

    int warmup() const { return warmup_; }
    int repeats() const { return repeats_; }
    double budget_s() const { return budget_s_; }
    bool flush_l2() const { return flush_l2_; }

    const TestHooks* hooks = nullptr; ///< what a test asks for: see test_hooks.hpp
    bool leaves_out_body() const;     ///< whether a test asks to leave out the computation of the next run

    /// Adds one timed run. Called by the timing helpers of each back end.
    /// @throws Error when ms is negative or not a number
    void record(double ms);

    /// Whether another run is due: helpers loop `while (watch.wants_more())`.
    /// The first call starts the budget.
    bool wants_more();

    /// Times CPU code with the steady clock.
    /// @param body  the computation; runs warmup() + repeats() times
    /// @param reset restores what body overwrites; runs untimed before each body
    template <class Body, class Reset = NoReset> void time(Body&& body, Reset&& reset = {}) {
        start();
        if (is_reset<Reset>) notes_reset();
        for (int i = 0; i < warmup_; ++i) {
            reset();
            body();
        }
        while (wants_more()) {
            reset();
            const double begin = clock_ms();
            if (!leaves_out_body()) body();
            record(clock_ms() - begin);
        }
    }

    /// Runs something that is not part of the computation, such as a recorded run or a check. gpulab::measure()
    /// subtracts its time from the total.
    template <class Body> void leave_out(Body&& body) {
        const double begin = clock_ms();
        body();
        left_out_ms_ += clock_ms() - begin;
    }
    double left_out_ms() const { return left_out_ms_; }

    /// Does what a variant does once for any number of runs, such as sorting a matrix, and notes how long that takes.
    /// @param body waits for what it starts on a device
    template <class Body> void prepare(Body&& body) {
        const double begin = clock_ms();
        body();
        prepared_ms_ += clock_ms() - begin;
    }
    double prepared_ms() const { return prepared_ms_; }

    /// Forgets earlier times; the helpers call it first, so that the last measured section counts.
    void start();

    /// Notes that a reset runs before every run; the timing helpers call it.
    void notes_reset() { reset_ = true; }
    /// Whether the last measured section had a reset.
    bool had_reset() const { return reset_; }

    /// A variant names a size at which it splits its work; the tests then try the sizes on both sides of it.
    /// Naming the same one again changes nothing. @param size at least 1 @param of a string literal
    Stopwatch& tile(std::size_t size, std::string_view of = "elements");
    const std::vector<Tile>& tiles() const { return tiles_; }

    const std::vector<double>& times_ms() const { return times_ms_; }
    Timing kernel() const { return summarise(times_ms_); }

private:
    int warmup_;
    int repeats_;
    double budget_s_;
    bool flush_l2_;
    bool reset_ = false;
    double left_out_ms_ = 0, prepared_ms_ = 0;
    std::vector<Tile> tiles_;
    std::vector<double> times_ms_;
    double started_ms_ = 0; // by clock_ms(); 0 before the first call of wants_more()
};

} // namespace gpulab
