// Rung 11: the tile, and the number of parts of k, chosen by the shape.
//
// Changed: the multiprocessor with the most to do determines the time. 1024 x 1024 elements are 32 large tiles (128 x
// 256), which leave 100 of an H200's 132 multiprocessors idle. 2047 x 2053 elements are 144 of them, so 12
// multiprocessors compute two tiles and the others wait for these. Two measures balance the work:
// - a smaller tile, 64 x 128, with three blocks per multiprocessor;
// - k in parts (split-K): the blocks of one part add up their share of every sum, and a second kernel adds the shares,
//   always in the same order, so that the result is the same in every run.
// The large tile needs fewer loads, and shares cost memory traffic. So the rung estimates what each choice costs and
// takes the cheapest (by_shape.hpp).
// Limit: the arithmetic units, and shapes for which no choice fills the device evenly.
#include "by_shape.hpp"
#include "gpulab/cuda/buffer.hpp"
#include "gpulab/cuda/occupancy.hpp"
#include "gpulab/cuda/timing.hpp"
#include "gpulab/error.hpp"
#include "gpulab/math.hpp"
#include "gpulab/poisoning.hpp"
#include "matmul.hpp"
#include "warp_tile.cuh"

namespace matmul {

namespace {

using Large = WarpTile<large_rows, large_columns, part_unit, 64, 64, 8, 3, 1>;
using Small = WarpTile<small_rows, small_columns, part_unit, 32, 64, 4, 4, small_per_sm>;

} // namespace

/// c[i] = shares[i] + shares[size + i] + ..., `parts` of them.
__global__ void add_shares_kernel(const float* __restrict__ shares, float* __restrict__ c, std::size_t size,
                                  int parts) {
    const std::size_t i = blockIdx.x * std::size_t{blockDim.x} + threadIdx.x;
    if (i >= size) return;
    float sum = shares[i];
    for (int s = 1; s < parts; ++s) sum += shares[s * size + i];
    c[i] = sum;
}

void cuda_by_shape(const Problem<float>& p, Output<float>& c, Stopwatch& watch) {
    const ByShape choice = choose_by_shape(p.m, p.k, p.n, gpulab::multiprocessor_count(), prepare_warp_tile<Large>());
    if (!choice.large && !prepare_warp_tile<Small>())
        throw gpulab::Unsupported("needs 49 KiB of shared memory per block");
    const std::size_t parts = choice.parts;

    const gpulab::DeviceBuffer<float> a(p.a), b(p.b);
    gpulab::DeviceBuffer<float> out(p.size()), shares(parts > 1 ? parts * p.size() : 0);
    float* const target = parts > 1 ? shares.data() : out.data();
    choice.large ? name_tiles<Large>(watch) : name_tiles<Small>(watch);
    if (parts > 1) watch.tile(choice.part, "k");
    gpulab::watch_stream(
        watch,
        [&](cudaStream_t stream) {
            if (p.size() == 0) return;
            const auto launch = choice.large ? launch_warp_tile<Large> : launch_warp_tile<Small>;
            launch(a.data(), b.data(), target, p.m, p.k, p.n, choice.vector, choice.part, parts, stream);
            if (parts > 1) {
                CUDA_CHECK_LAUNCH();
                add_shares_kernel<<<gpulab::grid_size(p.size(), 256), 256, 0, stream>>>(target, out.data(), p.size(),
                                                                                        parts);
            }
        },
        gpulab::poisoning(out, shares));
    out.copy_to(c);
}

} // namespace matmul
