// Rung 2: cyclic reduction (CR), still sequential. (Book 3.1, exercise 3.2)
//
// Changed: every second equation is removed at once. Equation i minus multiples of the equations before and after it
// no longer holds x[i-1] and x[i+1], but x[i-2] and x[i+2]: the equations 1, 3, 5, ... are a tridiagonal system of half
// the size. After log2 n such steps one equation is left. Back substitution goes through the steps in reverse: each
// unknown that a step removed follows from its two neighbours, which are known by then.
// At the distance `step`, the equations that are left have the numbers step - 1, 2 step - 1, 3 step - 1, ...
// Two faults of the printed program are corrected:
//   - in place of a neighbour outside the system it reads the last row, which is right only when c of that row is 0.
//     Here a neighbour outside is left out, so a of row 0 and c of row n - 1 need not be 0, and n may be any number;
//   - its number of steps comes from rounding the mean of two logarithms. Here the loop counts.
// The program ends with two equations for two unknowns; here one further step leaves one equation.
// On one core this can be faster than Thomas although it does about twice the operations: the divisions of a step do
// not wait for each other, so the processor works on several at a time.
// Limit: once a system no longer fits the caches, steps that jump further and further through memory.
#include "tridiagonal.hpp"

namespace tridiagonal {

template <class T> void cpu_cr(const Problem<T>& p, Output<T>& out, Stopwatch& watch) {
    const std::size_t n = p.n;
    std::vector<T> a(n), b(n), c(n), d(n); // the equations of one system, overwritten step by step
    const auto run = [&] {
        for (std::size_t s = 0; s < p.systems; ++s) {
            for (std::size_t i = 0; i < n; ++i) {
                const std::size_t k = s * n + i;
                a[i] = p.a[k];
                b[i] = p.b[k];
                c[i] = p.c[k];
                d[i] = p.d[k];
            }
            std::size_t step = 1;
            for (; 2 * step <= n; step *= 2)
                for (std::size_t i = 2 * step - 1; i < n; i += 2 * step) {
                    const std::size_t left = i - step, right = i + step;
                    const T alpha = a[i] / b[left];
                    b[i] -= alpha * c[left];
                    d[i] -= alpha * d[left];
                    a[i] = left < step ? T{0} : -alpha * a[left]; // the first equation has no a
                    if (right < n) {
                        const T beta = c[i] / b[right];
                        b[i] -= beta * a[right];
                        d[i] -= beta * d[right];
                        c[i] = right + step < n ? -beta * c[right] : T{0};
                    } else {
                        c[i] = 0;
                    }
                }
            T* const x = &out.x[s * n];
            std::int32_t zero = no_zero_pivot;
            for (; step > 0; step /= 2) // begins with the one equation that is left
                for (std::size_t i = step - 1; i < n; i += 2 * step) {
                    T sum = d[i];
                    if (i >= step) sum -= a[i] * x[i - step];
                    if (i + step < n) sum -= c[i] * x[i + step];
                    x[i] = sum / b[i];
                    if (b[i] == 0) zero = static_cast<std::int32_t>(i); // each b[i] is a pivot once, with this value
                }
            out.zero_pivot[s] = zero;
        }
    };
    watch.time(run, gpulab::poisoning(out, a, b, c, d));
}

INSTANTIATE_RUNG(cpu_cr);

} // namespace tridiagonal
