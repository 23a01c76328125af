// CUDA rung 3: the kernels of rung 2 on a matrix in slices.
//
// Changed: the storage of the matrix only. Every 32 rows, those of one warp, form a slice: padded to the longest row
// among them, and stored column by column. So the 32 threads of a warp read 32 neighbouring numbers in every step
// (SELL: Kreutzer and others, SIAM J. Sci. Comput. 36, 2014), and there is one offset for 32 rows instead of one for
// each. ELL (lab 04) pads all rows to the longest of the whole matrix; here one long row lengthens its own slice only.
//
// Limit: memory; for small systems the launches.
#define CG_FUSED_INCLUDED
#include "02_fused.cu"
#include "sliced.cuh"

namespace cg {

template <class T> void cuda_sliced(const Problem<T>& problem, Output<T>& out, Stopwatch& watch) {
    Fused<T, DeviceSliced<T>> system(problem);
    system.solve(out, watch, [&](cudaStream_t stream, std::size_t left) { return system.launch(stream, left); });
}

INSTANTIATE_RUNG(cuda_sliced);

} // namespace cg
