#include "saxpy.hpp"

#include <array>
#include <cmath>

#include "gpulab/input.hpp"

namespace saxpy {

Problem make_problem(std::size_t n, std::uint64_t seed) {
    Problem p;
    p.k = static_cast<float>(1 + gpulab::random_unit(seed, 0));
    p.a = gpulab::random_vector<float>(n, seed + 1);
    p.b = gpulab::random_vector<float>(n, seed + 2);
    return p;
}

gpulab::Comparison compare(const Problem& p, const Output& reference, const Output& c) {
    return gpulab::compare(reference, c, tolerance,
                           [&](std::size_t i) { return std::abs(double{p.k} * p.a[i]) + std::abs(double{p.b[i]}); });
}

std::span<const gpulab::Variant<Run>> variants() {
    using enum gpulab::Backend;
    static constexpr std::array table = {
        gpulab::Variant<Run>{"cpu_sequential", "one loop on one core", cpu, cpu_sequential},
        gpulab::Variant<Run>{"cpu_blocks", "one thread per core, each a consecutive block", cpu, cpu_blocks},
        gpulab::Variant<Run>{"cpu_interleaved", "one thread per core, each every P-th element", cpu, cpu_interleaved},
        gpulab::Variant<Run>{"opencl_one_item", "one work-item per element", opencl, GPULAB_IF_OPENCL(opencl_one_item)},
        gpulab::Variant<Run>{"opencl_grid_stride", "a fixed number of work-items, each every G-th element", opencl,
                             GPULAB_IF_OPENCL(opencl_grid_stride)},
        gpulab::Variant<Run>{"opencl_vectorised", "16-byte loads and stores (float4)", opencl,
                             GPULAB_IF_OPENCL(opencl_vectorised)},
        gpulab::Variant<Run>{"cuda_raw", "the six steps of a host program, with nothing hidden", cuda,
                             GPULAB_IF_CUDA(cuda_raw)},
        gpulab::Variant<Run>{"cuda_one_block", "one block: n up to the threads of a block", cuda,
                             GPULAB_IF_CUDA(cuda_one_block)},
        gpulab::Variant<Run>{"cuda_many_blocks", "one thread per element, any n", cuda,
                             GPULAB_IF_CUDA(cuda_many_blocks)},
        gpulab::Variant<Run>{"cuda_grid_stride", "a grid that fills the device once and strides over n", cuda,
                             GPULAB_IF_CUDA(cuda_grid_stride)},
        gpulab::Variant<Run>{"cuda_vectorised", "16-byte loads, four independent ones in flight per array", cuda,
                             GPULAB_IF_CUDA(cuda_vectorised)},
        gpulab::Variant<Run>{
            "cuda_cublas", "the vendor's library, cublasSaxpy", cuda, GPULAB_IF_CUDA(cuda_cublas), {}, true},
    };
    return table;
}

} // namespace saxpy
