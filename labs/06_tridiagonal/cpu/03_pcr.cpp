// Rung 3: parallel cyclic reduction (PCR), still sequential. (Book 3.6, exercise 3.2)
//
// Changed: every equation is reduced in every step, not every second one. A system splits into two of half the size,
// these into four, and after log2 n steps each equation holds one unknown: x[i] = d[i] / b[i]. There is no back
// substitution. All equations change in the same step, so the new ones are written to other arrays.
// As in cpu_cr, a neighbour outside the system is left out; the printed program takes the last row instead.
// Limit: n log2 n reductions where CR does n reductions and n substitutions. On a CPU nothing makes up for that.
#include "tridiagonal.hpp"

namespace tridiagonal {

template <class T> void cpu_pcr(const Problem<T>& p, Output<T>& out, Stopwatch& watch) {
    const std::size_t n = p.n;
    std::vector<T> a(n), b(n), c(n), d(n), new_a(n), new_b(n), new_c(n), new_d(n);
    const auto run = [&] {
        for (std::size_t s = 0; s < p.systems; ++s) {
            for (std::size_t i = 0; i < n; ++i) {
                const std::size_t k = s * n + i;
                a[i] = p.a[k];
                b[i] = p.b[k];
                c[i] = p.c[k];
                d[i] = p.d[k];
            }
            std::int32_t zero = no_zero_pivot;
            const auto look_for_zero = [&] {
                for (std::size_t i = 0; i < n && zero == no_zero_pivot; ++i)
                    if (b[i] == 0) zero = static_cast<std::int32_t>(i);
            };
            for (std::size_t step = 1; step < n; step *= 2) {
                look_for_zero(); // every b is a divisor in this step
                for (std::size_t i = 0; i < n; ++i) {
                    new_a[i] = new_c[i] = 0;
                    new_b[i] = b[i];
                    new_d[i] = d[i];
                    if (i >= step) {
                        const std::size_t left = i - step;
                        const T alpha = a[i] / b[left];
                        new_b[i] -= alpha * c[left];
                        new_d[i] -= alpha * d[left];
                        if (left >= step) new_a[i] = -alpha * a[left];
                    }
                    if (i + step < n) {
                        const std::size_t right = i + step;
                        const T beta = c[i] / b[right];
                        new_b[i] -= beta * a[right];
                        new_d[i] -= beta * d[right];
                        if (right + step < n) new_c[i] = -beta * c[right];
                    }
                }
                a.swap(new_a);
                b.swap(new_b);
                c.swap(new_c);
                d.swap(new_d);
            }
            look_for_zero();
            for (std::size_t i = 0; i < n; ++i) out.x[s * n + i] = d[i] / b[i];
            out.zero_pivot[s] = zero;
        }
    };
    watch.time(run, gpulab::poisoning(out, a, b, c, d, new_a, new_b, new_c, new_d));
}

INSTANTIATE_RUNG(cpu_pcr);

} // namespace tridiagonal
