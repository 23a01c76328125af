// CUDA rung 5: every kernel goes through the rows in the direction opposite to the kernel before.
//
// Changed: the order of the rows, and nothing else. In rung 4 every kernel begins with row 0. When it reads a vector
// that the kernel before has written, the L2 cache holds that vector's end, and the beginning has long been replaced:
//
//     product    q  ---------------------->      residual kernel  q  ---------------------->   reads q from memory
//     product    q  ---------------------->      residual kernel  q  <----------------------   reads q's end from L2
//
// Three vectors may gain: q in the residual kernel, r in the kernel of x and p, and p in the next product. There are
// three kernels in an iteration, so every kernel changes its direction from one iteration to the next.
//
// Limit: memory. On an H100 this gains a few percent for large systems, and loses as much for those whose vectors
// nearly fit into the cache anyway (MEASURED.md).
#include "fused.cuh"
#include "graph.hpp"
#include "sliced.cuh"

namespace cg {

template <class T> void cuda_back_and_forth(const Problem<T>& problem, Output<T>& out, Stopwatch& watch) {
    Fused<T, DeviceSliced<T>> system(problem, /*back_and_forth=*/true);
    const Graph graph([&](cudaStream_t stream) {
        for (std::size_t k = 0; k < graph_iterations; ++k) system.iterate(stream);
    });
    system.solve(out, watch, [&](cudaStream_t stream, std::size_t /*left*/) {
        graph.launch(stream);
        return graph_iterations;
    });
}

INSTANTIATE_RUNG(cuda_back_and_forth);

} // namespace cg
