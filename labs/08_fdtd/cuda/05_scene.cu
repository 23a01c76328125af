// Rung 5: everything that a scene may have. (Alfaro Vigo & Rossetto, section 4.2.1, exercises 4.3 and 4.4)
//
// Changed: both modes, media, absorbing layers, all boundaries, any number of sources, and probes. rules.hpp introduces
// what such a problem consists of; yee.cuh computes one number of a cell; the two kernels, again one for U and one for
// P and Q, are in one_step.cuh, because cuda_steps uses them, too. Blocks have block_x x block_y threads, as in
// cuda_block_shape, so the book's table 4.1 can be measured with layers.
// Limit: memory: 72 bytes per cell and step, as in cuda_coalesced, and a little more in layers.
#include "device.hpp"
#include "gpulab/error.hpp"
#include "one_step.cuh"

namespace fdtd {

template <class T> void cuda_scene(const Problem<T>& p, Output<T>& out, Stopwatch& watch) {
    const dim3 block(p.block_x, p.block_y);
    if (block.x * block.y > 1024) throw gpulab::Unsupported("a block has at most 1024 threads");
    const dim3 grid(gpulab::grid_size(p.nx() + 1, block.x), gpulab::grid_size(p.ny() + 1, block.y));
    watch.tile(block.x, "nx"), watch.tile(block.y, "ny");
    DeviceProblem<T> problem(p);
    const FieldBuffers<T> start(p.start);
    FieldBuffers<T> field(p.start);
    gpulab::watch_stream(
        watch,
        [&](cudaStream_t stream) {
            for (int step = 0; step < p.rules.steps; ++step) {
                update_u<<<grid, block, 0, stream>>>(problem.view(), field.pointers(), step);
                update_edges<<<grid, block, 0, stream>>>(problem.view(), field.pointers(), step);
            }
        },
        [&](cudaStream_t stream) { // a fresh start: the steps overwrite it
            copy_async(start, field, stream);
            gpulab::poison(problem.recorded, stream);
        });
    field.copy_to(out.field);
    problem.recorded.copy_to(out.recorded);
}

template void cuda_scene(const Problem<float>&, Output<float>&, Stopwatch&);
template void cuda_scene(const Problem<double>&, Output<double>&, Stopwatch&);

} // namespace fdtd
