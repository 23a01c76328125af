// Rung 1: one loop on one core. (Alfaro Vigo & Rossetto, program 1.7)
//
// The sum is held in a double, not in a float as in the printed program. A float has 24 bits: once the sum is so
// large that adding a number below 1 changes nothing, the rest of the array is lost.
// Limit: latency. Each addition waits for the one before it, two to four cycles, depending on the CPU, and the compiler
// may not reorder floating-point additions to break that chain.
#include "reduction.hpp"

namespace reduction {

template <class T> void cpu_sequential(const SumProblem<T>& p, Scalar<T>& sum, Stopwatch& watch) {
    const auto run = [&] {
        double total = 0;
        for (const T x : p.a) total += x;
        sum[0] = static_cast<T>(total);
    };
    watch.time(run, gpulab::poisoning(sum));
}

template SumRun<float> cpu_sequential<float>;
template SumRun<double> cpu_sequential<double>;

} // namespace reduction
