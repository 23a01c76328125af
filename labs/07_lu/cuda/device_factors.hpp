/// @file
/// The matrix and its factors in device memory: what all CUDA rungs copy in and out.
#pragma once

#include "gpulab/cuda/buffer.hpp"
#include "gpulab/cuda/check.hpp"
#include "lu.hpp"

namespace lu {

/// A, and a copy of it that becomes the factors.
struct DeviceFactors {
    explicit DeviceFactors(const Problem& p) : a(p.a), lu(p.a.size()), pivots(p.n * p.count) {}

    /// Before each run: the algorithm works in place, so it needs the matrix again.
    void restore(cudaStream_t stream) {
        CUDA_CHECK(cudaMemcpyAsync(lu.data(), a.data(), a.bytes(), cudaMemcpyDeviceToDevice, stream));
        gpulab::poison(pivots, stream);
    }

    /// Copies out. @throws Singular or ZeroPivot
    void copy_to(Factors& f, bool pivoting) const {
        lu.copy_to(f.lu);
        if (pivoting) pivots.copy_to(f.pivots);
        else no_exchanges(f);
        check_pivots(f, pivoting);
    }

    gpulab::DeviceBuffer<double> a;
    gpulab::DeviceBuffer<double> lu;
    gpulab::DeviceBuffer<std::int32_t> pivots; ///< left alone by rungs without pivoting
};

} // namespace lu
