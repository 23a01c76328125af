// Rung 2: compensated summation, the reference that every other variant is compared with.
//
// Changed: each addition also computes its rounding error, and the sum of these errors is added at the end. The error
// does not grow with n; see compensated.hpp.
// Limit: about four more operations and a comparison for each element.
#include "compensated.hpp"
#include "reduction.hpp"

namespace reduction {

template <class T> void cpu_kahan(const SumProblem<T>& p, Scalar<T>& sum, Stopwatch& watch) {
    const auto run = [&] {
        CompensatedSum total;
        for (const T x : p.a) total.add(x);
        sum[0] = static_cast<T>(total.value());
    };
    watch.time(run, gpulab::poisoning(sum));
}

template SumRun<float> cpu_kahan<float>;
template SumRun<double> cpu_kahan<double>;

} // namespace reduction
