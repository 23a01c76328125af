// Parts with their halos on the host, with one mistake each: mistakes of the method, of the halo, and of shared sums.
#include <algorithm>
#include <array>
#include <cmath>

#include "gpulab/poisoning.hpp"
#include "scalars.hpp"
#include "split.hpp"
#include "wrong_cg.hpp"

namespace cg::wrong {

namespace {

enum class Mistake {
    none,
    halo_short,        ///< the last element of what a part receives is not copied
    halo_stale,        ///< the halo is sent for the first residual and the first product only
    halo_late,         ///< the border is multiplied before the halo is there
    halo_shifted,      ///< the sender takes the elements beside the right ones
    halo_of_the_first, ///< a part with two neighbours gets both halos from the first
    halo_in_dot,       ///< p.q counts the halo too, on both sides
    beta_inverted,     ///< the old r.z over the new one
    beta_late,         ///< beta of the iteration before
    own_alpha,         ///< part 1 divides its own share of r.z by its own share of p.q
    sum_too_early,     ///< a sum is read before the last part has added its share
    start_ignored,     ///< r_0 = b although x_0 is not zero
    last_step_lost,    ///< x lacks the step of the last iteration
    jacobi_lost_in_p,  ///< p = r + beta p with Jacobi
    float_alpha,       ///< alpha goes through float
    norm_squared,      ///< r.r is compared with the tolerance, not its root
    no_curvature_test, ///< goes on when p.q is not positive
    border_row_twice,  ///< the first border row of a part is added to, not set
    first_run_only,    ///< works once
    no_reset,          ///< a further run goes on from the solution
    empty_part_counts  ///< a part without a row adds what another left in its place
};

template <Mistake m> void solve_in_parts(const Problem<double>& problem, Output<double>& out, Stopwatch& watch) {
    const std::size_t count = problem.parts > 0 ? problem.parts : 3;
    const auto parts = make_parts(problem.matrix, split_rows(problem.matrix, std::vector<double>(count, 1.0)));
    std::vector<std::vector<double>> p(count), q(count), r(count);
    std::vector<double>& x = out.x;
    x.resize(problem.n());
    bool done = false;

    const auto send_halos = [&](bool first) {
        if (m == Mistake::halo_stale && !first) return;
        for (std::size_t i = 0; i < count; ++i)
            for (std::size_t l = 0; l < parts[i].receives.size(); ++l) {
                auto link = parts[i].receives[l];
                const auto& from = parts[m == Mistake::halo_of_the_first ? parts[i].receives[0].part : link.part];
                const auto send = std::ranges::find(from.sends, i, &Part<double>::Link::part);
                const std::size_t elements = std::min(link.count, send->count) - (m == Mistake::halo_short ? 1 : 0);
                for (std::size_t k = 0; k < elements; ++k) {
                    auto which = static_cast<std::size_t>(from.send[send->begin + k]);
                    if (m == Mistake::halo_shifted && which > 0) --which;
                    p[i][parts[i].rows() + link.begin + k] = p[static_cast<std::size_t>(&from - parts.data())][which];
                }
            }
    };
    const auto multiply_rows = [&](std::size_t i, std::size_t begin, std::size_t end) {
        const auto& a = parts[i].matrix;
        for (std::size_t row = begin; row < end; ++row) {
            double sum = m == Mistake::border_row_twice && row == begin && row == parts[i].inner_end ? q[i][row] : 0;
            for (auto k = static_cast<std::size_t>(a.row_start[row]);
                 k < static_cast<std::size_t>(a.row_start[row + 1]); ++k)
                sum += a.value[k] * p[i][static_cast<std::size_t>(a.column[k])];
            q[i][row] = sum;
        }
    };
    const auto multiply = [&](bool first) {
        if (m != Mistake::halo_late) send_halos(first);
        for (std::size_t i = 0; i < count; ++i) {
            multiply_rows(i, 0, parts[i].inner_begin);
            multiply_rows(i, parts[i].inner_end, parts[i].rows());
            multiply_rows(i, parts[i].inner_begin, parts[i].inner_end);
        }
        if (m == Mistake::halo_late) send_halos(first);
    };
    const auto weight = [&](std::size_t i, std::size_t row) {
        return problem.jacobi() ? problem.inverse_diagonal[parts[i].first + row] : 1.0;
    };
    // A sum over all parts; `left` is what an earlier sum left in the place of the shares.
    std::vector<double> left(count);
    const auto sum = [&](const auto& share) {
        double all = 0;
        for (std::size_t i = 0; i < count; ++i) {
            if (m == Mistake::sum_too_early && i + 1 == count) {
                all += left[i];
                left[i] = share(i);
            } else {
                if (m != Mistake::empty_part_counts || parts[i].rows() > 0) left[i] = share(i);
                else left[i] = left[0];
                all += left[i];
            }
        }
        return all;
    };
    const auto rr_of = [&](std::size_t i) {
        double s = 0;
        for (const double v : r[i]) s += v * v;
        return s;
    };
    const auto rho_of = [&](std::size_t i) {
        double s = 0;
        for (std::size_t row = 0; row < r[i].size(); ++row) s += weight(i, row) * r[i][row] * r[i][row];
        return s;
    };
    const auto pq_of = [&](std::size_t i) {
        double s = 0;
        for (std::size_t row = 0; row < parts[i].rows(); ++row) s += p[i][row] * q[i][row];
        if (m == Mistake::halo_in_dot)
            for (std::size_t k = parts[i].rows(); k < p[i].size(); ++k) s += p[i][k] * p[i][k];
        return s;
    };
    const auto for_own = [&](const auto& body) {
        for (std::size_t i = 0; i < count; ++i)
            for (std::size_t row = 0; row < parts[i].rows(); ++row) body(i, row);
    };

    const auto solve = [&] {
        if (m == Mistake::first_run_only && done) return;
        done = true;
        Problem<double> rules; // without the matrix: what Scalars look at
        rules.stop_at = m == Mistake::norm_squared ? std::sqrt(problem.stop_at) : problem.stop_at;
        rules.limit = problem.limit, rules.method = problem.method;
        Scalars<double> scalars(rules, out);
        multiply(true);
        for_own([&](std::size_t i, std::size_t row) {
            if (m != Mistake::start_ignored) r[i][row] -= q[i][row];
        });
        const double rr = sum(rr_of), rho = problem.jacobi() ? sum(rho_of) : rr;
        double last_rho = rho, beta_before = 0;
        scalars.begin(rr, rho);
        for_own([&](std::size_t i, std::size_t row) { p[i][row] = weight(i, row) * r[i][row]; });
        bool first = true;
        while (scalars.wants_more()) {
            multiply(std::exchange(first, false));
            const double pq = sum(pq_of);
            if (!scalars.accepts(m == Mistake::no_curvature_test ? std::abs(pq) + 1e-300 : pq)) break;
            double alpha = scalars.alpha();
            if (m == Mistake::float_alpha) alpha = static_cast<float>(alpha);
            const double own = count > 1 && parts[1].rows() > 0 ? rho_of(1) / pq_of(1) : alpha;
            const auto step = [&](std::size_t i) { return m == Mistake::own_alpha && i == 1 ? own : alpha; };
            std::vector<double> before = x;
            for_own([&](std::size_t i, std::size_t row) { x[parts[i].first + row] += step(i) * p[i][row]; });
            for (std::size_t i = 0; i < count; ++i)
                for (std::size_t row = 0; row < parts[i].rows(); ++row) r[i][row] -= step(i) * q[i][row];
            const double new_rr = sum(rr_of), new_rho = problem.jacobi() ? sum(rho_of) : new_rr;
            scalars.next(new_rr, new_rho);
            double beta = scalars.beta();
            if (m == Mistake::beta_inverted && problem.method == Method::conjugate_gradients) beta = last_rho / new_rho;
            if (m == Mistake::beta_late) beta = std::exchange(beta_before, beta);
            last_rho = new_rho;
            if (m == Mistake::last_step_lost && !scalars.wants_more()) x = before;
            for_own([&](std::size_t i, std::size_t row) {
                p[i][row] = (m == Mistake::jacobi_lost_in_p ? 1.0 : weight(i, row)) * r[i][row] + beta * p[i][row];
            });
        }
    };
    const auto reset = [&] {
        gpulab::poison(x);
        for (std::size_t i = 0; i < count; ++i) {
            p[i].assign(parts[i].p_size(), 0.0), q[i].assign(parts[i].rows(), 0.0), r[i].assign(parts[i].rows(), 0.0);
            for (std::size_t row = 0; row < parts[i].rows(); ++row) {
                const std::size_t at = parts[i].first + row;
                x[at] = p[i][row] = problem.start[at];
                r[i][row] = problem.b[at];
            }
        }
    };
    if (m == Mistake::no_reset) {
        reset();
        watch.time(solve);
    } else {
        watch.time(solve, reset);
    }
}

} // namespace

void cpu_right(const Problem<double>& p, Output<double>& out, Stopwatch& watch) {
    solve_in_parts<Mistake::none>(p, out, watch);
}

std::span<const WrongVariant> cpu_variants() {
    static const std::array table = {
        WrongVariant{"halo_short", "the halo lacks its last element", solve_in_parts<Mistake::halo_short>},
        WrongVariant{"halo_stale", "the halo is not sent again", solve_in_parts<Mistake::halo_stale>},
        WrongVariant{"halo_late", "the border is multiplied before the halo is there",
                     solve_in_parts<Mistake::halo_late>},
        WrongVariant{"halo_shifted", "the elements beside the border are sent", solve_in_parts<Mistake::halo_shifted>},
        WrongVariant{"halo_of_the_first", "both halos come from the first neighbour",
                     solve_in_parts<Mistake::halo_of_the_first>},
        WrongVariant{"halo_in_dot", "p.q counts the halo", solve_in_parts<Mistake::halo_in_dot>},
        WrongVariant{"beta_inverted", "beta from the wrong residuals", solve_in_parts<Mistake::beta_inverted>},
        WrongVariant{"beta_late", "beta of the iteration before", solve_in_parts<Mistake::beta_late>},
        WrongVariant{"own_alpha", "a part uses an alpha of its own", solve_in_parts<Mistake::own_alpha>},
        WrongVariant{"sum_too_early", "a sum is read before the last share is there",
                     solve_in_parts<Mistake::sum_too_early>},
        WrongVariant{"start_ignored", "r_0 = b", solve_in_parts<Mistake::start_ignored>},
        WrongVariant{"last_step_lost", "x lacks its last step", solve_in_parts<Mistake::last_step_lost>},
        WrongVariant{"jacobi_lost_in_p", "p = r + beta p with Jacobi", solve_in_parts<Mistake::jacobi_lost_in_p>},
        WrongVariant{"float_alpha", "alpha goes through float", solve_in_parts<Mistake::float_alpha>},
        WrongVariant{"norm_squared", "r.r is compared with the tolerance", solve_in_parts<Mistake::norm_squared>},
        WrongVariant{"no_curvature_test", "goes on without curvature", solve_in_parts<Mistake::no_curvature_test>},
        WrongVariant{"border_row_twice", "a border row is added to what was there",
                     solve_in_parts<Mistake::border_row_twice>},
        WrongVariant{"first_run_only", "works once", solve_in_parts<Mistake::first_run_only>},
        WrongVariant{"no_reset", "a further run goes on from the solution", solve_in_parts<Mistake::no_reset>},
        WrongVariant{"empty_part_counts", "a part without rows adds something",
                     solve_in_parts<Mistake::empty_part_counts>},
    };
    return table;
}

} // namespace cg::wrong
