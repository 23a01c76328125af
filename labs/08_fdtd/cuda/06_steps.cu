// Rung 6: four steps per pass over the memory, in registers.
//
// Changed: the grid is cut into strips, 24 columns wide, and each strip into bands of rows (areas.hpp). A warp owns a
// band and moves up through it row by row. It loads 32 columns: four more on each side, because after each step the
// outermost column on both sides is no longer right (its neighbour is missing). Each lane holds one column. The numbers
// to the left and right come from the neighbouring lanes by shuffles, those above and below from the rows that the lane
// has seen before. So there is no barrier. Warps beside each other read the same cells, so a pass reads one field
// and writes another, and the end of the kernel is the barrier between passes.
//
// Order (rules.hpp says what U, P and Q of a cell are): when row j has been loaded, step t (from 0) can be done in row
// j - t - 1, because it needs P of the row above. In each iteration every step advances by one row:
//
//     row j      is loaded            and kept in kept[0]
//     row j - 1  does step 0          and is kept in kept[1]
//     row j - 2  does step 1          and is kept in kept[2]
//     row j - 3  does step 2          and is kept in kept[3]
//     row j - 4  does step 3, its last, and is stored
//
// The warp also loads four more rows below and above its band, for the same reason. Which lanes are right after each
// step:
//
//     lane    0 1 2 3 4 ........ 27 28 29 30 31
//     step 0  . # # # # ........ #  #  #  #  .      # right after this step
//     step 1  . . # # # ........ #  #  #  .  .
//     step 2  . . . # # ........ #  #  .  .  .
//     step 3  . . . . # ........ #  .  .  .  .      lanes 4 to 27 have done four steps: these are stored
//
// A row must be under way long before it is needed, and in registers there is room for one row ahead only. So rows are
// copied to shared memory three rows ahead, by asynchronous copies (cp.async; see Queue). Each lane copies and reads
// its own column, and waits for its own copies only: again there is no barrier.
// New in the code: __pipeline_memcpy_async(to, from, bytes, zeros) starts a copy, with zeros in place of the last
// `zeros` bytes. __pipeline_commit() makes a group of the copies since the last one, and __pipeline_wait_prior(n) waits
// for all groups but the last n.
//
// Where all warps run at the same time, a pass takes as long as its slowest warp, so a warp at a border must not be
// much slower than the others. Facts about the column are looked up once (facts.cuh), facts about a row once per row
// and step. In each iteration the warp takes the shortest version of advance() that is correct in all four rows: inner
// (no tests), layer, border (tests for the edges of the grid) or special (also sources and probes). Absorbing layers
// form a frame around the grid: warps in the frame run the version with layers and get fewer rows (areas.hpp), all
// others the version without. The last one to three steps, if any, use the kernels of cuda_scene.
//
// On a first reading take `mapped` and `layers` as false, and only the branch Place::inner; and begin at the end:
// cuda_steps launches a pass, steps_kernel finds the band of a warp, march() goes up through it, Strip::advance() does
// the four steps.
//
// Limit: memory, on large grids. A pass of four steps writes each number once; it loads 32/24 of the columns and
// (rows + 8)/rows of the rows of a band (Area::rows). On small grids there are few warps, and the time that a warp
// takes for one row decides.
#include <algorithm>
#include <climits>
#include <cuda_pipeline.h>

#define FDTD_SCENE_INCLUDED
#include "05_scene.cu"
#include "areas.hpp"
#include "device.hpp"
#include "facts.cuh"
#include "gpulab/cuda/occupancy.hpp"

