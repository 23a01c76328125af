/// @file
/// One GPU's part of a system: its memory, and how many blocks each kernel gets.
#pragma once

#include "device.hpp"
#include "gpu_trace.hpp"
#include "part_kernels.cuh"
#include "split.hpp"

namespace cg {

/// A part in the memory of the current device. Every part has a state of its own; all compute the same scalars.
template <class T, class Link> struct GpuPart {
    /// @param parts number of all parts @param me number of this one
    /// @param rounds blocks of inner_kernel per block that can run at a time. With more than one round, a kernel of a
    ///        stream with high priority can start when a block ends
    GpuPart(int number, cudaStream_t its_stream, const Problem<T>& problem, const Part<T>& own, unsigned parts,
            unsigned me, unsigned rounds)
        : device(number), stream(its_stream), part(own), rows(own.rows()), jacobi(problem.jacobi()), matrix(own.matrix),
          b(piece(problem.b, own)), start(piece(problem.start, own)),
          inverse(jacobi ? piece(problem.inverse_diagonal, own) : std::vector<T>()), which(own.send), x(rows), r(rows),
          q(rows), p(own.p_size()), send(which.size()), pq(parts), residual(2 * parts), state(problem.limit),
          first_blocks(blocks_for(first_residual_kernel<T, Link>, rows)),
          pack_blocks(std::min(gpulab::grid_size(which.size(), block_threads), 1024u)),
          inner_blocks(std::min(rounds * gpulab::resident_blocks(inner_kernel<T>, block_threads),
                                gpulab::grid_size(own.inner_end - own.inner_begin, block_threads))),
          border_blocks(blocks_for(border_kernel<T, Link>, rows - (own.inner_end - own.inner_begin))),
          residual_blocks(blocks_for(part_residual_kernel<T, Link>, rows)),
          next_blocks(blocks_for(part_next_kernel<T, Link>, rows)), partial(partial_sums()) {
        link.pq = pq.data(), link.residual = residual.data(), link.parts = parts, link.me = me;
    }

    /// 1 / a_ii, or null without Jacobi.
    const T* weights() const { return jacobi ? inverse.data() : nullptr; }
    /// One number per block of the product, or two per block of the other kernels.
    std::size_t partial_sums() const {
        return std::max(inner_blocks + border_blocks, 2 * std::max(first_blocks, residual_blocks));
    }

    /// Poisons all results, and puts the start into place: x = p = x_0, r = b. For p these are the part's own elements;
    /// the halo comes from others.
    void reset() {
        gpulab::poisoning(x, r, q, p, send, pq, residual, partial)(stream);
        state.poison(stream);
        const auto copy = [&](gpulab::DeviceBuffer<T>& to, const gpulab::DeviceBuffer<T>& from) {
            CUDA_CHECK(cudaMemcpyAsync(to.data(), from.data(), from.bytes(), cudaMemcpyDeviceToDevice, stream));
        };
        copy(x, start), copy(p, start), copy(r, b);
        CUDA_CHECK(cudaStreamSynchronize(stream)); // before others write here
    }
    /// Copies out this part's elements of x, the history and the end, and checks all guard bands.
    void result(std::span<T> own_x, Output<T>& out) const {
        x.copy_to(own_x);
        for (const gpulab::DeviceBuffer<T>* v : {&r, &q, &p, &send}) v->check_guard_bands();
        for (const gpulab::DeviceBuffer<double>* v : {&pq, &residual, &partial}) v->check_guard_bands();
        state.result(out);
    }

    int device;
    cudaStream_t stream;
    const Part<T>& part;
    std::size_t rows;
    bool jacobi;
    DeviceSliced<T> matrix;
    gpulab::DeviceBuffer<T> b, start, inverse;
    gpulab::DeviceBuffer<int> which;
    gpulab::DeviceBuffer<T> x, r, q, p, send;
    gpulab::DeviceBuffer<double> pq, residual; ///< shares of the sums, of all parts
    DeviceState state;
    unsigned first_blocks, pack_blocks, inner_blocks, border_blocks, residual_blocks, next_blocks;
    gpulab::DeviceBuffer<double> partial;
    Link link{};
    GpuTrace trace;
};

} // namespace cg
