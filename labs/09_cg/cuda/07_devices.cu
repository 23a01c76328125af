// CUDA rung 7: several GPUs of one computer.
//
// Changed: the rows are shared out over all GPUs, and each of them works as in rung 3. Two things travel between them,
// the halo and the shares of the sums (devices/iterate.hpp draws that), by copies from GPU to GPU, over NVLink where
// there is one. Every GPU adds up the shares of all, so none needs the host for alpha and beta: the host only puts
// commands into streams. With one GPU there are two parts on it. That gains nothing, but everything happens as with
// two.
//
// An *event* marks a point in a stream. A stream can wait for an event of another GPU; the GPUs wait for each other by
// nothing else, and the host waits for none of these exchanges. The halo travels in a stream of its own, beside the
// inner rows:
//
//     stream of part 0    | pack |packed_| inner rows      |wait for sent_ of 1| border rows | ...
//     copies_ of part 0          |wait   | halo to 1 |sent_|
//
// Nothing is overwritten too early. A part packs again only after it has received r . r of every part, which a part
// sends after its border rows. A slot, where a part's share of a sum lies (Slots), is written again only after its
// reader has sent a later sum.
//
// Read on in this order: part_kernels.cuh, what a kernel does with one part; devices/slots.cuh, where the shares come
// together; gpu_parts.cuh, who launches the kernels. several_gpus.cuh shares the rows out, and takes the times.
//
// Limit: memory; and two waits between GPUs in every iteration, besides that for the halo, which the inner rows hide.
// They slow down small systems.
#include "../devices/slots.cuh"
#include "several_gpus.cuh"

namespace cg {

/// All parts, on the GPUs of one process.
template <class T> class PeerCopies : public GpuParts<T, Slots> {
public:
    using Gpu = GpuPart<T, Slots>;

    PeerCopies(const Problem<T>& problem, const std::vector<Part<T>>& parts, const std::vector<int>& devices)
        : GpuParts<T, Slots>(problem, parts, devices) {
        for (const int device : devices)
            for (const int other : devices) reach(device, other); // where that cannot be, copies go through the host
        this->each([&](Gpu&) { // a stream and an event belong to the device that is current when they are made
            copies_.emplace_back();
            for (auto* events : {&packed_, &sent_, &shared_}) events->emplace_back(cudaEventDisableTiming);
        });
    }

    void send_halo() {
        this->each([&](Gpu& g) {
            if (g.part.send.empty()) return;
            const cudaStream_t copies = copies_[g.me];
            this->pack(g);
            packed_[g.me].record(g.stream);
            CUDA_CHECK(cudaStreamWaitEvent(copies, packed_[g.me], 0));
            for (const auto& link : g.part.sends) {
                Gpu& other = (*this)[link.part];
                g.trace.begin("copy", copies, "halo", '>');
                // EXERCISE halo
                //| // TODO: copy the piece `link` of g.send to its place in the halo of `other`, in the stream
                //| // `copies`. The halo lies behind the own elements of p.
                //| (void)other;
                CUDA_CHECK(cudaMemcpyPeerAsync(other.p.data() + other.rows + link.place, other.device,
                                               g.send.data() + link.begin, g.device, link.count * sizeof(T), copies));
                // END EXERCISE
                g.trace.end(copies);
            }
            sent_[g.me].record(copies);
        });
    }
    void receive_halo() {
        this->each([&](Gpu& g) {
            // EXERCISE halo
            //| // TODO: the kernels that follow in g.stream wait for the copies of every part that sends to this one.
            //| (void)g;
            for (const auto& link : g.part.receives) CUDA_CHECK(cudaStreamWaitEvent(g.stream, sent_[link.part], 0));
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
            for (std::size_t to = 0; to < shared_.size(); ++to) {
                Gpu& other = (*this)[to];
                if (&other == &g) continue;
                g.trace.begin("copy", g.stream, "sum", '>');
                CUDA_CHECK(cudaMemcpyPeerAsync((other.*slots).data() + at, other.device, (g.*slots).data() + at,
                                               g.device, numbers * sizeof(double), g.stream));
                g.trace.end(g.stream);
            }
            shared_[g.me].record(g.stream);
        });
        this->each([&](Gpu& g) {
            for (std::size_t from = 0; from < shared_.size(); ++from)
                if (from != g.me) CUDA_CHECK(cudaStreamWaitEvent(g.stream, shared_[from], 0));
        });
    }

    std::vector<gpulab::Stream> copies_;                // of every part
    std::vector<gpulab::Event> packed_, sent_, shared_; // of every part
};

/// One iteration: devices/iterate.hpp has it for every transport, and here it is for this one. What is launched after
/// the end returns at once.
template <class T> bool iterate(PeerCopies<T>& gpus) {
    gpus.send_halo();
    gpus.multiply_inner(); // 1: q = A p in the rows that need no halo, while it travels
    gpus.receive_halo();
    gpus.multiply_border(); // 1 in the other rows; 2: the shares of p . q
    gpus.share_pq();
    gpus.next_r(); // 3: alpha; 5: r -= alpha q; 6: the shares of r . r and r . z
    gpus.share_residual();
    gpus.next_p(); // 7: beta; 4: x += alpha p; 8: p = z + beta p
    return true;
}

template <class T> void cuda_devices(const Problem<T>& problem, Output<T>& out, Stopwatch& watch) {
    solve_on_gpus<PeerCopies<T>>(problem, out, watch);
}

INSTANTIATE_RUNG(cuda_devices);

} // namespace cg
