// Rung 5: four steps per pass over the memory, in registers.
//
// Changed: a warp owns a strip of 24 columns and moves through it row by row. It loads 32 columns: four more on
// each side, because after each step the outermost column on both sides is no longer right (its neighbour is
// missing). Each lane holds one column. The numbers to the left and right come from the neighbouring lanes by
// shuffles, those above and below from the rows that the lane has seen before. So there is no shared memory and no
// barrier.
// Index: when row j has been loaded, step t (from 0) can be done in row j - t - 1, because it needs P of the row
// above. In each iteration every step advances by one row, and row j - 4 is done with all four. At its lower and
// upper end a strip also begins and ends four rows further out, as it does at its sides. A strip away from borders,
// layers, sources and probes takes a loop without their tests (template parameter `plain`). Steps that four does
// not divide are done by fused_kernel.
// Limit: instructions. Memory is passed once per four steps: 32 columns of 24 are read, 24 written, 14 bytes per
// cell and step in double.
#include <algorithm>

#include "fused.cuh"

namespace fdtd {

namespace {

constexpr int steps_per_pass = 4;
constexpr int strip = 32 - 2 * steps_per_pass; // columns that a warp completes
constexpr int warps = 4;                       // of a block; they have nothing to do with each other

/// U, P, Q and the split part of one cell, in registers.
template <class T> struct Cell { T u = 0, p = 0, q = 0, v = 0; };

/// The warp's way through rows [y0, y1) of the strip that begins at column x0.
/// @tparam plain no lane or row that matters is at a border, in a layer, at a source or at a probe
template <bool plain, bool mapped, class T>
__device__ void march(const View<T>& g, const FieldPointers<T>& from, const FieldPointers<T>& to, int x0, int y0,
                      int y1, int first_step) {
    constexpr int S = steps_per_pass;
    const Rules<T>& r = g.rules;
    const int lane = threadIdx.x % 32;
    const int i = x0 - S + lane;
    const bool column = plain || (i >= 0 && i <= r.nx);
    const bool mine = lane >= S && lane < 32 - S && i <= r.nx;

    const auto load = [&](int j) {
        Cell<T> c;
        if (!plain && (!column || j < 0 || j > r.ny)) return c;
        const std::size_t at = std::size_t(j) * r.pitch + i;
        if (plain || (i < r.nx && j < r.ny)) c.u = from.u[at];
        if (plain || i < r.nx) c.p = from.p[at];
        if (plain || j < r.ny) c.q = from.q[at];
        if (!plain && i < r.nx && j < r.ny && in_layer(g, i, j)) c.v = from.v[at];
        return c;
    };

    Cell<T> kept[S]; // kept[t]: the newest row that has passed t steps
    T u_below = 0;   // U of the row that was completed last
    Cell<T> next = load(y0 - S);
    for (int j = y0 - S; j < y1 + S; ++j) {
        Cell<T> now = next;
        if (j + 1 < y1 + S) next = load(j + 1); // on its way during the arithmetic
#pragma unroll
        for (int t = 0; t < S; ++t) { // step t of row j - t - 1; `now` is the row above it, before that step
            const int row = j - t - 1;
            Cell<T> c = kept[t];
            const T q_right = __shfl_down_sync(0xFFFFFFFFu, c.q, 1);
            const T below = t + 1 < S ? kept[t + 1 < S ? t + 1 : 0].u : u_below; // after this step, as c.u will be
            if constexpr (plain) {
                const std::size_t at = std::size_t(row) * r.pitch + i;
                Coefficients<T> k = r.u, kp = r.e, kq = r.e;
                if constexpr (mapped) k = medium_u(g, at), kp = medium_p(g, at), kq = medium_q(g, at);
                c.u = k.keep * c.u + (k.y * (now.p - c.p) - k.x * (q_right - c.q));
                const T u_left = __shfl_up_sync(0xFFFFFFFFu, c.u, 1);
                c.p = kp.keep * c.p + kp.y * (c.u - below);
                c.q = kq.keep * c.q - kq.x * (c.u - u_left);
            } else {
                const int step = first_step + t;
                c.u = next_u(g, i, row, c.u, c.v, c.p, now.p, c.q, q_right, step);
                if (mine && row >= y0 && row < y1) record(g, i, row, c.u, step);
                const T u_left = __shfl_up_sync(0xFFFFFFFFu, c.u, 1);
                c.p = next_p(g, i, row, c.p, c.u, below, step);
                c.q = next_q(g, i, row, c.q, c.u, u_left, step);
            }
            kept[t] = now;
            now = c; // the row above that of step t + 1
        }
        u_below = now.u;
        const int done = j - S;
        if (mine && done >= y0 && done < y1) {
            const std::size_t at = std::size_t(done) * r.pitch + i;
            if (plain || (i < r.nx && done < r.ny)) to.u[at] = now.u;
            if (plain || i < r.nx) to.p[at] = now.p;
            if (plain || done < r.ny) to.q[at] = now.q;
            if (!plain && i < r.nx && done < r.ny && in_layer(g, i, done)) to.v[at] = now.v;
        }
    }
}

__device__ bool overlap(const Box& box, int x0, int y0, int x1, int y1) {
    return x0 < box.x1 && x1 > box.x0 && y0 < box.y1 && y1 > box.y0;
}

__device__ bool within(const Box& box, int x0, int y0, int x1, int y1) {
    return x0 >= box.x0 && x1 <= box.x1 && y0 >= box.y0 && y1 <= box.y1;
}

} // namespace

/// Four steps from one field to another; any grid. A block is four strips wide and `rows` rows high.
template <bool mapped, class T>
__global__ void __launch_bounds__(32 * warps) steps_kernel(const __grid_constant__ View<T> g, FieldPointers<T> from,
                                                           FieldPointers<T> to, int first_step, int rows) {
    const Rules<T>& r = g.rules;
    const int x0 = (blockIdx.x * warps + threadIdx.x / 32) * strip;
    const int y0 = blockIdx.y * rows, y1 = min(y0 + rows, r.ny + 1);
    if (x0 > r.nx) return; // the whole warp
    // What the warp computes, right or not, is in these columns and rows.
    constexpr int S = steps_per_pass;
    const int left = x0 - S, right = x0 - S + 32, bottom = y0 - 2 * S, top = y1 + S;
    const Box edges_change{1, 1, r.nx, r.ny};
    const bool plain = within(edges_change, left, bottom, right, top) && within(r.change, left, bottom, right, top) &&
                       within(r.inner, left, bottom, right, top) && !overlap(r.driven, left, bottom, right, top) &&
                       !overlap(r.probed, left, bottom, right, top);
    if (plain) march<true, mapped>(g, from, to, x0, y0, y1, first_step);
    else march<false, mapped>(g, from, to, x0, y0, y1, first_step);
}

namespace {

/// Rows of a block: many, so that few are computed twice, but not so many that warps are too few for the device.
template <class T> int rows_of_block(const Rules<T>& r) {
    const int strips = static_cast<int>(gpulab::ceil_div(std::size_t(r.nx) + 1, strip));
    const int wanted_warps = 2400; // 16 to 18 on each multiprocessor of a large GPU
    return std::clamp((r.ny + 1) * strips / wanted_warps, 16, 128);
}

} // namespace

template <class T> void cuda_steps(const Problem<T>& p, Output<T>& out, Stopwatch& watch) {
    const Rules<T>& r = p.rules;
    const int rows = rows_of_block(r);
    const dim3 grid(gpulab::grid_size(p.nx() + 1, warps * strip), gpulab::grid_size(p.ny() + 1, unsigned(rows)));
    const dim3 fused_grid = blocks_over(r, fused_x, fused_y);
    watch.tile(strip, "nx"), watch.tile(warps * strip, "nx"), watch.tile(std::size_t(rows), "ny");
    watch.tile(steps_per_pass, "steps");
    run_in_turns(p, out, watch, [&](cudaStream_t stream, const View<T>& g, FieldPointers<T> from, FieldPointers<T> to) {
        int step = 0;
        bool in_other = false;
        for (; step + steps_per_pass <= r.steps; step += steps_per_pass) {
            if (r.mapped) steps_kernel<true><<<grid, 32 * warps, 0, stream>>>(g, from, to, step, rows);
            else steps_kernel<false><<<grid, 32 * warps, 0, stream>>>(g, from, to, step, rows);
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
