// Rung 5: everything that a scene may have. (Alfaro Vigo & Rossetto, section 4.2.1, exercises 4.3 and 4.4)
//
// Changed: both modes, media, absorbing layers, all boundaries, any number of sources, and probes. rules.hpp introduces
// what such a problem consists of; yee.cuh computes one number of a cell; the two kernels, again one for U and one for
// P and Q, are in one_step.cuh, because cuda_steps uses them, too. Blocks have block_x x block_y threads, as in
// cuda_block_shape, so the book's table 4.1 can be measured with layers.
// Limit: memory: 72 bytes per cell and step, as in cuda_coalesced, and a little more in layers.
#include "device.hpp"
#include "one_step.cuh"

namespace fdtd {

template <class T> void cuda_scene(const Problem<T>& p, Output<T>& out, Stopwatch& watch) {
    run_in_place(p, out, watch,
                 [](cudaStream_t stream, dim3 grid, dim3 block, const View<T>& g, FieldPointers<T> f, int step) {
                     update_u<<<grid, block, 0, stream>>>(g, f, step);
                     update_edges<<<grid, block, 0, stream>>>(g, f, step);
                 });
}

INSTANTIATE_RUNG(cuda_scene);

} // namespace fdtd
