// Baseline: getrf, the factorisation of the library LAPACK, in OpenBLAS's own version.
//
// LAPACK takes matrices column by column, as Fortran does. The matrix is transposed before it is factorised and the
// factors afterwards, outside the timing. OpenBLAS cuts a panel in two again and again, so that the product of matrices
// does most of a panel's work, too.
#include <algorithm>
#include <cblas.h>
#include <f77blas.h>

#include "gpulab/device.hpp"
#include "lu.hpp"
#include "transpose.hpp"

namespace lu {

void cpu_openblas_pivot(const Problem& p, Factors& f, Stopwatch& watch) {
    // No more than cores: they wait for each other in loops.
    openblas_set_num_threads(std::min(gpulab::hardware_threads(), openblas_get_num_procs()));
    const std::vector<double> a = transposed(p.a, p.n, p.n);
    std::vector<double> lu(a.size());
    // A function of Fortran takes the addresses of its arguments.
    blasint n = static_cast<blasint>(p.n), pitch = std::max(n, 1), info = 0;
    watch.time([&] { dgetrf_(&n, &n, lu.data(), &pitch, f.pivots.data(), &info); },
               [&] {
                   lu = a;
                   gpulab::poison(f.pivots);
               });
    f.lu = transposed(lu, p.n, p.n);
    for (std::int32_t& pivot : f.pivots) --pivot; // it counts from 1
    check_pivots(f, true);
}

} // namespace lu
