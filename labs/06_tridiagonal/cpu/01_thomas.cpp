// Rung 1: Thomas, Gaussian elimination without exchange of rows, one system after the other. (Book, section 3.2)
//
// Forward elimination divides equation i by its pivot, so that it reads x[i] + c'[i] x[i+1] = d'[i], and removes x[i]
// from equation i + 1. Back substitution then finds x[n-1], x[n-2], ... That takes eight operations per unknown, none
// of them twice: no method needs less work.
// A pivot may be zero although the matrix is regular. No pivot is zero when the matrix is strictly diagonally dominant
// or symmetric and positive definite.
// Limit: each step waits for the division of the step before, which takes several times as long as a multiplication.
#include "tridiagonal.hpp"

namespace tridiagonal {

template <class T> void cpu_thomas(const Problem<T>& p, Output<T>& out, Stopwatch& watch) {
    std::vector<T> c_new(p.n); // c' of one system; d' is kept in x
    const auto run = [&] {
        for (std::size_t s = 0; s < p.systems; ++s) {
            const T *a = &p.a[s * p.n], *b = &p.b[s * p.n], *c = &p.c[s * p.n], *d = &p.d[s * p.n];
            T* x = &out.x[s * p.n];
            std::int32_t zero = no_zero_pivot;
            for (std::size_t i = 0; i < p.n; ++i) {
                // Row 0 has no x[-1]: a[0] is not read.
                const T pivot = i == 0 ? b[i] : b[i] - a[i] * c_new[i - 1];
                if (pivot == 0 && zero == no_zero_pivot) zero = static_cast<std::int32_t>(i);
                c_new[i] = c[i] / pivot; // never used for the last row
                x[i] = (i == 0 ? d[i] : d[i] - a[i] * x[i - 1]) / pivot;
            }
            for (std::size_t i = p.n - 1; i-- > 0;) x[i] -= c_new[i] * x[i + 1];
            out.zero_pivot[s] = zero;
        }
    };
    watch.time(run, gpulab::poisoning(out, c_new));
}

INSTANTIATE_RUNG(cpu_thomas);

} // namespace tridiagonal
