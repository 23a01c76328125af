// CUDA rung 8: several GPUs that write into each other's memory.
//
// Changed: how halo and sums travel. In rung 7 a sum goes through a copy and two events, which cost more than ten
// microseconds each time. Here a kernel stores its share into the memory of every other GPU, through an ordinary
// pointer, and then a *flag*, the number of the iteration. The kernel that needs the sum waits until all flags
// in its own memory have that number (devices/stores.cuh and devices/flags.cuh).
//
// Needs GPUs that reach each other's memory (NVLink, or PCIe in some computers).
// Limit: memory; and two waits between GPUs in every iteration, each about as long as a store takes to arrive. The
// third, for the halo, is hidden by the inner rows.
#include "../devices/stores.cuh"
#include "several_gpus.cuh"

namespace cg {

template <class T> void cuda_devices_stores(const Problem<T>& problem, Output<T>& out, Stopwatch& watch) {
    solve_on_gpus<Stores<T>>(problem, out, watch);
}

INSTANTIATE_RUNG(cuda_devices_stores);

} // namespace cg
