// CUDA rung 4: sixteen iterations as one CUDA graph.
//
// Changed: only how the three kernels of rung 3 (02_fused.cu) are launched. A *graph* is a list of kernels with their
// arguments, recorded once ("captured" from a stream), made into an executable one ("instantiated") and then launched
// with a single call; the device goes from kernel to kernel by itself. That works because the host decides nothing
// between the kernels: alpha, beta and the decision to stop are on the device, and the kernels have the same arguments
// in every iteration.
//
// Limit: memory; for small systems the start and the end of three kernels per iteration. Up to 31 iterations are
// launched after the end; their kernels return at once.
#define CG_FUSED_INCLUDED
#include "02_fused.cu"
#include "gpulab/cuda/stream.hpp"
#include "sliced.cuh"

namespace cg {

namespace {

/// Iterations in a graph.
inline constexpr std::size_t graph_iterations = 16;

/// A recorded list of kernels.
class Graph {
public:
    /// @param record `record(stream)` puts kernels into a stream; they are recorded and do not run
    template <class Record> explicit Graph(const Record& record) {
        const gpulab::Stream stream; // only for recording: the graph can be launched in any stream
        cudaGraph_t graph = nullptr;
        CUDA_CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
        record(static_cast<cudaStream_t>(stream));
        CUDA_CHECK(cudaStreamEndCapture(stream, &graph));
        const cudaError_t made = cudaGraphInstantiate(&executable_, graph, 0);
        cudaGraphDestroy(graph);
        CUDA_CHECK(made);
    }
    ~Graph() {
        if (executable_) cudaGraphExecDestroy(executable_);
    }
    Graph(const Graph&) = delete;
    Graph& operator=(const Graph&) = delete;
    void launch(cudaStream_t stream) const { CUDA_CHECK(cudaGraphLaunch(executable_, stream)); }

private:
    cudaGraphExec_t executable_ = nullptr;
};

} // namespace

template <class T> void cuda_graph(const Problem<T>& problem, Output<T>& out, Stopwatch& watch) {
    Fused<T, DeviceSliced<T>> system(problem);
    const Graph graph([&](cudaStream_t stream) { // it keeps the addresses of system's arrays
        for (std::size_t k = 0; k < graph_iterations; ++k) system.iterate(stream);
    });
    system.solve(out, watch, [&](cudaStream_t stream, std::size_t /*left*/) {
        graph.launch(stream); // always 16: once State::stop is set, its kernels return at once
        return graph_iterations;
    });
}

INSTANTIATE_RUNG(cuda_graph);

} // namespace cg
