/// @file
/// A CUDA graph; rung 4 says what that is.
#pragma once

#include <cstddef>

#include "gpulab/cuda/stream.hpp"

namespace cg {

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

} // namespace cg
