/// @file
/// A matrix in a 16-bit format on the device.
#pragma once

#include <cmath>
#include <cstddef>
#include <vector>

#include "gpulab/cuda/buffer.hpp"
#include "gpulab/error.hpp"
#include "gpulab/math.hpp"
#include "gpulab/parallel.hpp"

namespace matmul {

/// The elements of a matrix stored by rows, each rounded to the nearest number of a 16-bit format (ties to even).
/// @tparam Number half or __nv_bfloat16
template <class Number> class NarrowMatrix {
public:
    /// Rows begin at multiples of 16 bytes.
    static constexpr std::size_t piece = 16 / sizeof(Number);

    /// @throws gpulab::Unsupported if a finite element is too large for the format
    NarrowMatrix(const std::vector<float>& matrix, std::size_t rows, std::size_t columns)
        : pitch_(gpulab::round_up(columns, piece)), elements_(rounded(matrix, rows, columns)) {}

    const Number* data() const { return elements_.data(); }
    std::size_t pitch() const { return pitch_; } ///< elements from row to row

private:
    std::vector<Number> rounded(const std::vector<float>& matrix, std::size_t rows, std::size_t columns) const {
        std::vector<Number> all(rows * pitch_, Number(0.0F));
        gpulab::for_ranges(rows, (1 << 20) / (columns + 1) + 1, [&](std::size_t begin, std::size_t end) {
            for (std::size_t i = begin; i < end; ++i)
                for (std::size_t j = 0; j < columns; ++j) {
                    const float x = matrix[i * columns + j];
                    Number& number = all[i * pitch_ + j] = Number(x);
                    if (std::isinf(static_cast<float>(number)) && !std::isinf(x))
                        throw gpulab::Unsupported("an element of A or B is too large for 16 bits");
                }
        });
        return all;
    }

    std::size_t pitch_;
    gpulab::DeviceBuffer<Number> elements_;
};

} // namespace matmul
