// Baseline: OpenBLAS, a free library of linear algebra for CPUs.
//
// It copies blocks of A and B into the order in which its inner loop reads them, and keeps a tile of C in vector
// registers. The inner loop is written for each kind of core in assembly; the library chooses one when it starts.
#include <algorithm>
#include <cblas.h>
#include <type_traits>

#include "gpulab/device.hpp"
#include "matmul.hpp"

namespace matmul {

template <class T> void cpu_openblas(const Problem<T>& p, Output<T>& c, Stopwatch& watch) {
    // No more than cores: they wait for each other in loops.
    openblas_set_num_threads(std::min(gpulab::hardware_threads(), openblas_get_num_procs()));
    const auto m = static_cast<blasint>(p.m), k = static_cast<blasint>(p.k), n = static_cast<blasint>(p.n);
    const blasint b_pitch = std::max(n, 1), a_pitch = std::max(k, 1); // a pitch of 0 is an error, even of nothing
    const auto run = [&] {
        if constexpr (std::is_same_v<T, float>)
            cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, m, n, k, 1, p.a.data(), a_pitch, p.b.data(), b_pitch,
                        0, c.data(), b_pitch);
        else
            cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, m, n, k, 1, p.a.data(), a_pitch, p.b.data(), b_pitch,
                        0, c.data(), b_pitch);
    };
    watch.time(run, gpulab::poisoning(c));
}

INSTANTIATE_RUNG(cpu_openblas);

} // namespace matmul
