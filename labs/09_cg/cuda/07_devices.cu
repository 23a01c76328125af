// CUDA rung 7: several GPUs of one computer.
//
// Changed: the rows are shared out over all GPUs, and each of them works as in rung 3. Two things travel between them,
// the halo and the shares of the sums (devices/iterate.hpp has the loop, and draws it), by copies from GPU to GPU
// (devices/peer_copies.cuh). Every GPU adds up the shares of all, so none needs the host for
// alpha and beta: the host only puts commands into streams. With one GPU there are two parts on it. That gains nothing,
// but everything happens as with two.
//
// Read on in this order: devices/iterate.hpp, the loop; part_kernels.cuh, what a kernel does with one part;
// devices/peer_copies.cuh and devices/slots.cuh, what travels; gpu_parts.cuh, who launches the kernels.
// several_gpus.cuh shares the rows out, and takes the times.
//
// Limit: memory; and two waits between GPUs in every iteration, besides that for the halo, which the inner rows hide.
// They slow down small systems.
#include "../devices/peer_copies.cuh"
#include "several_gpus.cuh"

namespace cg {

template <class T> void cuda_devices(const Problem<T>& problem, Output<T>& out, Stopwatch& watch) {
    solve_on_gpus<PeerCopies<T>>(problem, out, watch);
}

INSTANTIATE_RUNG(cuda_devices);

} // namespace cg
