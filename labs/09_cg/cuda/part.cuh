/// @file
/// One GPU's part of a system: its memory, and how many blocks each kernel gets.
#pragma once

#include "device.hpp"
#include "gpu_trace.hpp"
#include "part_kernels.cuh"
#include "split.hpp"

namespace cg {

/// A part in the memory of the current device: its vectors, and what else its kernels need. Every part has a state of
/// its own; all compute the same scalars.
template <class T, class Exchange> struct GpuPart : DeviceVectors<T> {
    GpuPart(int its_device, cudaStream_t its_stream, const Problem<T>& problem, const Part<T>& own)
        : DeviceVectors<T>(piece(problem.b, own), piece(problem.start, own), piece(problem.inverse_diagonal, own),
                           own.halo.size()),
          device(its_device), stream(its_stream), part(own), me(static_cast<unsigned>(own.number)), rows(own.rows()),
          matrix(own.matrix), which(own.send), send(which.size()), pq(own.parts), residual(2 * own.parts),
          state(start_state(problem)), pack_blocks(std::min(gpulab::grid_size(which.size(), block_threads), 1024u)),
          inner_blocks(blocks_for(inner_kernel<T>, own.inner_rows())),
          border_blocks(blocks_for(border_kernel<T, Exchange>, rows - own.inner_rows())),
          residual_blocks(blocks_for(part_residual_kernel<T, Exchange>, rows)),
          next_blocks(blocks_for(part_next_kernel<T, Exchange>, rows)), partial(partial_sums()) {
        exchange.pq = pq.data();
        exchange.residual = residual.data();
        exchange.parts = static_cast<unsigned>(own.parts);
        exchange.me = me;
    }

    RowRange inner_rows() const { return {part.inner_begin, part.inner_end}; }
    /// One number per block of the product, or two per block of the other kernels.
    std::size_t partial_sums() const { return std::max(inner_blocks + border_blocks, 2 * residual_blocks); }
    /// Poisons all results, puts the start into place, and waits: before others write here.
    void reset() {
        DeviceVectors<T>::reset(stream);
        gpulab::poisoning(send, pq, residual, partial)(stream);
        state.poison(stream);
        CUDA_CHECK(cudaStreamSynchronize(stream));
    }
    /// Copies out this part's elements of x, the history and the end, and checks all guard bands.
    void result(std::span<T> own_x, Output<T>& out) const {
        this->solution(own_x);
        send.check_guard_bands();
        for (const gpulab::DeviceBuffer<double>* v : {&pq, &residual, &partial}) v->check_guard_bands();
        state.result(out);
    }

    int device;
    cudaStream_t stream;
    const Part<T>& part;
    unsigned me; ///< part.number
    std::size_t rows;
    DeviceSliced<T> matrix;
    gpulab::DeviceBuffer<int> which;           ///< part.send on the device
    gpulab::DeviceBuffer<T> send;              ///< these elements of p, packed
    gpulab::DeviceBuffer<double> pq, residual; ///< shares of the sums, of all parts
    DeviceState state;
    unsigned pack_blocks, inner_blocks, border_blocks, residual_blocks, next_blocks;
    gpulab::DeviceBuffer<double> partial;
    Exchange exchange{}; ///< see part_kernels.cuh
    GpuTrace trace;
};

} // namespace cg
