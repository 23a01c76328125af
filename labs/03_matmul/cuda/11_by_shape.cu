// Rung 11: the tile, and the number of parts of k, chosen by the shape.
//
// Changed: the multiprocessor with the most to do determines the time. 1024 x 1024 elements are 32 large tiles (128 x
// 256), which leave 100 of an H200's 132 multiprocessors idle. 2047 x 2053 elements are 144 of them, so 12
// multiprocessors compute two tiles and the others wait for these. Three measures balance the work:
// - smaller tiles: 64 x 128, 32 x 64 or 32 x 32, with three, six or eight blocks per multiprocessor;
// - k in parts (split-K): the blocks of one part add up their share of every sum, and a second kernel adds the shares,
//   always in the same order, so that the result is the same in every run;
// - no tiles where C has at most eight rows or columns (thin.cuh).
// The large tile needs fewer loads, and shares cost memory traffic. So the rung estimates what each choice costs and
// takes the cheapest (by_shape.hpp).
// Limit: the arithmetic units, and shapes for which no choice fills the device evenly.
#include "by_shape.hpp"
#include "gpulab/cuda/occupancy.hpp"
#include "gpulab/cuda/timing.hpp"
#include "gpulab/error.hpp"
#include "matmul.hpp"
#include "thin.cuh"
#include "warp_tile.cuh"

namespace matmul {

namespace {

/// A kernel for the tiles of tiles_by_shape[t].
template <std::size_t t, int depth, int warp_rows, int warp_columns, int lane_rows, int stages>
using ByShapeTile = WarpTile<tiles_by_shape[t].rows, tiles_by_shape[t].columns, depth, warp_rows, warp_columns,
                             lane_rows, stages, tiles_by_shape[t].resident>;
using Large = ByShapeTile<0, 16, 64, 64, 8, 3>;
using Small = ByShapeTile<1, 16, 32, 64, 4, 4>;
using Low = ByShapeTile<2, 16, 16, 32, 4, 4>;
using Least = ByShapeTile<3, 32, 16, 32, 4, 3>;

/// Calls `use` with the tile of a choice: `use(G{})`.
template <class Use> void with_tile(const ByShape& choice, const Use& use) {
    if (choice.tile == 0) use(Large{});
    else if (choice.tile == 1) use(Small{});
    else if (choice.tile == 2) use(Low{});
    else use(Least{});
}

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

void multiply_as_chosen(const Problem<float>& p, Output<float>& c, Stopwatch& watch, const ByShape& choice) {
    using Way = ByShape::Way;
    const std::size_t parts = choice.parts;
    if (choice.way == Way::tiles)
        with_tile(choice, [&]<class G>(G) {
            if (!prepare_warp_tile<G>()) throw gpulab::Unsupported("needs 49 KiB of shared memory per block");
            name_tiles<G>(watch);
        });
    else watch.tile(few, "m").tile(few, "n").tile(32, "n").tile(128, "n").tile(min_k, "k");
    if (parts > 1) watch.tile(choice.part, "k");

    const gpulab::DeviceBuffer<float> a(p.a), b(p.b);
    gpulab::DeviceBuffer<float> out(p.size()), shares(parts > 1 ? parts * p.size() : 0);
    float* const target = parts > 1 ? shares.data() : out.data();
    const auto launch = [&](cudaStream_t stream) {
        if (p.size() == 0) return;
        if (choice.way == Way::thin_columns) launch_thin_columns(a.data(), b.data(), target, p.m, p.k, p.n, stream);
        else if (choice.way == Way::thin_rows)
            launch_thin_rows(a.data(), b.data(), target, p.m, p.k, p.n, choice.vector, choice.part, parts, stream);
        else
            with_tile(choice, [&]<class G>(G) {
                launch_warp_tile<G>(a.data(), b.data(), target, p.m, p.k, p.n, choice.vector, choice.part, parts,
                                    stream);
            });
        if (parts > 1) {
            CUDA_CHECK_LAUNCH();
            add_shares_kernel<<<gpulab::grid_size(p.size(), 256), 256, 0, stream>>>(target, out.data(), p.size(),
                                                                                    parts);
        }
    };
    gpulab::watch_stream(watch, launch, gpulab::poisoning(out, shares));
    out.copy_to(c);
}

void cuda_by_shape(const Problem<float>& p, Output<float>& c, Stopwatch& watch) {
    multiply_as_chosen(p, c, watch,
                       choose_by_shape(p.m, p.k, p.n, gpulab::multiprocessor_count(), prepare_warp_tile<Large>()));
}

} // namespace matmul
