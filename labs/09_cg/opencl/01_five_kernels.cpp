// OpenCL rung 1: the five kernels of the thesis on one device.
//
// An iteration is six kernels: matrix times vector, dot product, next x, next r, dot product, next p. The scalars alpha
// and beta are computed on the host: each work-group of a dot product leaves a partial sum, the host reads them and
// adds them up (in double), and gives alpha or beta to the next kernels as an argument. The number of groups is as
// small as can be: one per compute unit. Every work-item strides over the vector in steps of the whole grid. The host
// puts the kernels into a *queue*; commands of one queue run in order. part.hpp has the buffers and puts the kernels
// into the queue.
//
// Limit: too few work-items to hide the latency of memory; and twice per iteration the device waits for the host.
#include "solve.hpp"

namespace cg {

template <class T> void opencl_five_kernels(const Problem<T>& problem, Output<T>& out, Stopwatch& watch) {
    const Part<T> all = make_part(problem.matrix, Split{{0, problem.n()}}, 0);
    ClPart<T> device(gpulab::opencl(), problem, all, false);
    solve_on_one_device(device, problem, out, watch);
}

INSTANTIATE_RUNG(opencl_five_kernels);

} // namespace cg
