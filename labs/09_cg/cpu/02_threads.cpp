// CPU rung 2: every thread has a range of rows, for the whole solution.
//
// Changed: the threads start once and not in every step. At a barrier (std::barrier) all of them wait until the last
// one has arrived. An iteration needs three: the product reads elements of p that other threads have written, and both
// sums need the shares of all threads. Every thread adds the shares up itself, in the same order, so all of them have
// the same alpha and beta to the last bit, and agree on when to end. The ranges have equally many non-zeros, not
// equally many rows.
//
// Limit: main memory, which the threads share; for small systems the barriers.
#include <algorithm>
#include <barrier>

#include "cg.hpp"
#include "gpulab/parallel.hpp"
#include "gpulab/threads.hpp"
#include "scalars.hpp"
#include "split.hpp"

namespace cg {

namespace {

/// A thread's shares of the sums, on a cache line of its own: neighbours do not disturb each other.
struct alignas(64) Shares {
    double pq = 0, rr = 0, rho = 0;
};

} // namespace

template <class T> void cpu_threads(const Problem<T>& problem, Output<T>& out, Stopwatch& watch) {
    const std::size_t n = problem.n();
    const gpulab::Csr<T>& a = problem.matrix;
    const T* const inverse = problem.jacobi ? problem.inverse_diagonal.data() : nullptr;
    const unsigned threads = gpulab::parts_for(a.nonzeros() + n, 16384); // fewer for a small system
    const Split split = split_rows(a, std::vector<double>(threads, 1.0));
    std::vector<T>& x = out.x;
    std::vector<T> r(n), p(n), q(n);
    x.resize(n);

    const auto solve = [&] {
        std::vector<Shares> shares(threads);
        std::barrier everybody(static_cast<std::ptrdiff_t>(threads));
        const auto sum = [&](double Shares::*which) {
            double all = 0;
            for (const Shares& s : shares) all += s.*which;
            return all;
        };
        std::copy(problem.start.begin(), problem.start.end(), p.begin());
        std::vector<Output<T>> outputs(threads); // the histories are equal; that of thread 0 is kept
        gpulab::in_team(static_cast<int>(threads), everybody, [&](int me) {
            const auto thread = static_cast<std::size_t>(me);
            const std::size_t begin = split.first[thread], end = split.first[thread + 1];
            Shares& mine = shares[thread];
            const auto multiply = [&](std::size_t i) {
                T product = 0;
                for (auto k = static_cast<std::size_t>(a.row_start[i]);
                     k < static_cast<std::size_t>(a.row_start[i + 1]); ++k)
                    product += a.value[k] * p[static_cast<std::size_t>(a.column[k])];
                return product;
            };
            const auto z = [&](std::size_t i) { return inverse ? inverse[i] * r[i] : r[i]; };

            double rr = 0, rho = 0;
            for (std::size_t i = begin; i < end; ++i) {
                x[i] = problem.start[i];
                r[i] = problem.b[i] - multiply(i);
                rr += static_cast<double>(r[i]) * r[i];
                rho += static_cast<double>(r[i]) * z(i);
            }
            mine.rr = rr;
            mine.rho = rho;
            everybody.arrive_and_wait(); // nobody reads the start in p any more; all shares are there
            for (std::size_t i = begin; i < end; ++i) p[i] = z(i);
            Scalars<T> scalars(problem, outputs[thread]);
            scalars.begin(sum(&Shares::rr), sum(&Shares::rho));
            while (scalars.wants_more()) {
                everybody.arrive_and_wait(); // p is complete
                double pq = 0;
                for (std::size_t i = begin; i < end; ++i) { // 1 and 2 of the eight steps
                    q[i] = multiply(i);
                    pq += static_cast<double>(p[i]) * q[i];
                }
                mine.pq = pq;
                everybody.arrive_and_wait(); // the shares of p.q are there, and nobody reads p of another any more
                if (!scalars.accepts(sum(&Shares::pq))) break; // 3
                const auto alpha = static_cast<T>(scalars.alpha());
                rr = rho = 0;
                for (std::size_t i = begin; i < end; ++i) { // 4, 5, 6
                    x[i] += alpha * p[i];
                    r[i] -= alpha * q[i];
                    rr += static_cast<double>(r[i]) * r[i];
                    rho += static_cast<double>(r[i]) * z(i);
                }
                mine.rr = rr;
                mine.rho = rho;
                everybody.arrive_and_wait();                       // the shares of r.r and r.z are there
                scalars.next(sum(&Shares::rr), sum(&Shares::rho)); // 7
                const auto beta = static_cast<T>(scalars.beta());
                for (std::size_t i = begin; i < end; ++i) p[i] = z(i) + beta * p[i]; // 8
            }
        });
        out.history = std::move(outputs[0].history);
        out.end = outputs[0].end;
        out.curvature = outputs[0].curvature;
    };
    watch.time(solve, gpulab::poisoning(x, r, p, q));
}

INSTANTIATE_RUNG(cpu_threads);

} // namespace cg
