// The dot product by one loop on one core; the speed-ups are relative to it.
#include "dot.hpp"

namespace reduction {

template <class T> void cpu_dot(const DotProblem<T>& p, Scalar<T>& dot, Stopwatch& watch) {
    const auto run = [&] {
        double total = 0;
        for (std::size_t i = 0; i < p.size(); ++i) total += static_cast<double>(p.a[i]) * p.b[i];
        dot[0] = static_cast<T>(total);
    };
    watch.time(run, gpulab::poisoning(dot));
}

template DotRun<float> cpu_dot<float>;
template DotRun<double> cpu_dot<double>;

} // namespace reduction
