// Each kernel has one mistake. The right ones are labs/08_fdtd/cuda/02_coalesced.cu, and for the tile of two steps
// labs/08_fdtd/opencl/03_steps.cl.
#include <array>

#include "bodies.hpp"
#include "cuda/device.hpp"

namespace fdtd::wrong {

namespace {

template <Mistake m>
__global__ void wrong_u(const __grid_constant__ View<double> g, FieldPointers<double> f, int step) {
    body_u<m>(g, f, blockIdx.x * blockDim.x + threadIdx.x, blockIdx.y * blockDim.y + threadIdx.y, step);
}

template <Mistake m>
__global__ void wrong_edges(const __grid_constant__ View<double> g, FieldPointers<double> f, int step) {
    body_edges<m>(g, f, blockIdx.x * blockDim.x + threadIdx.x, blockIdx.y * blockDim.y + threadIdx.y, step);
}

enum class Order { right, edges_first, first_run_only };

template <Mistake m, Order order = Order::right>
void two_kernels(const Problem<double>& p, Output<double>& out, Stopwatch& watch) {
    const dim3 block(32, 8), grid(gpulab::grid_size(p.nx(), 32), gpulab::grid_size(p.ny(), 8));
    watch.tile(32, "nx"), watch.tile(8, "ny");
    bool done = false;
    run_in_place(p, out, watch, [&](cudaStream_t stream, const View<double>& g, FieldPointers<double> field) {
        if (order == Order::first_run_only && done) return;
        done = true;
        for (int step = 0; step < p.rules.steps; ++step) {
            if (order != Order::edges_first) wrong_u<m><<<grid, block, 0, stream>>>(g, field, step);
            wrong_edges<m><<<grid, block, 0, stream>>>(g, field, step);
            if (order == Order::edges_first) wrong_u<m><<<grid, block, 0, stream>>>(g, field, step);
        }
    });
}

template <Given mistake> void with_given(const Problem<double>& p, Output<double>& out, Stopwatch& watch) {
    two_kernels<Mistake::none>(given(p, mistake), out, watch);
}

/// Two steps of a tile of 16 x 16 cells in shared memory, of which those `ring` cells from its edge are completed.
/// ring = 2 is right.
template <int ring, bool barrier>
__global__ void tile_kernel(const __grid_constant__ View<double> g, FieldPointers<double> from,
                            FieldPointers<double> to, int first, int count) {
    __shared__ double u[16][16], p[16][16], q[16][16];
    const Rules<double>& r = g.rules;
    const int x = threadIdx.x, y = threadIdx.y;
    const int i = int(blockIdx.x) * (16 - 2 * ring) - ring + x, j = int(blockIdx.y) * (16 - 2 * ring) - ring + y;
    const int right = min(x + 1, 15), above = min(y + 1, 15), left = max(x - 1, 0), below = max(y - 1, 0);
    const bool column = i >= 0 && i < r.nx, row = j >= 0 && j < r.ny;
    const std::size_t at = std::size_t(j) * r.pitch + i;
    const bool mine = x >= ring && x < 16 - ring && y >= ring && y < 16 - ring;
    u[y][x] = column && row ? from.u[at] : 0;
    p[y][x] = column && j >= 0 && j <= r.ny ? from.p[at] : 0;
    q[y][x] = row && i >= 0 && i <= r.nx ? from.q[at] : 0;
    double v = column && row && in_layer(g, i, j) ? from.v[at] : 0;
    __syncthreads();
    for (int t = 0; t < count; ++t) {
        const double here = next_u(g, i, j, u[y][x], v, p[y][x], p[above][x], q[y][x], q[y][right], first + t);
        // Without a barrier warps drift apart by chance; this makes the chance a certainty.
        if (!barrier && y < 8)
            for (int k = 0; k < 4; ++k) __nanosleep(20000);
        u[y][x] = here;
        if (mine) record(g, i, j, here, first + t);
        if (barrier) __syncthreads();
        p[y][x] = next_p(g, i, j, p[y][x], u[y][x], u[below][x], first + t);
        q[y][x] = next_q(g, i, j, q[y][x], u[y][x], u[y][left], first + t);
        __syncthreads();
    }
    if (mine && column && row) to.u[at] = u[y][x];
    if (mine && column && j <= r.ny) to.p[at] = p[y][x];
    if (mine && row && i <= r.nx) to.q[at] = q[y][x];
    if (mine && column && row && in_layer(g, i, j)) to.v[at] = v;
}

template <int ring, bool barrier> void two_steps(const Problem<double>& p, Output<double>& out, Stopwatch& watch) {
    constexpr unsigned tile = 16 - 2 * ring;
    const dim3 block(16, 16), grid = blocks_over(p.rules, tile, tile);
    watch.tile(tile, "nx"), watch.tile(tile, "ny"), watch.tile(2, "steps");
    run_in_turns(p, out, watch,
                 [&](cudaStream_t stream, const View<double>& g, FieldPointers<double> from, FieldPointers<double> to) {
                     bool in_other = false;
                     for (int step = 0; step < p.rules.steps; step += 2) {
                         tile_kernel<ring, barrier>
                             <<<grid, block, 0, stream>>>(g, from, to, step, min(2, p.rules.steps - step));
                         std::swap(from, to), in_other = !in_other;
                     }
                     return in_other;
                 });
}

} // namespace

void cuda_right(const Problem<double>& p, Output<double>& out, Stopwatch& watch) {
    two_kernels<Mistake::none>(p, out, watch);
}
void cuda_right_two_steps(const Problem<double>& p, Output<double>& out, Stopwatch& watch) {
    two_steps<2, true>(p, out, watch);
}

std::span<const WrongVariant> cuda_variants() {
    static const std::array table = {
        WrongVariant{"printed_dx", "the book's DxHz for DyHz", two_kernels<Mistake::printed_dx>},
        WrongVariant{"edges_first", "P and Q are computed before U", two_kernels<Mistake::none, Order::edges_first>},
        WrongVariant{"border_row_skipped", "U of the last row is not computed",
                     two_kernels<Mistake::border_row_skipped>},
        WrongVariant{"border_edge_moves", "P along the lower border is computed",
                     two_kernels<Mistake::border_edge_moves>},
        WrongVariant{"neighbour_medium", "the coefficients of the cell to the right",
                     two_kernels<Mistake::neighbour_medium>},
        WrongVariant{"split_forgotten", "the second part of U is not stored", two_kernels<Mistake::split_forgotten>},
        WrongVariant{"record_too_early", "a probe sees the step before", two_kernels<Mistake::record_too_early>},
        WrongVariant{"source_twice", "a soft source adds twice", two_kernels<Mistake::source_twice>},
        WrongVariant{"first_run_only", "works once", two_kernels<Mistake::none, Order::first_run_only>},
        WrongVariant{"three_sides", "no layer at the top", with_given<Given::three_sides>},
        WrongVariant{"no_loss", "a and c are 1", with_given<Given::no_loss>},
        WrongVariant{"source_late", "the source's value of the step before", with_given<Given::source_late>},
        WrongVariant{"walls_change", "U at a wall is computed", with_given<Given::walls_change>},
        WrongVariant{"ring_too_narrow", "two steps with a ring of one cell", two_steps<1, true>},
        WrongVariant{"no_barrier", "P and Q are computed before U is complete", two_steps<2, false>},
    };
    return table;
}

} // namespace fdtd::wrong
