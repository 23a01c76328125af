// Rung 1: conjugate gradients on one core, as the method is written.
//
// One iteration has eight steps: 1 q = A p; 2 p.q; 3 alpha = r.z / p.q; 4 x += alpha p; 5 r -= alpha q; 6 r.r and r.z;
// 7 beta = the new r.z / the old one; 8 p = z + beta p. z is r divided by the diagonal (Jacobi), or r itself. A (the
// matrix) is stored in CSR as in lab 04. The sums are held in double even where the numbers are float: rounding errors
// of alpha and beta spoil all that follows. The start need not be zero: then r_0 = b - A x_0. (The thesis sets r_0 = b,
// which holds for x_0 = 0 only.)
//
// Limit: main memory, as soon as the matrix does not fit into the cache: about two operations per element of the
// matrix, 8 or 12 bytes.
#include "cg.hpp"
#include "scalars.hpp"

namespace cg {

namespace {

/// q = A p; returns p . q.
template <class T> double multiply(const gpulab::Csr<T>& a, const std::vector<T>& p, std::vector<T>& q) {
    double dot = 0;
    for (std::size_t i = 0; i < a.rows; ++i) {
        T sum = 0;
        for (auto k = static_cast<std::size_t>(a.row_start[i]); k < static_cast<std::size_t>(a.row_start[i + 1]); ++k)
            sum += a.value[k] * p[static_cast<std::size_t>(a.column[k])];
        q[i] = sum;
        dot += static_cast<double>(p[i]) * sum;
    }
    return dot;
}

} // namespace

template <class T> void cpu_sequential(const Problem<T>& problem, Output<T>& out, Stopwatch& watch) {
    const std::size_t n = problem.n();
    const T* const inverse = problem.jacobi ? problem.inverse_diagonal.data() : nullptr;
    std::vector<T>& x = out.x;
    std::vector<T> r(n), p(n), q(n);
    x.resize(n);

    const auto solve = [&] {
        multiply(problem.matrix, problem.start, q);
        double rr = 0, rho = 0;
        for (std::size_t i = 0; i < n; ++i) {
            x[i] = problem.start[i];
            r[i] = problem.b[i] - q[i];
            p[i] = inverse ? inverse[i] * r[i] : r[i];
            rr += static_cast<double>(r[i]) * r[i];
            rho += static_cast<double>(r[i]) * p[i];
        }
        Scalars<T> scalars(problem, out);
        scalars.begin(rr, rho);
        while (scalars.wants_more()) {
            if (!scalars.accepts(multiply(problem.matrix, p, q))) break; // 1, 2, 3
            const auto alpha = static_cast<T>(scalars.alpha());
            rr = rho = 0;
            for (std::size_t i = 0; i < n; ++i) { // 4, 5, 6
                x[i] += alpha * p[i];
                r[i] -= alpha * q[i];
                rr += static_cast<double>(r[i]) * r[i];
                rho += static_cast<double>(r[i]) * (inverse ? inverse[i] * r[i] : r[i]);
            }
            scalars.next(rr, rho); // 7
            const auto beta = static_cast<T>(scalars.beta());
            for (std::size_t i = 0; i < n; ++i) p[i] = (inverse ? inverse[i] * r[i] : r[i]) + beta * p[i]; // 8
        }
    };
    watch.time(solve, gpulab::poisoning(x, r, p, q));
}

INSTANTIATE_RUNG(cpu_sequential);

} // namespace cg
