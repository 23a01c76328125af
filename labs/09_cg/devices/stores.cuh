/// @file
/// Stores: a kernel writes halo and sums into the memory of another GPU through an ordinary pointer, and the kernel
/// that needs them waits for a flag (flags.cuh).
///
///     kernel of a part            what it stores in the other parts   the kernel that waits for it
///     send_kernel                 elements of p, then halo flag       product_with_halo_kernel, before the border rows
///     product_with_halo_kernel    share of p . q, then its flag       part_residual_kernel
///     part_residual_kernel        r . r and r . z, then their flag    part_next_kernel
///
/// So multiply_inner(), receive_halo(), share_pq() and share_residual() are empty: the kernels above do this
/// themselves. The product is one kernel, in which only a thread that reaches the border rows waits for the halo.
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
template <class T> class Stores : public GpuParts<T, FlaggedSlots> {
public:
    using Gpu = GpuPart<T, FlaggedSlots>;

    Stores(const Problem<T>& problem, const std::vector<Part<T>>& parts, const std::vector<int>& devices)
        : GpuParts<T, FlaggedSlots>(
              problem, parts,
              {.devices = devices, .parts = static_cast<unsigned>(parts.size()), .stream_per_device = true}) {
        for (const int device : devices)
            for (const int other : devices)
                if (!reach(device, other))
                    throw gpulab::Unsupported("cuda:" + std::to_string(device) +
                                              " cannot write into the memory of cuda:" + std::to_string(other));
        std::vector<Inbox> inboxes;
        this->each([&](Gpu& g) {
            flags_.emplace_back(3 * parts.size());
            inboxes.push_back({g.pq.data(), g.residual.data(), flags_.back().data()});
        });
        this->each([&](Gpu& g) {
            std::vector<T*> where(g.part.send.size());
            for (const auto& link : g.part.sends) {
                Gpu& to = (*this)[link.part];
                for (std::size_t k = 0; k < link.count; ++k)
                    where[link.begin + k] = to.p.data() + to.rows + link.place + k;
            }
            where_.emplace_back(where);
            inboxes_.emplace_back(inboxes);
            g.exchange.inboxes = inboxes_.back().data(), g.exchange.flags = inboxes[g.me].flags;
            g.pack_blocks = blocks_for(send_kernel<T>, g.which.size());
            g.inner_blocks = blocks_for(product_with_halo_kernel<T, FlaggedSlots>, g.rows), g.border_blocks = 0;
            g.partial = gpulab::DeviceBuffer<double>(g.partial_sums());
        });
    }

    void reset() {
        this->each([&](Gpu& g) {
            g.exchange.step = 0;
            CUDA_CHECK(cudaMemsetAsync(g.exchange.flags, 0, flags_[g.me].bytes(), g.stream));
        });
        GpuParts<T, FlaggedSlots>::reset();
    }
    void send_halo() {
        this->each([&](Gpu& g) {
            ++g.exchange.step;
            g.trace.begin("pack", g.stream, "send", '>');
            send_kernel<<<g.pack_blocks, block_threads, 0, g.stream>>>(g.p.data(), g.which.data(), where_[g.me].data(),
                                                                       g.which.size(), g.exchange, g.state.data());
            g.trace.end(g.stream);
        });
    }
    void receive_halo() {}
    void multiply_inner() {}
    void multiply_border() {
        this->each("spmv", "product", [](Gpu& g) {
            product_with_halo_kernel<<<g.inner_blocks, block_threads, 0, g.stream>>>(
                g.matrix.view(), g.part.inner_begin, g.part.inner_end, g.p.data(), g.q.data(), g.partial.data(),
                g.exchange, g.state.data());
        });
    }
    bool share_pq() { return true; }
    void share_residual() {}
    void result(Output<T>& out) {
        GpuParts<T, FlaggedSlots>::result(out);
        for (const auto& flags : flags_) flags.check_guard_bands();
    }

private:
    // Of every part: its flags, the inboxes of all parts, and where each element that it sends goes.
    std::vector<gpulab::DeviceBuffer<unsigned>> flags_;
    std::vector<gpulab::DeviceBuffer<Inbox>> inboxes_;
    std::vector<gpulab::DeviceBuffer<T*>> where_;
};

} // namespace cg
