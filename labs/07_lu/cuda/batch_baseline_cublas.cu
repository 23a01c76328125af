// Baseline of the batches: cuBLAS, with partial pivoting.
//
// It takes an array of pointers to matrices that are stored column by column. So the host transposes them before, and
// the factors after; the time does not contain that.
#include "batch.hpp"
#include "device_factors.hpp"
#include "gpulab/cuda/cublas.hpp"
#include "gpulab/cuda/timing.hpp"
#include "gpulab/parallel.hpp"

namespace lu {

namespace {

/// Each matrix of a batch transposed.
std::vector<double> each_transposed(const Problem& p, const std::vector<double>& all) {
    std::vector<double> result(all.size());
    gpulab::for_ranges(p.count, 16, [&](std::size_t begin, std::size_t end) {
        for (std::size_t m = begin; m < end; ++m) {
            const double* const from = all.data() + m * p.n * p.n;
            double* const to = result.data() + m * p.n * p.n;
            for (std::size_t i = 0; i < p.n; ++i)
                for (std::size_t j = 0; j < p.n; ++j) to[j * p.n + i] = from[i * p.n + j];
        }
    });
    return result;
}

} // namespace

void cuda_batch_cublas(const Problem& p, Factors& f, Stopwatch& watch) {
    DeviceFactors d(Problem{p.n, each_transposed(p, p.a), p.random, p.count});
    std::vector<double*> pointers(p.count);
    for (std::size_t m = 0; m < p.count; ++m) pointers[m] = d.lu.data() + m * p.n * p.n;
    const gpulab::DeviceBuffer<double*> matrices(pointers);
    gpulab::DeviceBuffer<std::int32_t> info(p.count);
    const gpulab::CublasHandle handle;
    const int n = static_cast<int>(p.n);
    const auto launch = [&](cudaStream_t stream) {
        CUBLAS_CHECK(cublasSetStream(handle, stream));
        CUBLAS_CHECK(cublasDgetrfBatched(handle, n, matrices.data(), n, d.pivots.data(), info.data(),
                                         static_cast<int>(p.count)));
    };
    const auto reset = [&](cudaStream_t stream) { d.restore(stream); };
    gpulab::watch_stream(watch, launch, reset);
    std::vector<double> by_columns(p.a.size());
    d.lu.copy_to(by_columns);
    f.lu = each_transposed(p, by_columns);
    d.pivots.copy_to(f.pivots);
    for (std::int32_t& pivot : f.pivots) --pivot; // it counts from 1
    check_pivots(f, true);
}

} // namespace lu