namespace fdtd {

namespace {
constexpr int steps_per_pass = 4;
constexpr int warps = 4; // per block; they are independent of each other
constexpr int ahead = 3; // rows under way to a warp while it computes
} // namespace

/// The rows under way to one warp, in shared memory: U, P, Q and, in the layers, V of 32 columns. There is one place
/// more than rows under way, so that the number of places is a power of two.
template <class T> struct Queue { T rows[ahead + 1][4][32]; };

/// One cell of a lane's column, in registers.
template <class T> struct Cell {
    T u = 0, p = 0, q = 0;
    T v = 0;            ///< in the layers: the part of U that Q drives
    unsigned media = 0; ///< where media differ: the indices of U, P and Q, one byte each; graded: the index of the cell
};

/// Which tests a row needs.
enum class Place {
    inner,  ///< none: no edge of the grid, no fixed cell, no layer
    layer,  ///< for layers only
    border, ///< for edges, fixed cells and layers
    special ///< as border, and for sources and probes
};

/// The band of a strip that one warp computes: it completes columns [x0, x0 + 32 - 2 steps), rows [y0, y1).
/// @tparam steps per pass
template <int steps, bool mapped, bool layers, class T> class Strip {
public:
    __device__ Strip(const View<T>& view, int x0, int y0, int y1, int first_step)
        : g(view), i(x0 - steps + int(threadIdx.x % 32)), y0_(y0), y1_(y1), first_step_(first_step),
          mine(i >= x0 && i < x0 + width && i <= g.rules.nx), column(facts_of_column<layers>(g, i)) {
        const Rules<T>& r = g.rules;
        const int left = x0 - steps, right = left + 32;
        const auto most = [](int a, int b, int c) { return max(a, max(b, c)); };
        const auto least = [](int a, int b, int c) { return min(a, min(b, c)); };
        const bool inner = left >= most(1, r.change.x0, r.inner.x0) && right <= least(r.nx, r.change.x1, r.inner.x1);
        inner_y0 =
            inner ? most(1, r.change.y0, r.inner.y0) : r.ny + 1; // otherwise beyond the last row: no row is inner
        inner_y1 = least(r.ny, r.change.y1, r.inner.y1);
        const bool change = left >= max(1, r.change.x0) && right <= min(r.nx, r.change.x1);
        change_y0 = change ? max(1, r.change.y0) : r.ny + 1;
        change_y1 = min(r.ny, r.change.y1);
        for (int s = 0; s < r.sources; ++s)
            if (const Box b = patch_of(g, s).box; left < b.x1 && right > b.x0) extend_special(b.y0, b.y1);
        for (int s = 0; s < r.probes; ++s)
            if (const ProbeCell& c = g.probes[s]; c.x >= x0 && c.x < x0 + width) extend_special(c.y, c.y + 1);
    }

    static constexpr int width = 32 - 2 * steps;

    /// Whether row j has a cell in this lane's column.
    __device__ bool in_grid(int j) const { return i >= 0 && i <= g.rules.nx && j >= 0 && j <= g.rules.ny; }

    /// Starts to copy the numbers of row j to this lane's place in the queue: zeros outside the grid, and for V where
    /// there is no layer.
    __device__ void fetch(const FieldPointers<T>& from, int j, Queue<T>& queue) const {
        const bool inside = in_grid(j);
        const std::size_t at = inside ? std::size_t(j) * g.rules.pitch + i : 0, zeros = inside ? 0 : sizeof(T);
        auto& place = queue.rows[j & ahead]; // ahead + 1 is a power of two
        const int lane = threadIdx.x % 32;
        __pipeline_memcpy_async(&place[0][lane], from.u + at, sizeof(T), zeros);
        __pipeline_memcpy_async(&place[1][lane], from.p + at, sizeof(T), zeros);
        __pipeline_memcpy_async(&place[2][lane], from.q + at, sizeof(T), zeros);
        if constexpr (layers)
            __pipeline_memcpy_async(&place[3][lane], from.v + at, sizeof(T), in_layer(g, i, j) ? zeros : sizeof(T));
    }

    /// The cell in row j. @pre its copy has arrived
    __device__ Cell<T> take(int j, const Queue<T>& queue) const {
        const auto& place = queue.rows[j & ahead];
        const int lane = threadIdx.x % 32;
        Cell<T> c{place[0][lane], place[1][lane], place[2][lane]};
        if constexpr (layers) c.v = place[3][lane];
        return c;
    }

    /// The media of the cell in row j.
    __device__ unsigned media(int j) const {
        if (!mapped || !in_grid(j)) return 0;
        const std::size_t at = std::size_t(j) * g.rules.pitch + i;
        return g.rules.graded ? unsigned(at) : g.map[at] | g.map[g.plane + at] << 8 | g.map[2 * g.plane + at] << 16;
    }

    __device__ void store(const FieldPointers<T>& to, int j, const Cell<T>& c) const {
        const Rules<T>& r = g.rules;
        if (!mine || j < y0_) return;
        const std::size_t at = std::size_t(j) * r.pitch + i;
        const bool cell = column.p && j < r.ny;
        if (cell) to.u[at] = c.u;
        if (column.p) to.p[at] = c.p;
        if (j < r.ny) to.q[at] = c.q;
        if constexpr (layers)
            if (cell && in_layer(g, i, j)) to.v[at] = c.v;
    }

    /// Row j has been loaded: each step advances by one row.
    /// @return row j - steps, with all steps done
    __device__ Cell<T> advance(const Cell<T>& loaded, int j) {
        // All lanes of the warp take the same branch, because the bounds are those of the band: so shuffles of all 32
        // lanes are safe.
        const int low = j - steps; // rows low to j - 1 are computed
        if (low < special_y1 && j > special_y0) return advance<Place::special>(loaded, j);
        if (low >= inner_y0 && j <= inner_y1) return advance<Place::inner>(loaded, j);
        if (layers && low >= change_y0 && j <= change_y1) return advance<Place::layer>(loaded, j);
        return advance<Place::border>(loaded, j);
    }

private:
    __device__ void extend_special(int from, int to) {
        special_y0 = min(special_y0, from);
        special_y1 = max(special_y1, to);
    }

    template <Place place> __device__ Cell<T> advance(Cell<T> above, int j) {
        constexpr unsigned all = 0xFFFFFFFFu;
        const Rules<T>& r = g.rules;
#pragma unroll                            // so that t is a constant, and kept[t] a register
        for (int t = 0; t < steps; ++t) { // step t of row j - t - 1; `above` is the row above it, before that step
            const int row = j - t - 1, step = first_step_ + t;
            Cell<T> c = kept[t];
            // U of the row below after step t, which that row did in the iteration before.
            const T below = t + 1 < steps ? kept[t + 1 < steps ? t + 1 : 0].u : u_below;
            Coefficients<T> k = r.u, kp = r.e, kq = r.e;
            if (mapped && r.graded) {
                k = g.table[c.media];
                kp = g.table[g.plane + c.media];
                kq = g.table[2 * g.plane + c.media];
            } else if constexpr (mapped) {
                k = g.table[c.media & 255];
                kp = g.table[r.materials_u + (c.media >> 8 & 255)];
                kq = g.table[r.materials_u + (c.media >> 16)];
            }
            const T dq = __shfl_down_sync(all, c.q, 1) - c.q;
            if constexpr (place == Place::inner) {
                // above.p comes from the step before in this loop, all else was known earlier. So it enters U in the
                // last operation, and U enters P in the last one: the rest is computed while they are awaited.
                const T u_rest = k.keep * c.u - k.x * dq - k.y * c.p;
                const T p_rest = kp.keep * c.p - kp.y * below;
                c.u = k.y * above.p + u_rest;
                const T u_left = __shfl_up_sync(all, c.u, 1);
                c.p = kp.y * c.u + p_rest;
                c.q = kq.keep * c.q - kq.x * (c.u - u_left);
            } else {
                const RowFacts<T> facts = facts_of_row<layers>(g, row);
                constexpr bool edges = place != Place::layer;
                c.u = step_u<layers, edges>(column, facts, k, c.u, c.v, c.p, above.p, dq);
                const bool drives = place == Place::special && inside(r.driven, i, row);
                if (place == Place::special) {
                    if (drives) c.u = driven(g, 0, i, row, c.u, k.add, column.u && facts.u, step);
                    if (mine && row >= y0_ && row < y1_) record(g, i, row, c.u, step);
                }
                const T u_left = __shfl_up_sync(all, c.u, 1);
                c.p = step_p<edges>(column, facts, kp, c.p, c.u, below);
                c.q = step_q<edges>(column, facts, kq, c.q, c.u - u_left);
                if (place == Place::special && drives) {
                    c.p = driven(g, 1, i, row, c.p, kp.add * facts.gain_p, true, step);
                    c.q = driven(g, 2, i, row, c.q, kq.add * column.gain_q, true, step);
                }
            }
            kept[t] = above;
            above = c; // the row above that of step t + 1
        }
        u_below = above.u;
        return above;
    }

    const View<T>& g;
    const int i; ///< the lane's column
    const int y0_, y1_, first_step_;
    const bool mine; ///< this lane stores its column
    const ColumnFacts<T> column;
    int inner_y0, inner_y1;                   ///< rows that are inner
    int change_y0, change_y1;                 ///< rows in which each number is updated
    int special_y0 = INT_MAX, special_y1 = 0; ///< rows from the first source or probe of the strip to the last
    Cell<T> kept[steps];                      ///< kept[t]: the newest row that has passed t steps
    T u_below = 0;                            ///< U of the row that was completed last
};

/// `steps` steps from one field to another, in rows [y0, y1) of the strip that begins at column x0.
template <int steps, bool mapped, bool layers, class T>
__device__ void march(const View<T>& g, const FieldPointers<T>& from, const FieldPointers<T>& to, int x0, int y0,
                      int y1, int first_step, Queue<T>& queue) {
    Strip<steps, mapped, layers, T> strip(g, x0, y0, y1, first_step);
    const int end = y1 + steps;
    for (int j = y0 - steps; j < y0 - steps + ahead; ++j) {
        if (j < end) strip.fetch(from, j, queue);
        __pipeline_commit();
    }
    unsigned media = strip.media(y0 - steps); // one row ahead, too, but in a register: a copy has at least 4 bytes
#pragma unroll 1
    for (int j = y0 - steps; j < end; ++j) {
        __pipeline_wait_prior(ahead - 1); // all but the last `ahead - 1` groups have arrived: row j too
        asm volatile("" ::: "memory");    // no instruction: keeps the compiler from reading the row before
        Cell<T> now = strip.take(j, queue);
        now.media = media;
        if (j + ahead < end) strip.fetch(from, j + ahead, queue); // takes the place of row j - 1
        __pipeline_commit(); // one group per row, even an empty one, so that counting groups counts rows
        media = strip.media(j + 1);
        strip.store(to, j - steps, strip.advance(now, j));
    }
}

/// Four steps from one field to another. The launch needs areas.warps() warps or more. With five blocks on a
/// multiprocessor each thread has up to 96 registers. The code for layers could use more and spills some
/// of its numbers, but few warps run it.
template <bool mapped, bool layers, class T>
__global__ void __launch_bounds__(32 * warps, 5)
    steps_kernel(const __grid_constant__ View<T> g, FieldPointers<T> from, FieldPointers<T> to, int first_step,
                 const __grid_constant__ Areas areas) {
    __shared__ Queue<T> queues[warps];
    constexpr int width = Strip<steps_per_pass, mapped, layers, T>::width;
    int warp = int(blockIdx.x) * warps + int(threadIdx.x) / 32, k = 0;
    while (k < areas.count && warp >= areas.end[k]) ++k;
    if (k == areas.count) return; // the last block may have warps left over
    const Area& a = areas.area[k];
    warp -= k == 0 ? 0 : areas.end[k - 1]; // from here on its number in the area
    // EXERCISE repair-steps
    //| // TODO: these lines have a mistake. Find it and repair it.
    const int x0 = a.x0 + warp % a.strips * width, y0 = a.y0 + warp / a.strips * a.rows;
    const int y1 = min(y0 + a.rows, a.y1);
    // END EXERCISE
    Queue<T>& queue = queues[threadIdx.x / 32];
    if (layers && a.layers) march<steps_per_pass, mapped, layers>(g, from, to, x0, y0, y1, first_step, queue);
    else march<steps_per_pass, mapped, false>(g, from, to, x0, y0, y1, first_step, queue);
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
    const dim3 block(32, 8), grid(gpulab::grid_size(p.nx() + 1, block.x), gpulab::grid_size(p.ny() + 1, block.y));
    watch.tile(std::size_t(32 - 2 * steps_per_pass), "nx");
    for (const Area& a : {areas.area[0], areas.area[areas.count - 1]}) watch.tile(std::size_t(a.rows), "ny");
    watch.tile(steps_per_pass, "steps");
    run_in_turns(p, out, watch, [&](cudaStream_t stream, const View<T>& g, FieldPointers<T> from, FieldPointers<T> to) {
        int step = 0;
        bool in_other = false;
        for (; step + steps_per_pass <= r.steps; step += steps_per_pass) {
            kernel<<<blocks, 32 * warps, 0, stream>>>(g, from, to, step, areas);
            std::swap(from, to);
            in_other = !in_other;
        }
        for (; step < r.steps; ++step) { // one at a time, in place
            update_u<<<grid, block, 0, stream>>>(g, from, step);
            update_edges<<<grid, block, 0, stream>>>(g, from, step);
        }
        return in_other;
    });
}

INSTANTIATE_RUNG(cuda_steps);

} // namespace fdtd
