// Rung 2: two kernels per step with threads along the rows, and any block. (Alfaro Vigo & Rossetto,
// exercises 4.3 and 4.4, and section 4.4.2)
//
// Changed: threadIdx.x counts i, and cells with neighbouring i are neighbours in memory: at = j * pitch + i. The
// pitch is a multiple of 16, so that each row begins at a multiple of 128 bytes (of 64 in float). A warp loads 32
// neighbours.
// From here on, rungs solve all the lab's problems: both modes, media per cell, several sources, all boundaries,
// probes.
// cuda_coalesced has blocks of 32 x 8; cuda_block_shape takes block_x x block_y from the problem, 256 x 1 by default.
// Limit: memory. update_u reads U, P, Q and writes U; update_edges reads U, P, Q and writes P, Q: 9 numbers, 72
// bytes in double, per cell and step.
#include "device.hpp"
#include "gpulab/error.hpp"

namespace fdtd {

/// Any grid; one thread per cell.
template <class T> __global__ void update_u(const __grid_constant__ View<T> g, FieldPointers<T> f, int step) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const int j = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= g.rules.nx || j >= g.rules.ny) return;
    const std::size_t at = std::size_t(j) * g.rules.pitch + i;
    const bool layer = in_layer(g, i, j);
    T v = layer ? f.v[at] : T(0);
    // EXERCISE update
    //| // TODO: U one time step later, by next_u(), from the four edges of the cell.
    //| (void)step;
    //| const T u = f.u[at];
    const T u = next_u(g, i, j, f.u[at], v, f.p[at], f.p[at + g.rules.pitch], f.q[at], f.q[at + 1], step);
    f.u[at] = u;
    // END EXERCISE
    if (layer) f.v[at] = v;
    record(g, i, j, u, step);
}

/// Any grid; one thread per cell. P in row 0 and Q in column 0 are border edges and stay.
template <class T> __global__ void update_edges(const __grid_constant__ View<T> g, FieldPointers<T> f, int step) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const int j = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= g.rules.nx || j >= g.rules.ny) return;
    const std::size_t at = std::size_t(j) * g.rules.pitch + i;
    const T u = f.u[at];
    // EXERCISE update
    //| // TODO: P on the lower edge and Q on the left edge, by next_p() and next_q(). Edges on the border stay.
    //| (void)u, (void)step;
    if (j > 0) f.p[at] = next_p(g, i, j, f.p[at], u, f.u[at - g.rules.pitch], step);
    if (i > 0) f.q[at] = next_q(g, i, j, f.q[at], u, f.u[at - 1], step);
    // END EXERCISE
}

namespace {

template <class T> void two_kernels(const Problem<T>& p, Output<T>& out, Stopwatch& watch, dim3 block) {
    if (block.x * block.y > 1024) throw gpulab::Unsupported("a block has at most 1024 threads");
    const dim3 grid(gpulab::grid_size(p.nx(), block.x), gpulab::grid_size(p.ny(), block.y));
    watch.tile(block.x, "nx"), watch.tile(block.y, "ny");
    run_in_place(p, out, watch, [&](cudaStream_t stream, const View<T>& g, FieldPointers<T> field) {
        for (int step = 0; step < p.rules.steps; ++step) {
            update_u<<<grid, block, 0, stream>>>(g, field, step);
            update_edges<<<grid, block, 0, stream>>>(g, field, step);
        }
    });
}

} // namespace

template <class T> void cuda_coalesced(const Problem<T>& p, Output<T>& out, Stopwatch& watch) {
    two_kernels(p, out, watch, dim3(32, 8));
}

template <class T> void cuda_block_shape(const Problem<T>& p, Output<T>& out, Stopwatch& watch) {
    two_kernels(p, out, watch, dim3(p.block_x, p.block_y));
}

template void cuda_coalesced(const Problem<float>&, Output<float>&, Stopwatch&);
template void cuda_coalesced(const Problem<double>&, Output<double>&, Stopwatch&);
template void cuda_block_shape(const Problem<float>&, Output<float>&, Stopwatch&);
template void cuda_block_shape(const Problem<double>&, Output<double>&, Stopwatch&);

} // namespace fdtd
