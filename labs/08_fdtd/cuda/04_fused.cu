// Rung 4: U, P and Q in one kernel.
//
// Changed: a block computes U of its cells and keeps it in shared memory, then P and Q from there, so U is not read
// again. U along its lower and left side is computed twice, here and by the neighbour. The new field goes to a second
// set of arrays, and the two sets change places after each step. The kernel is in fused.cuh.
// Limit: memory: 3 numbers read and 3 written, 48 bytes in double instead of 72. And still every number passes
// through memory in every step.
#include "fused.cuh"

namespace fdtd {

template <class T> void cuda_fused(const Problem<T>& p, Output<T>& out, Stopwatch& watch) {
    const dim3 block(fused_x, fused_y), grid = blocks_over(p.rules, fused_x, fused_y);
    watch.tile(fused_x, "nx"), watch.tile(fused_y, "ny");
    run_in_turns(p, out, watch, [&](cudaStream_t stream, const View<T>& g, FieldPointers<T> from, FieldPointers<T> to) {
        for (int step = 0; step < p.rules.steps; ++step) {
            fused_kernel<<<grid, block, 0, stream>>>(g, from, to, step);
            std::swap(from, to);
        }
        return p.rules.steps % 2 == 1;
    });
}

template void cuda_fused(const Problem<float>&, Output<float>&, Stopwatch&);
template void cuda_fused(const Problem<double>&, Output<double>&, Stopwatch&);

} // namespace fdtd
