// CUDA rung 6: several GPUs of one computer.
//
// Changed: the rows are shared out over all GPUs, and each of them works as in rung 3. They exchange:
//   - The halo. When p is updated, a kernel collects the elements that others need, and copies bring them into the
//     others' halos (cudaMemcpyPeerAsync: from GPU to GPU, over NVLink where there is one). The copies are in a stream
//     of their own. Meanwhile the inner rows are multiplied; the rows at the border wait for the copies.
//   - The sums. Each GPU writes its share of p . q, and of r . r and r . z, into a slot of every other GPU. Every GPU
//     adds up all slots in the same order. So all of them compute the same alpha and beta to the last bit, and none
//     needs the host.
// A stream of one GPU can wait for an event of another's: nothing else synchronises the GPUs. The host only puts
// commands into the streams.
// With one GPU there are two parts on it. That gains nothing, but everything happens as with two.
//
// Limit: memory; and three waits between GPUs in every iteration, which slow down small systems.
#include "../devices/peer_copies.cuh"
#include "several_gpus.cuh"

namespace cg {

template <class T> void cuda_devices(const Problem<T>& problem, Output<T>& out, Stopwatch& watch) {
    solve_on_gpus<PeerCopies<T>>(problem, out, watch);
}

template void cuda_devices(const Problem<float>&, Output<float>&, Stopwatch&);
template void cuda_devices(const Problem<double>&, Output<double>&, Stopwatch&);

} // namespace cg
