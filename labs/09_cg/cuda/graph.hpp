/// @file
/// A CUDA graph: a list of kernels with their arguments, which one call launches.
#pragma once

#include <utility>

#include "gpulab/cuda/check.hpp"

namespace cg {

/// Iterations in a graph.
inline constexpr std::size_t graph_iterations = 16;

/// A recorded list of kernels.
class Graph {
public:
    /// What is put into the stream from now on is recorded ("captured") and does not run, until Graph(stream).
    static void record(cudaStream_t stream) {
        CUDA_CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
    }
    /// @param recorded the stream of record(); the graph can be launched in any stream of its device
    explicit Graph(cudaStream_t recorded) {
        cudaGraph_t graph = nullptr;
        CUDA_CHECK(cudaStreamEndCapture(recorded, &graph));
        const cudaError_t made = cudaGraphInstantiate(&executable_, graph, 0);
        cudaGraphDestroy(graph);
        CUDA_CHECK(made);
    }
    Graph(Graph&& other) noexcept : executable_(std::exchange(other.executable_, nullptr)) {}
    Graph& operator=(Graph&&) = delete;
    ~Graph() {
        if (executable_) cudaGraphExecDestroy(executable_);
    }
    void launch(cudaStream_t stream) const { CUDA_CHECK(cudaGraphLaunch(executable_, stream)); }

private:
    cudaGraphExec_t executable_ = nullptr;
};

} // namespace cg
