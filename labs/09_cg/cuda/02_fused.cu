// CUDA rung 2: three kernels, and the scalars stay on the device.
//
// Changed: kernels that use the same vectors become one: five kernels become three, each with what it has just read or
// computed in registers. Ten of the fourteen passes over vectors remain. Also, alpha and beta never leave the device:
// the block that ends last adds up the partial sums (lab 02) and writes them where the next kernel finds them. So the
// host need not wait: it launches 16 iterations at a time, and sees in a copy of the state whether the device has
// finished. Iterations that are launched after the end return at once. Kernels in fused.cuh, the state in state.hpp.
//
// Limit: memory, where the loads of CSR with a thread per row are a row apart; for small systems the launches.
#include "csr.cuh"
#include "fused.cuh"

namespace cg {

template <class T> void cuda_fused(const Problem<T>& problem, Output<T>& out, Stopwatch& watch) {
    Fused<T, DeviceCsr<T>> system(problem);
    system.solve(out, watch, [&](cudaStream_t stream, std::size_t left) { return system.launch(stream, left); });
}

INSTANTIATE_RUNG(cuda_fused);

} // namespace cg
