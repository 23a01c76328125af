/// @file
/// The vectors of the iteration in device memory, which all CUDA rungs share.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "cg.hpp"
#include "gpulab/cuda/occupancy.hpp"
#include "gpulab/cuda/timing.hpp"
#include "sums.cuh"

namespace cg {

/// Where the vectors are, for a kernel.
template <class T> struct Vectors {
    const T *b, *start, *inverse; ///< the right-hand side, x_0, and 1 / a_ii: null without Jacobi
    T *x, *r, *p, *q;
};

/// The vectors on the device: of the whole system, or of a part.
template <class T> struct DeviceVectors {
    explicit DeviceVectors(const Problem<T>& problem)
        : DeviceVectors(problem.b, problem.start, problem.inverse_diagonal, 0) {}
    /// @param weights 1 / a_ii, or nothing @param halo elements that p has behind those of the rows
    DeviceVectors(const std::vector<T>& right, const std::vector<T>& first, const std::vector<T>& weights,
                  std::size_t halo)
        : n(right.size()), b(right), start(first), inverse(weights), x(n), r(n), p(n + halo), q(n),
          jacobi(!weights.empty()) {}

    /// Poisons x, r, p and q, and puts the start into place: x = p = x_0, r = b. The halo comes from others.
    void reset(cudaStream_t stream) {
        gpulab::poisoning(x, r, p, q)(stream);
        gpulab::copy_async(start, x, stream);
        gpulab::copy_async(b, r, stream);
        CUDA_CHECK(
            cudaMemcpyAsync(p.data(), start.data(), start.bytes(), cudaMemcpyDeviceToDevice, stream)); // own rows
    }
    /// 1 / a_ii, or null without Jacobi.
    const T* weights() const { return jacobi ? inverse.data() : nullptr; }
    Vectors<T> view() { return {b.data(), start.data(), weights(), x.data(), r.data(), p.data(), q.data()}; }
    /// Copies x out and checks all guard bands.
    void solution(std::vector<T>& out) const {
        out.resize(n);
        solution(std::span<T>(out));
    }
    void solution(std::span<T> out) const {
        x.copy_to(out);
        for (const gpulab::DeviceBuffer<T>* v : {&r, &p, &q}) v->check_guard_bands();
    }

    std::size_t n;
    gpulab::DeviceBuffer<T> b, start, inverse;
    gpulab::DeviceBuffer<T> x, r, p, q;
    bool jacobi;
};

/// As many blocks as run at the same time, but no more than there are rows for. Their threads stride over the rows.
template <class Kernel> unsigned blocks_for(Kernel kernel, std::size_t rows) {
    return std::min(gpulab::resident_blocks(kernel, block_threads), gpulab::grid_size(rows, block_threads));
}

} // namespace cg
