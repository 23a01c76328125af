/// @file
/// Stores: a kernel writes halo and sums into the memory of another GPU through an ordinary pointer, and the kernel
/// that needs them waits for a flag (flags.cuh).
///
///     kernel of a part            what it stores in the other parts   the kernel that waits for it
///     product_with_halo_kernel    share of p . q, then its flag       part_residual_kernel
///     part_residual_kernel        r . r and r . z, then their flag    part_next_kernel
///     part_next_kernel            elements of p, then halo flag       product_with_halo_kernel, before the border rows
///
/// So send_halo(), receive_halo(), multiply_inner(), share_pq() and share_residual() are empty: the kernels above do
/// this themselves. The product is one kernel, in which only a thread that reaches the border rows waits for the halo.
/// Nothing is overwritten too early: halo and slots are written again in the next iteration only. By then every part
/// that reads them has sent a later sum to the part that writes them.
/// A kernel that waits occupies its device. What it waits for must therefore have been launched before it: parts on one
/// device share a stream, and every operation is launched for all parts before the next one.
#pragma once

#include "../cuda/gpu_parts.cuh"
#include "flags.cuh"

namespace cg {

/// All parts, on GPUs of one process that reach each other's memory.
/// @throws gpulab::Unsupported when two of them do not
template <class T> class Stores : public GpuParts<T, FlaggedSlots<T>> {
public:
    using Gpu = GpuPart<T, FlaggedSlots<T>>;

    Stores(const Problem<T>& problem, const std::vector<Part<T>>& parts, const std::vector<int>& devices)
        : GpuParts<T, FlaggedSlots<T>>(problem, parts, devices, /*stream_per_device=*/true) {
        for (const int device : devices)
            for (const int other : devices)
                if (!reach(device, other))
                    throw gpulab::Unsupported("cuda:" + std::to_string(device) +
                                              " cannot write into the memory of cuda:" + std::to_string(other));
        std::vector<FlaggedSlots<T>> of_parts;
        this->each([&](Gpu& g) {
            unsigned* const flags = flags_.emplace_back(3 * parts.size()).data();
            g.exchange.halo_flags = flags;
            g.exchange.pq_flags = flags + parts.size();
            g.exchange.residual_flags = flags + 2 * parts.size();
            of_parts.push_back(g.exchange);
        });
        this->each([&](Gpu& g) {
            g.exchange.of = slots_.emplace_back(of_parts).data();
            list_copies(g);
            g.inner_blocks = blocks_for(product_with_halo_kernel<T, FlaggedSlots<T>>, g.rows);
            g.border_blocks = 0;
            g.partial = gpulab::DeviceBuffer<double>(g.partial_sums());
            std::vector<T> x_0; // in the halo
            for (const std::int32_t i : g.part.halo) x_0.push_back(problem.start[static_cast<std::size_t>(i)]);
            halos_.emplace_back(x_0);
        });
    }

    void reset() {
        this->each([&](Gpu& g) {
            g.exchange.step = 0;
            CUDA_CHECK(cudaMemsetAsync(flags_[g.me].data(), 0, flags_[g.me].bytes(), g.stream));
        });
        GpuParts<T, FlaggedSlots<T>>::reset();
        this->each([&](Gpu& g) {
            CUDA_CHECK(cudaMemcpyAsync(g.p.data() + g.rows, halos_[g.me].data(), halos_[g.me].bytes(),
                                       cudaMemcpyDeviceToDevice, g.stream));
        });
        this->synchronize();
    }
    void send_halo() {}
    void receive_halo() {}
    void multiply_inner() {}
    void multiply_border() {
        this->each("spmv", "product", [](Gpu& g) {
            ++g.exchange.step;
            product_with_halo_kernel<<<g.inner_blocks, block_threads, 0, g.stream>>>(
                g.matrix.view(), g.inner_rows(), g.p.data(), g.q.data(), g.partial.data(), g.exchange, g.state.data());
        });
    }
    bool share_pq() { return true; }
    void share_residual() {}
    void result(Output<T>& out) {
        GpuParts<T, FlaggedSlots<T>>::result(out);
        for (const auto& flags : flags_) flags.check_guard_bands();
    }

private:
    /// Lists for every border row of a part where other parts have its p.
    void list_copies(Gpu& g) {
        std::vector<std::vector<T*>> copies(g.rows - g.part.inner_rows());
        for (const auto& link : g.part.sends) {
            Gpu& to = (*this)[link.part];
            for (std::size_t k = 0; k < link.count; ++k) {
                const auto i = static_cast<std::size_t>(g.part.send[link.begin + k]);
                copies[i < g.part.inner_begin ? i : i - g.part.inner_rows()].push_back(to.p.data() + to.rows +
                                                                                       link.place + k);
            }
        }
        std::vector<unsigned> first = {0};
        std::vector<T*> all;
        for (const auto& places : copies) {
            all.insert(all.end(), places.begin(), places.end());
            first.push_back(static_cast<unsigned>(all.size()));
        }
        first_copies_.emplace_back(first);
        copies_.emplace_back(all);
        g.exchange.inner_begin = g.part.inner_begin;
        g.exchange.inner_end = g.part.inner_end;
        g.exchange.first_copy = first_copies_.back().data();
        g.exchange.copies = copies_.back().data();
    }

    // Of every part: its flags, where the slots of all parts are, where each border row's p goes, and the halo of x_0.
    std::vector<gpulab::DeviceBuffer<unsigned>> flags_, first_copies_;
    std::vector<gpulab::DeviceBuffer<FlaggedSlots<T>>> slots_;
    std::vector<gpulab::DeviceBuffer<T*>> copies_;
    std::vector<gpulab::DeviceBuffer<T>> halos_;
};

} // namespace cg
