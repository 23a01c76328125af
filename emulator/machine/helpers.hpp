#pragma once
#include <functional>

namespace cuda_emulator {

/// Runs work(0) here and work(1), …, work(count - 1) on host threads that stay for the next launch. A helper that is
/// late finds the work done and is not waited for, so that small launches cost no change of threads.
void run_with_helpers(unsigned count, const std::function<void(unsigned)>& work);

} // namespace cuda_emulator
