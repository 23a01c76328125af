// Baseline: the sparse product of Eigen, a library of C++ templates.
//
// It takes CSR as it is, but with offsets of 32 bits. Its loop is that of cpu_threads. OpenMP cuts it into four pieces
// of equally many rows for each thread, and a thread that has finished a piece takes the next. Up to 20,000 non-zeros
// are the work of one thread.
#include <Eigen/SparseCore>
#include <algorithm>

#include "gpulab/device.hpp"
#include "spmv.hpp"

namespace spmv {

template <class T> void cpu_eigen(const Problem<T>& p, Output<T>& y, Stopwatch& watch) {
    // No more than cores: they wait for each other in loops.
    Eigen::setNbThreads(std::min(gpulab::hardware_threads(), omp_get_num_procs()));
    const gpulab::Csr<T>& a = p.matrix;
    const std::vector<std::int32_t> row_start = narrow_offsets(a);
    const auto rows = static_cast<Eigen::Index>(a.rows), columns = static_cast<Eigen::Index>(a.columns);
    const Eigen::Map<const Eigen::SparseMatrix<T, Eigen::RowMajor, std::int32_t>> matrix(
        rows, columns, static_cast<Eigen::Index>(a.nonzeros()), row_start.data(), a.column.data(), a.value.data());
    using Vector = Eigen::Matrix<T, Eigen::Dynamic, 1>;
    const Eigen::Map<const Vector> x(p.x.data(), columns);
    Eigen::Map<Vector> product(y.data(), rows);
    watch.time([&] { product.noalias() = matrix * x; }, gpulab::poisoning(y)); // noalias: y is not x
}

INSTANTIATE_RUNG(cpu_eigen);

} // namespace spmv
