// Baseline: PartialPivLU of Eigen, a library of C++ templates.
//
// It factorises panels as getrf does, and its threads share the products of matrices only. Its matrices are stored
// column by column: the matrix is transposed before it is factorised and the factors afterwards, outside the timing.
#include <Eigen/LU>
#include <algorithm>

#include "gpulab/device.hpp"
#include "lu.hpp"
#include "transpose.hpp"

namespace lu {

namespace {

/// From the place of each row in P A to the exchanges: step k brings the row whose place is k there from pivots[k].
void exchanges_from_places(std::vector<std::int32_t>& pivots) {
    std::vector<std::int32_t> place = pivots, row_for(pivots.size());
    for (std::size_t i = 0; i < place.size(); ++i) row_for[place[i]] = static_cast<std::int32_t>(i);
    for (std::size_t k = 0; k < place.size(); ++k) {
        const std::int32_t from = pivots[k] = row_for[k];
        place[from] = place[k]; // what was in row k
        row_for[place[k]] = from;
    }
}

} // namespace

void cpu_eigen_pivot(const Problem& p, Factors& f, Stopwatch& watch) {
    // No more than cores: they wait for each other in loops.
    Eigen::setNbThreads(std::min(gpulab::hardware_threads(), omp_get_num_procs()));
    const std::vector<double> a = transposed(p.a, p.n, p.n);
    std::vector<double> lu(a.size());
    const auto n = static_cast<Eigen::Index>(p.n);
    const auto run = [&] {
        Eigen::Map<Eigen::MatrixXd> matrix(lu.data(), n, n);
        const Eigen::PartialPivLU<Eigen::Ref<Eigen::MatrixXd>> factors(matrix); // in place
        Eigen::VectorXi::Map(f.pivots.data(), n) = factors.permutationP().indices();
    };
    watch.time(run, [&] {
        lu = a;
        no_exchanges(f);
    });
    f.lu = transposed(lu, p.n, p.n);
    exchanges_from_places(f.pivots);
    check_pivots(f, true);
}

} // namespace lu
