/// @file
/// The operations of devices/iterate.hpp on GPUs: each launches a kernel on every part. The scalars are on the devices,
/// and the host only puts commands into streams.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <vector>

#include "../devices/iterate.hpp"
#include "part.cuh"

namespace cg {

/// Lets a device reach the memory of another, and makes it current. @return false when the hardware cannot
inline bool reach(int device, int other) {
    if (device == other) return true;
    int can = 0;
    CUDA_CHECK(cudaDeviceCanAccessPeer(&can, device, other));
    if (!can) return false;
    CUDA_CHECK(cudaSetDevice(device));
    const cudaError_t error = cudaDeviceEnablePeerAccess(other, 0);
    if (error != cudaErrorPeerAccessAlreadyEnabled) CUDA_CHECK(error);
    else cudaGetLastError(); // clear the error
    return true;
}

/// The parts of this process: all of them, or that of a rank.
/// @tparam Exchange Slots or FlaggedSlots
template <class T, class Exchange> class GpuParts {
public:
    using Gpu = GpuPart<T, Exchange>;

    /// @param devices of every part; parts may share one
    /// @param stream_per_device parts on the same device use one stream; else every part has its own
    GpuParts(const Problem<T>& problem, std::span<const Part<T>> parts, const std::vector<int>& devices,
             bool stream_per_device = false) {
        for (std::size_t i = 0; i < parts.size(); ++i) {
            CUDA_CHECK(cudaSetDevice(devices[i]));
            const gpulab::Stream& stream =
                streams_.try_emplace(stream_per_device ? devices[i] : static_cast<int>(i)).first->second;
            gpus_.push_back(std::make_unique<Gpu>(devices[i], stream, problem, parts[i]));
        }
        CUDA_CHECK(cudaSetDevice(devices.front()));
    }

    void reset() {
        each([](Gpu& g) { g.reset(); });
    }
    void clear() {
        each([](Gpu& g) { g.state.clear(g.stream); });
    }
    void first_r() { residual(true); }
    void first_p() { next(true); }
    void multiply_inner() {
        each("spmv", "inner rows", [](Gpu& g) {
            inner_kernel<<<g.inner_blocks, block_threads, 0, g.stream>>>(g.matrix.view(), g.inner_rows(), g.p.data(),
                                                                         g.q.data(), g.partial.data(), g.state.data());
        });
    }
    void multiply_border() {
        each("spmv", "border rows", [](Gpu& g) {
            border_kernel<<<g.border_blocks, block_threads, 0, g.stream>>>(g.matrix.view(), g.inner_rows(), g.p.data(),
                                                                           g.q.data(), g.partial.data(), g.inner_blocks,
                                                                           g.exchange, g.state.data());
        });
    }
    void next_r() { residual(false); }
    void next_p() { next(false); }

    /// q = A p, once, with whatever the halo holds: to be timed.
    void multiply() {
        clear();
        multiply_inner();
        multiply_border();
        synchronize();
    }

    /// Calls body(part) for every part, with its device current: kernels, streams and memory belong to the current one.
    /// Afterwards that of the first part is current again.
    template <class Body> void each(const Body& body) {
        for (const auto& g : gpus_) {
            CUDA_CHECK(cudaSetDevice(g->device));
            body(*g);
            CUDA_CHECK_LAUNCH();
        }
        CUDA_CHECK(cudaSetDevice(gpus_.front()->device));
    }
    /// The elements of x of the parts of this process, one part behind the other; the history and the end.
    /// @throws gpulab::WrongResult unless all parts have the same, to the last bit
    void result(Output<T>& out) {
        const std::size_t begin = gpus_.front()->part.first, end = gpus_.back()->part.first + gpus_.back()->rows;
        out.x.resize(end - begin);
        each([&](Gpu& g) {
            Output<T> own;
            g.result(std::span<T>(out.x).subspan(g.part.first - begin, g.rows), own);
            if (&g == gpus_.front().get()) {
                out.history = own.history;
                out.end = own.end;
                out.curvature = own.curvature;
            } else if (!same_bits(out.history, own.history) || out.end != own.end)
                throw gpulab::WrongResult("two GPUs disagree about the residuals");
        });
    }
    /// Waits for an event of a stream.
    void wait(const gpulab::Event& event) const { event.synchronize(); }
    void synchronize() {
        for (const auto& [number, stream] : streams_) stream.synchronize();
    }
    Gpu& operator[](std::size_t part) { return *gpus_[part]; }
    /// Rows that one part can have under way.
    static std::size_t rows_at_a_time() {
        return std::size_t{gpulab::resident_blocks(part_residual_kernel<T, Exchange>, block_threads)} * block_threads;
    }

protected:
    /// The same for a kernel, with its kind and its name in traces. The kinds are those of rung 1, and most of these
    /// kernels do the work of two: spmv computes p . q too, next_r the sums of r, next_x also p.
    template <class Launch> void each(const char* kind, const char* name, const Launch& launch) {
        each([&](Gpu& g) {
            g.trace.begin(kind, g.stream, name);
            launch(g);
            g.trace.end(g.stream);
        });
    }
    /// Collects the elements of p that others need in g.send.
    void pack(Gpu& g) {
        g.trace.begin("pack", g.stream, "collect");
        pack_kernel<<<g.pack_blocks, block_threads, 0, g.stream>>>(g.p.data(), g.which.data(), g.send.data(),
                                                                   g.which.size());
        g.trace.end(g.stream);
    }

private:
    void residual(bool first) {
        each("next_r", "residual", [&](Gpu& g) {
            part_residual_kernel<<<g.residual_blocks, block_threads, 0, g.stream>>>(
                g.q.data(), g.weights(), g.r.data(), g.rows, first, g.partial.data(), g.exchange, g.state.data());
        });
    }
    void next(bool first) {
        each("next_x", "next x and p", [&](Gpu& g) {
            part_next_kernel<<<g.next_blocks, block_threads, 0, g.stream>>>(g.view(), g.rows, first, g.exchange,
                                                                            g.state.data(), g.state.history());
        });
    }

    std::map<int, gpulab::Stream> streams_;
    std::vector<std::unique_ptr<Gpu>> gpus_;
};

/// The whole solution. The host looks at the state of the first part every `batch` iterations; the others decide alike.
/// @param progress called with 0, 1, ... before that iteration is put into the streams
template <class Parts, class Progress> void solve(Parts& parts, std::size_t batch, const Progress& progress) {
    begin(parts);
    std::size_t iteration = 0;
    parts[0].state.until_stopped(
        parts[0].stream,
        [&](std::size_t left) {
            const std::size_t count = std::min(left, batch);
            for (std::size_t k = 0; k < count; ++k) {
                progress(iteration++);
                iterate(parts);
            }
            return count;
        },
        [&](const gpulab::Event& event) { parts.wait(event); });
    parts.synchronize();
}

} // namespace cg
