#include "saxpy.hpp"

#include <array>
#include <cmath>

#include "gpulab/compare.hpp"
#include "gpulab/input.hpp"
#include "rungs.hpp"

namespace saxpy {

Problem make_problem(std::size_t n, std::uint64_t seed) {
    Problem p;
    p.k = 1 + gpulab::random_unit<float>(seed, 0);
    p.a = gpulab::random_vector<float>(n, seed + 1);
    p.b = gpulab::random_vector<float>(n, seed + 2);
    return p;
}

gpulab::Comparison compare(const Problem& p, const Output& reference, const Output& c) {
    return gpulab::compare(reference, c, tolerance, [&](std::size_t i) {
        const double product = double{p.k} * p.a[i];
        return std::abs(product) / 2 + std::abs(product + p.b[i]);
    });
}

std::span<const gpulab::Variant<Run>> variants() {
    using enum gpulab::Backend;
    static constexpr std::array table = {
        gpulab::Variant<Run>{"cpu_sequential", "one loop on one core", cpu, cpu_sequential},
        gpulab::Variant<Run>{"cpu_blocks", "one thread per hardware thread, each with one block of elements", cpu,
                             cpu_blocks},
        gpulab::Variant<Run>{"cpu_interleaved", "one thread per hardware thread, each takes every P-th element", cpu,
                             cpu_interleaved},
        gpulab::Variant<Run>{"opencl_raw", "the host program in plain OpenCL calls", opencl,
                             GPULAB_IF_OPENCL(opencl_raw)},
        gpulab::Variant<Run>{"opencl_one_item", "one work-item per element", opencl, GPULAB_IF_OPENCL(opencl_one_item)},
        gpulab::Variant<Run>{"opencl_grid_stride", "a fixed number of work-items, each takes every G-th element",
                             opencl, GPULAB_IF_OPENCL(opencl_grid_stride)},
        gpulab::Variant<Run>{"opencl_vectorised", "16-byte loads and stores, one float4 per work-item", opencl,
                             GPULAB_IF_OPENCL(opencl_vectorised)},
        gpulab::Variant<Run>{"cuda_raw", "the six steps of a host program in plain CUDA calls", cuda,
                             GPULAB_IF_CUDA(cuda_raw)},
        gpulab::Variant<Run>{"cuda_one_block", "one block: n is at most the threads of a block", cuda,
                             GPULAB_IF_CUDA(cuda_one_block)},
        gpulab::Variant<Run>{"cuda_many_blocks", "one thread per element, any n", cuda,
                             GPULAB_IF_CUDA(cuda_many_blocks)},
        gpulab::Variant<Run>{"cuda_grid_stride", "a grid that just fills the device and strides over n", cuda,
                             GPULAB_IF_CUDA(cuda_grid_stride)},
        gpulab::Variant<Run>{"cuda_float4", "16-byte loads and stores, one float4 per thread", cuda,
                             GPULAB_IF_CUDA(cuda_float4)},
        gpulab::Variant<Run>{"cuda_vectorised", "four float4 of each array in flight per thread", cuda,
                             GPULAB_IF_CUDA(cuda_vectorised)},
        gpulab::Variant<Run>{
            "cuda_cublas", "cublasSaxpy of NVIDIA's library", cuda, GPULAB_IF_CUDA(cuda_cublas), {}, true},
    };
    return table;
}

} // namespace saxpy
