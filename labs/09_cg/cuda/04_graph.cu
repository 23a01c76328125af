// CUDA rung 4: sixteen iterations as one CUDA graph.
//
// Changed: only how the three kernels of rung 3 (02_fused.cu) are launched. A *graph* is a list of kernels with their
// arguments, recorded once ("captured" from a stream), made into an executable one ("instantiated") and then launched
// with a single call (graph.hpp); the device goes from kernel to kernel by itself. That works because the host decides
// nothing between the kernels: alpha, beta and the decision to stop are on the device, and the kernels have the same
// arguments in every iteration.
//
// Limit: memory; for small systems the start and the end of three kernels per iteration. Up to 31 iterations are
// launched after the end; their kernels return at once.
#define CG_FUSED_INCLUDED
#include "02_fused.cu"
#include "gpulab/cuda/stream.hpp"
#include "graph.hpp"
#include "sliced.cuh"

namespace cg {

template <class T> void cuda_graph(const Problem<T>& problem, Output<T>& out, Stopwatch& watch) {
    Fused<T, DeviceSliced<T>> system(problem);
    const gpulab::Stream recorder; // only for recording: the graph can be launched in any stream
    Graph::record(recorder);
    for (std::size_t k = 0; k < graph_iterations; ++k) system.iterate(recorder);
    const Graph graph(recorder); // it keeps the addresses of system's arrays
    system.solve(out, watch, [&](cudaStream_t stream, std::size_t /*left*/) {
        graph.launch(stream); // always 16: once State::stop is set, its kernels return at once
        return graph_iterations;
    });
}

INSTANTIATE_RUNG(cuda_graph);

} // namespace cg
