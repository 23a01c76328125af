/// @file
/// A system in device memory: the matrix in CSR form or in slices, the right-hand side, and the vectors of the
/// iteration, which all CUDA rungs share.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "cg.hpp"
#include "gpulab/cuda/buffer.hpp"
#include "gpulab/cuda/occupancy.hpp"
#include "gpulab/cuda/timing.hpp"
#include "gpulab/error.hpp"
#include "gpulab/math.hpp"
#include "gpulab/poisoning.hpp"
#include "rows.cuh"
#include "sums.cuh"

namespace cg {

/// CSR on the device.
template <class T> struct DeviceCsr {
    explicit DeviceCsr(const gpulab::Csr<T>& a)
        : rows(a.rows), row_start(narrow_offsets(a)), column(a.column), value(a.value) {}
    CsrRows<T> view() const { return {row_start.data(), column.data(), value.data(), rows}; }

    std::size_t rows;
    gpulab::DeviceBuffer<int> row_start, column;
    gpulab::DeviceBuffer<T> value;
};

/// Slices of 32 rows on the device; see SlicedRows.
template <class T> struct DeviceSliced {
    explicit DeviceSliced(const gpulab::Csr<T>& a) : rows(a.rows) {
        constexpr std::size_t most = std::numeric_limits<int>::max() - 1024; // a loop may count beyond the end
        std::vector<int> starts = {0};
        std::size_t slots = 0;
        for (std::size_t s = 0; s < gpulab::ceil_div(a.rows, 32); ++s) {
            std::size_t width = 0;
            for (std::size_t i = 32 * s; i < std::min(32 * s + 32, a.rows); ++i)
                width = std::max(width, a.row_length(i));
            slots += 32 * width;
            if (slots > most)
                throw gpulab::Unsupported(
                    "padded to slices, the matrix has more non-zeros than 32-bit offsets can count");
            starts.push_back(static_cast<int>(slots));
        }
        std::vector<int> columns(slots, -1);
        std::vector<T> values(slots, T{0});
        for (std::size_t i = 0; i < a.rows; ++i) {
            std::size_t slot = static_cast<std::size_t>(starts[i / 32]) + i % 32;
            for (auto k = static_cast<std::size_t>(a.row_start[i]); k < static_cast<std::size_t>(a.row_start[i + 1]);
                 ++k, slot += 32)
                columns[slot] = a.column[k], values[slot] = a.value[k];
        }
        start = gpulab::DeviceBuffer<int>(starts), column = gpulab::DeviceBuffer<int>(columns);
        value = gpulab::DeviceBuffer<T>(values);
    }
    SlicedRows<T> view() const { return {start.data(), column.data(), value.data(), rows}; }

    std::size_t rows;
    gpulab::DeviceBuffer<int> start{0}, column{0};
    gpulab::DeviceBuffer<T> value{0};
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
        const auto copy = [&](gpulab::DeviceBuffer<T>& to, const gpulab::DeviceBuffer<T>& from) {
            CUDA_CHECK(cudaMemcpyAsync(to.data(), from.data(), from.bytes(), cudaMemcpyDeviceToDevice, stream));
        };
        copy(x, start), copy(p, start), copy(r, b);
    }
    /// 1 / a_ii, or null without Jacobi.
    const T* weights() const { return jacobi ? inverse.data() : nullptr; }
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
