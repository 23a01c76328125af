/// @file
/// What a test asks of a variant, and learns from it, beside its result. Outside tests none of this happens.
#pragma once

#include <cstddef>
#include <type_traits>
#include <vector>

namespace gpulab {

/// Who is called before each timed run, and before its reset.
class RunListener {
public:
    virtual void before_run() = 0; ///< called before each timed run

protected:
    ~RunListener() = default;
};

/// What a test asks of a stopwatch: `watch.hooks = &hooks`.
struct TestHooks {
    /// How many milliseconds watch_stream() keeps the stream busy before every reset. A kernel that was launched into
    /// another stream then runs before its output is poisoned, and the poison shows it.
    int reset_delay_ms = 0;
    /// Makes the helpers leave out the computation of the last timed run, but not its reset. The result must then be
    /// gone: else a variant that computes something in its first run only would pass.
    bool leave_out_last_body = false;
    RunListener* listener = nullptr;
};

/// The sizes at which a variant cut its work, noted by the helpers that it calls for this: grid_size(), global_size()
/// and resident_blocks(). Null where no test listens.
inline thread_local std::vector<std::size_t>* noted_cuts = nullptr;

/// Notes a size in noted_cuts.
constexpr void note_cut([[maybe_unused]] std::size_t size) {
#ifndef __CUDA_ARCH__ // device code cuts nothing
    if (!std::is_constant_evaluated() && noted_cuts) noted_cuts->push_back(size);
#endif
}

} // namespace gpulab
