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
    /// @param parts number of all parts @param my_number that of this one
    /// @param rounds blocks of inner_kernel per block that can run at a time. With more than one round, a kernel of a
    ///        stream with high priority can start when a block ends
    GpuPart(int number, cudaStream_t its_stream, const Problem<T>& problem, const Part<T>& own, unsigned parts,
            unsigned my_number, unsigned rounds)
        : DeviceVectors<T>(piece(problem.b, own), piece(problem.start, own), piece(problem.inverse_diagonal, own),
                           own.halo.size()),
          device(number), me(my_number), stream(its_stream), part(own), rows(own.rows()), matrix(own.matrix),
          which(own.send), send(which.size()), pq(parts), residual(2 * parts), state(problem.limit),
          pack_blocks(std::min(gpulab::grid_size(which.size(), block_threads), 1024u)),
          inner_blocks(std::min(rounds * gpulab::resident_blocks(inner_kernel<T>, block_threads),
                                gpulab::grid_size(own.inner_rows(), block_threads))),
          border_blocks(blocks_for(border_kernel<T, Exchange>, rows - own.inner_rows())),
          residual_blocks(blocks_for(part_residual_kernel<T, Exchange>, rows)),
          next_blocks(blocks_for(part_next_kernel<T, Exchange>, rows)), partial(partial_sums()) {
        exchange.pq = pq.data(), exchange.residual = residual.data(), exchange.parts = parts, exchange.me = me;
    }

    /// That of the next kernel: every kernel goes in the direction opposite to the one before, as in rung 5.
    Sweep next_sweep(std::size_t its_rows) {
        backward = !backward;
        return {its_rows, backward};
    }
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
    unsigned me;
    cudaStream_t stream;
    const Part<T>& part;
    std::size_t rows;
    DeviceSliced<T> matrix;
    gpulab::DeviceBuffer<int> which;           ///< part.send on the device
    gpulab::DeviceBuffer<T> send;              ///< these elements of p, packed
    gpulab::DeviceBuffer<double> pq, residual; ///< shares of the sums, of all parts
    DeviceState state;
    unsigned pack_blocks, inner_blocks, border_blocks, residual_blocks, next_blocks;
    gpulab::DeviceBuffer<double> partial;
    Exchange exchange{};
    bool backward = false; ///< the direction of the last kernel
    GpuTrace trace;
};

} // namespace cg
