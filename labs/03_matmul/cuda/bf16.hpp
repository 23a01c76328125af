/// @file
/// A matrix rounded to BF16 on the device.
#pragma once

#include <cstddef>
#include <cuda_bf16.h>
#include <vector>

#include "gpulab/cuda/buffer.hpp"
#include "gpulab/math.hpp"
#include "gpulab/parallel.hpp"

namespace matmul {

/// The elements of a matrix stored by rows, each rounded to the nearest BF16 (ties to even).
class Bf16Matrix {
public:
    /// Rows begin at multiples of 16 bytes.
    static constexpr std::size_t piece = 16 / sizeof(__nv_bfloat16);

    Bf16Matrix(const std::vector<float>& matrix, std::size_t rows, std::size_t columns)
        : pitch_(gpulab::round_up(columns, piece)), elements_(rounded(matrix, rows, columns)) {}

    const __nv_bfloat16* data() const { return elements_.data(); }
    std::size_t pitch() const { return pitch_; } ///< elements from row to row

private:
    std::vector<__nv_bfloat16> rounded(const std::vector<float>& matrix, std::size_t rows, std::size_t columns) const {
        std::vector<__nv_bfloat16> all(rows * pitch_, __float2bfloat16(0));
        gpulab::for_ranges(rows, (1 << 20) / (columns + 1) + 1, [&](std::size_t begin, std::size_t end) {
            for (std::size_t i = begin; i < end; ++i)
                for (std::size_t j = 0; j < columns; ++j)
                    all[i * pitch_ + j] = __float2bfloat16(matrix[i * columns + j]);
        });
        return all;
    }

    std::size_t pitch_;
    gpulab::DeviceBuffer<__nv_bfloat16> elements_;
};

} // namespace matmul
