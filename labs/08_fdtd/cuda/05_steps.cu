// Rung 5: four steps per pass over the memory, in registers.
//
// Changed: a warp owns a strip of 24 columns and moves through it row by row. It loads 32 columns: four more on
// each side, because after each step the outermost column on both sides is no longer right (its neighbour is
// missing). Each lane holds one column. The numbers to the left and right come from the neighbouring lanes by
// shuffles, those above and below from the rows that the lane has seen before. So there is no shared memory and no
// barrier.
// Index: when row j has been loaded, step t (from 0) can be done in row j - t - 1, because it needs P of the row
// above. In each iteration every step advances by one row, and row j - 4 is done with all four. A strip also reaches
// four rows beyond its lower and upper end, as it does at its sides.
// A pass takes as long as its slowest warp, so a warp at a border must not be much slower than the others. Facts about
// the column are looked up once (facts.cuh), facts about the row once per row. In each iteration the warp takes the
// shortest of three versions of the code that is right there: without any tests, for borders and layers, or also for
// sources and probes. The march is in strip.cuh. Absorbing layers are a frame around the grid: its warps run the code
// for layers and get fewer rows (areas.hpp), all others run the code without layers.
// Limit: memory, on large grids. There is one pass per four steps, but it also reads the columns on each side. On small
// grids there are few warps, and the time that a warp takes for a row decides.
#include <algorithm>

#include "areas.hpp"
#include "fused.cuh"
#include "gpulab/cuda/occupancy.hpp"
#include "strip.cuh"

namespace fdtd {

namespace {
constexpr int steps_per_pass = 4;
constexpr int warps = 4; // per block; they are independent of each other
} // namespace

/// Four steps from one field to another; any grid. With five blocks on a multiprocessor each thread has up to 96
/// registers. The code for layers could use more and keeps some numbers in local memory, but few warps run it.
template <bool mapped, bool layers, class T>
__global__ void __launch_bounds__(32 * warps, 5)
    steps_kernel(const __grid_constant__ View<T> g, FieldPointers<T> from, FieldPointers<T> to, int first_step,
                 const __grid_constant__ Areas areas) {
    constexpr int width = Strip<steps_per_pass, mapped, layers, T>::width;
    int warp = int(blockIdx.x) * warps + int(threadIdx.x) / 32, k = 0;
    while (k < areas.count && warp >= areas.end[k]) ++k;
    if (k == areas.count) return; // the last block may have warps left over
    const Area& a = areas.area[k];
    warp -= k == 0 ? 0 : areas.end[k - 1];
    // EXERCISE repair-steps
    //| // TODO: these lines have a mistake. Find it and repair it.
    const int x0 = a.x0 + warp % a.strips * width, y0 = a.y0 + warp / a.strips * a.rows;
    const int y1 = min(y0 + a.rows, a.y1);
    // END EXERCISE
    if (layers && a.layers) march<steps_per_pass, mapped, layers>(g, from, to, x0, y0, y1, first_step);
    else march<steps_per_pass, mapped, false>(g, from, to, x0, y0, y1, first_step);
}

namespace {

/// The kernel for a problem, without the features that the problem does not have.
template <class T> auto kernel_for(const Rules<T>& r) {
    if (r.mapped) return r.layers ? steps_kernel<true, true, T> : steps_kernel<true, false, T>;
    return r.layers ? steps_kernel<false, true, T> : steps_kernel<false, false, T>;
}

} // namespace

template <class T> void cuda_steps(const Problem<T>& p, Output<T>& out, Stopwatch& watch) {
    const Rules<T>& r = p.rules;
    const auto kernel = kernel_for(r);
    const int resident = warps * static_cast<int>(gpulab::resident_blocks(kernel, 32 * warps, 0));
    const Areas areas = areas_for(r, steps_per_pass, resident);
    const unsigned blocks = gpulab::grid_size(std::size_t(areas.warps()), warps);
    const dim3 fused_grid = blocks_over(r, fused_x, fused_y);
    watch.tile(std::size_t(32 - 2 * steps_per_pass), "nx");
    for (const Area& a : {areas.area[0], areas.area[areas.count - 1]}) watch.tile(std::size_t(a.rows), "ny");
    watch.tile(steps_per_pass, "steps");
    run_in_turns(p, out, watch, [&](cudaStream_t stream, const View<T>& g, FieldPointers<T> from, FieldPointers<T> to) {
        int step = 0;
        bool in_other = false;
        for (; step + steps_per_pass <= r.steps; step += steps_per_pass) {
            kernel<<<blocks, 32 * warps, 0, stream>>>(g, from, to, step, areas);
            std::swap(from, to), in_other = !in_other;
        }
        for (; step < r.steps; ++step) {
            fused_kernel<<<fused_grid, dim3(fused_x, fused_y), 0, stream>>>(g, from, to, step);
            std::swap(from, to), in_other = !in_other;
        }
        return in_other;
    });
}

template void cuda_steps(const Problem<float>&, Output<float>&, Stopwatch&);
template void cuda_steps(const Problem<double>&, Output<double>&, Stopwatch&);

} // namespace fdtd
