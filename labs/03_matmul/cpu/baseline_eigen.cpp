// Baseline: Eigen, a library of C++ templates. Its loops are compiled here, for this processor.
//
// It works as OpenBLAS does, with copied blocks and a tile of C in registers, but its inner loop is C++.
#include <Eigen/Core>
#include <algorithm>

#include "gpulab/device.hpp"
#include "matmul.hpp"

namespace matmul {

template <class T> void cpu_eigen(const Problem<T>& p, Output<T>& c, Stopwatch& watch) {
    using Matrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
    // No more than cores: they wait for each other in loops.
    Eigen::setNbThreads(std::min(gpulab::hardware_threads(), omp_get_num_procs()));
    const auto m = static_cast<Eigen::Index>(p.m), k = static_cast<Eigen::Index>(p.k),
               n = static_cast<Eigen::Index>(p.n);
    const Eigen::Map<const Matrix> a(p.a.data(), m, k), b(p.b.data(), k, n);
    Eigen::Map<Matrix> product(c.data(), m, n);
    watch.time([&] { product.noalias() = a * b; }, gpulab::poisoning(c)); // noalias: C is neither A nor B
}

INSTANTIATE_RUNG(cpu_eigen);

} // namespace matmul
