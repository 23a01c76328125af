// Matrices whose slots 32 bits do not count. They are made and judged on the device.
#include <catch2/catch_test_macros.hpp>
#include <string>

#include "cuda/products.hpp"
#include "gpulab/cuda/buffer.hpp"
#include "gpulab/cuda/check.hpp"
#include "gpulab_testing/testing.hpp"

using gpulab::DeviceBuffer;

namespace {

constexpr int large_columns = 1000;

// Entry s of row i, for s < length_of(i): whole numbers, so that sums are exact.
__device__ int length_of(std::size_t i, int width) { return 1 + static_cast<int>(i % static_cast<std::size_t>(width)); }
__device__ int column_of(std::size_t i, int s) {
    return static_cast<int>((7 * i + 13 * static_cast<std::size_t>(s)) % large_columns);
}
__device__ float value_of(std::size_t i, int s) {
    return static_cast<float>(1 + (i + static_cast<std::size_t>(s)) % 3);
}
__device__ float x_of(int j) { return static_cast<float>(1 + j % 5); }

__global__ void fill_x(float* x) {
    for (int j = static_cast<int>(threadIdx.x); j < large_columns; j += static_cast<int>(blockDim.x)) x[j] = x_of(j);
}

__global__ void fill_ell(int* column, float* value, std::size_t rows, int width) {
    const std::size_t i = blockIdx.x * std::size_t{blockDim.x} + threadIdx.x;
    if (i >= rows) return;
    for (int s = 0; s < width; ++s) {
        const bool used = s < length_of(i, width);
        column[static_cast<std::size_t>(s) * rows + i] = used ? column_of(i, s) : -1;
        value[static_cast<std::size_t>(s) * rows + i] = used ? value_of(i, s) : 0.0f;
    }
}

/// `width` entries for each row.
__global__ void fill_coo(int* row, int* column, float* value, std::size_t nonzeros, int width) {
    const std::size_t k = blockIdx.x * std::size_t{blockDim.x} + threadIdx.x;
    if (k >= nonzeros) return;
    const std::size_t i = k / static_cast<std::size_t>(width);
    const int s = static_cast<int>(k % static_cast<std::size_t>(width));
    row[k] = static_cast<int>(i);
    column[k] = column_of(i, s);
    value[k] = value_of(i, s);
}

/// @param full every row has `width` entries
__global__ void count_wrong(const float* y, std::size_t rows, int width, bool full, unsigned long long* wrong) {
    const std::size_t i = blockIdx.x * std::size_t{blockDim.x} + threadIdx.x;
    if (i >= rows) return;
    float sum = 0;
    for (int s = 0; s < (full ? width : length_of(i, width)); ++s) sum += value_of(i, s) * x_of(column_of(i, s));
    if (!(y[i] == sum)) atomicAdd(wrong, 1ull);
}

unsigned blocks_for(std::size_t n) { return static_cast<unsigned>((n + 255) / 256); }

unsigned long long wrong_rows(const DeviceBuffer<float>& y, int width, bool full) {
    DeviceBuffer<unsigned long long> wrong(1);
    CUDA_CHECK(cudaMemset(wrong.data(), 0, wrong.bytes()));
    count_wrong<<<blocks_for(y.size()), 256>>>(y.data(), y.size(), width, full, wrong.data());
    CUDA_CHECK_LAUNCH();
    std::vector<unsigned long long> host(1);
    wrong.copy_to(host);
    return host[0];
}

/// Skips the test when the device has less free memory.
void needs_bytes(std::size_t bytes) {
    std::size_t free = 0, all = 0;
    CUDA_CHECK(cudaMemGetInfo(&free, &all));
    if (free < bytes) SKIP("needs " + std::to_string(bytes >> 30) + " GiB of free device memory");
}

} // namespace

TEST_CASE("ELL reaches slots beyond 2^31", "[cuda][large]") {
    gpulab::use(gpulab::testing::devices_or_skip(gpulab::Backend::cuda).front());
    constexpr std::size_t rows = (std::size_t{1} << 26) + 3;
    constexpr int width = 33;
    static_assert(rows * width > (std::size_t{1} << 31));
    needs_bytes(rows * width * 8 + rows * 4 + (1 << 28));
    DeviceBuffer<int> column(rows * width);
    DeviceBuffer<float> value(rows * width), x(large_columns), y(rows);
    fill_x<<<1, 256>>>(x.data());
    fill_ell<<<blocks_for(rows), 256>>>(column.data(), value.data(), rows, width);
    spmv::ell_product(column, value, x, y, width, nullptr);
    CUDA_CHECK_LAUNCH();
    CHECK(wrong_rows(y, width, false) == 0);
    y.check_guard_bands();
    y.poison_async(nullptr);
    CHECK(wrong_rows(y, width, false) == rows); // the judge sees unwritten rows
}

TEST_CASE("COO reaches entries beyond 2^31", "[cuda][large]") {
    gpulab::use(gpulab::testing::devices_or_skip(gpulab::Backend::cuda).front());
    constexpr int width = 37;
    constexpr std::size_t rows = (std::size_t{1} << 31) / width + 101, nonzeros = rows * width;
    static_assert(nonzeros > (std::size_t{1} << 31));
    needs_bytes(nonzeros * 12 + rows * 4 + (1 << 28));
    DeviceBuffer<int> row(nonzeros), column(nonzeros);
    DeviceBuffer<float> value(nonzeros), x(large_columns), y(rows);
    fill_x<<<1, 256>>>(x.data());
    fill_coo<<<blocks_for(nonzeros), 256>>>(row.data(), column.data(), value.data(), nonzeros, width);
    spmv::coo_product(row, column, value, x, y, nullptr);
    CUDA_CHECK_LAUNCH();
    CHECK(wrong_rows(y, width, true) == 0);
    y.check_guard_bands();
}
