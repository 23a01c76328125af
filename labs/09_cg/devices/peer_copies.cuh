/// @file
/// Peer copies: cudaMemcpyPeerAsync copies halo and sums from GPU to GPU, over NVLink where there is one.
///
/// An *event* marks a point in a stream. A stream can wait for an event of another GPU; the GPUs wait for each other in
/// no other way, and the host waits for none of these exchanges. The halo travels in a stream of its own, beside the
/// inner rows:
///
///     stream of part 0   | pack |packed| inner rows        |wait for sent of 1| border rows | ...
///     copies of part 0          |wait  | halo to 1 |sent|
///
/// Nothing is overwritten too early. A part packs again only after it has received r . r of every part, which a part
/// sends after its border rows. A slot, where a part's share of a sum lies (Slots), is written
/// again only after its reader has sent a later sum.
#pragma once

#include "../cuda/gpu_parts.cuh"

namespace cg {

/// All parts, on the GPUs of one process.
template <class T> class PeerCopies : public GpuParts<T, Slots> {
public:
    using Gpu = GpuPart<T, Slots>;

    PeerCopies(const Problem<T>& problem, const std::vector<Part<T>>& parts, const std::vector<int>& devices)
        : GpuParts<T, Slots>(problem, parts, {.devices = devices, .parts = static_cast<unsigned>(parts.size())}) {
        for (const int device : devices)
            for (const int other : devices) reach(device, other); // where that cannot be, copies go through the host
        this->each([&](Gpu&) { transfers_.emplace_back(); });
    }

    void send_halo() {
        this->each([&](Gpu& g) {
            if (g.part.send.empty()) return;
            Transfer& mine = transfers_[g.me];
            this->pack(g);
            mine.packed.record(g.stream);
            CUDA_CHECK(cudaStreamWaitEvent(mine.copies, mine.packed, 0));
            for (const auto& link : g.part.sends) {
                Gpu& other = (*this)[link.part];
                g.trace.begin("copy", mine.copies, "halo", '>');
                // EXERCISE halo
                //| // TODO: copy the piece `link` of g.send to its place in the halo of `other`, in the stream
                //| // mine.copies. The halo lies behind the own elements of p.
                //| (void)other;
                CUDA_CHECK(cudaMemcpyPeerAsync(other.p.data() + other.rows + link.place, other.device,
                                               g.send.data() + link.begin, g.device, link.count * sizeof(T),
                                               mine.copies));
                // END EXERCISE
                g.trace.end(mine.copies);
            }
            mine.sent.record(mine.copies);
        });
    }
    void receive_halo() {
        this->each([&](Gpu& g) {
            // EXERCISE halo
            //| // TODO: the kernels that follow in g.stream wait for the copies of every part that sends to this one.
            //| (void)g;
            for (const auto& link : g.part.receives)
                CUDA_CHECK(cudaStreamWaitEvent(g.stream, transfers_[link.part].sent, 0));
            // END EXERCISE
        });
    }
    bool share_pq() {
        share(&Gpu::pq, 1);
        return true;
    }
    void share_residual() { share(&Gpu::residual, 2); }

private:
    /// Copies every part's share of a sum into its slot on all others, and lets the kernels that follow wait for all
    /// shares.
    void share(gpulab::DeviceBuffer<double> Gpu::*slots, std::size_t numbers) {
        this->each([&](Gpu& g) {
            const std::size_t at = numbers * g.me;
            for (std::size_t to = 0; to < transfers_.size(); ++to) {
                Gpu& other = (*this)[to];
                if (&other == &g) continue;
                g.trace.begin("copy", g.stream, "sum", '>');
                CUDA_CHECK(cudaMemcpyPeerAsync((other.*slots).data() + at, other.device, (g.*slots).data() + at,
                                               g.device, numbers * sizeof(double), g.stream));
                g.trace.end(g.stream);
            }
            transfers_[g.me].shared.record(g.stream);
        });
        this->each([&](Gpu& g) {
            for (std::size_t from = 0; from < transfers_.size(); ++from)
                if (from != g.me) CUDA_CHECK(cudaStreamWaitEvent(g.stream, transfers_[from].shared, 0));
        });
    }

    /// What a part needs for its copies, made while its device is current.
    struct Transfer {
        gpulab::Stream copies;
        gpulab::Event packed{cudaEventDisableTiming}, sent{cudaEventDisableTiming}, shared{cudaEventDisableTiming};
    };
    std::vector<Transfer> transfers_; // of every part
};

} // namespace cg
