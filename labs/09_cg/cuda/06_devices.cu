// CUDA rung 6: several GPUs of one computer.
//
// Changed: the rows are shared out over all GPUs, and each of them works as in rung 3. They exchange:
//   - The halo. When p is updated, a kernel collects the elements that others need, and copies bring them into the
//     others' halos (cudaMemcpyPeerAsync: from GPU to GPU, over NVLink where there is one). The copies are in a stream
//     of their own. Meanwhile the inner rows are multiplied; the rows at the border wait for the copies.
//   - The sums. Each GPU writes its share of p . q, and of r . r and r . z, into a slot of every other GPU. Every GPU
//     adds up all slots in the same order. So all of them compute the same alpha and beta to the last bit, and none
//     needs the host.
// A stream of one GPU can wait for an event of another's: nothing else synchronises the GPUs. The host only puts
// commands into the streams.
// With one GPU there are two parts on it. That gains nothing, but everything happens as with two.
//
// Limit: memory; and three waits between GPUs in every iteration, which slow down small systems.
#include "gpu_parts.hpp"
#include "part.cuh"

namespace cg {

namespace {

/// One GPU's share, and the events that the others wait for. Made while its device is current.
template <class T> struct GpuPart : DevicePart<T> {
    GpuPart(int number, const Problem<T>& problem, const Part<T>& own, std::size_t parts)
        : DevicePart<T>(problem, own, parts), device(number) {}

    int device;
    gpulab::Stream stream, copies;
    gpulab::Event packed{cudaEventDisableTiming}, sent{cudaEventDisableTiming}, shared{cudaEventDisableTiming};
    PartTrace trace;
};

/// All parts, and what they do together. Every function puts commands into the streams of all parts and waits for
/// nothing.
template <class T> class GpuParts {
public:
    GpuParts(const Problem<T>& problem, const std::vector<int>& devices, const std::vector<Part<T>>& parts)
        : rules_(rules_of(problem)), count_(static_cast<unsigned>(parts.size())) {
        for (const int device : devices) // let each device reach the others' memory, where the hardware can
            for (const int other : devices) {
                int can = 0;
                if (device == other) continue;
                CUDA_CHECK(cudaDeviceCanAccessPeer(&can, device, other));
                if (!can) continue; // copies then go through the host
                const OnDevice on(device);
                const cudaError_t error = cudaDeviceEnablePeerAccess(other, 0);
                if (error != cudaErrorPeerAccessAlreadyEnabled) CUDA_CHECK(error);
                else cudaGetLastError(); // clear the error
            }
        for (std::size_t i = 0; i < parts.size(); ++i) {
            const OnDevice on(devices[i]);
            parts_.push_back(std::make_unique<GpuPart<T>>(devices[i], problem, parts[i], parts.size()));
        }
    }

    void reset() {
        each([](GpuPart<T>& part) {
            part.reset(part.stream);
            part.stream.synchronize();
        });
    }

    /// The first residual and direction.
    void begin() {
        each([](GpuPart<T>& part) { part.state.clear(part.stream); });
        send_halo();
        receive_halo();
        each([&](GpuPart<T>& g) {
            g.trace.begin("first residual", "kernel", '#', g.stream);
            first_residual_kernel<<<g.all_blocks, block_threads, 0, g.stream>>>(
                g.matrix.view(), g.b.data(), g.p.data(), g.weights(), g.r.data(), g.partial.data(),
                g.residual_slots.data() + 2 * index(g), g.state.data());
            g.trace.end(g.stream);
        });
        share(&GpuPart<T>::residual_slots, 2);
        next(true);
    }

    /// One iteration.
    void iterate() {
        send_halo();
        each([&](GpuPart<T>& g) {
            g.trace.begin("inner rows", "kernel", '#', g.stream);
            inner_kernel<<<g.inner_blocks, block_threads, 0, g.stream>>>(g.matrix.view(), g.part.inner_begin,
                                                                         g.part.inner_end, g.p.data(), g.q.data(),
                                                                         g.partial.data(), g.state.data());
            g.trace.end(g.stream);
        });
        receive_halo();
        each([&](GpuPart<T>& g) {
            g.trace.begin("border rows", "kernel", '#', g.stream);
            border_kernel<<<g.border_blocks, block_threads, 0, g.stream>>>(
                g.matrix.view(), g.part.inner_begin, g.part.inner_end, g.p.data(), g.q.data(), g.partial.data(),
                g.inner_blocks, g.pq_slots.data() + index(g), g.state.data());
            g.trace.end(g.stream);
        });
        share(&GpuPart<T>::pq_slots, 1);
        each([&](GpuPart<T>& g) {
            g.trace.begin("residual", "kernel", '#', g.stream);
            part_residual_kernel<<<g.all_blocks, block_threads, 0, g.stream>>>(
                g.q.data(), g.weights(), g.r.data(), g.rows, g.pq_slots.data(), count_, g.partial.data(),
                g.residual_slots.data() + 2 * index(g), g.state.data());
            g.trace.end(g.stream);
        });
        share(&GpuPart<T>::residual_slots, 2);
        next(false);
    }

    void synchronize() {
        each([](GpuPart<T>& g) {
            g.stream.synchronize();
            g.copies.synchronize();
        });
    }
    /// Calls body(part) for every part, with its device current.
    template <class Body> void each(const Body& body) {
        for (auto& part : parts_) {
            const OnDevice on(part->device);
            body(*part);
            CUDA_CHECK_LAUNCH();
        }
    }
    GpuPart<T>& front() { return *parts_.front(); }

private:
    std::size_t index(const GpuPart<T>& part) const {
        std::size_t i = 0;
        while (parts_[i].get() != &part) ++i;
        return i;
    }

    /// Collects the elements of p that others need, and copies them to those parts, beside the kernels.
    void send_halo() {
        each([&](GpuPart<T>& g) {
            if (g.part.send.empty()) return;
            g.trace.begin("collect", "kernel", '#', g.stream);
            pack_kernel<<<std::min(gpulab::grid_size(g.which.size(), block_threads), 1024u), block_threads, 0,
                          g.stream>>>(g.p.data(), g.which.data(), g.send.data(), g.which.size());
            g.trace.end(g.stream);
            g.packed.record(g.stream);
            CUDA_CHECK(cudaStreamWaitEvent(g.copies, g.packed, 0));
            const std::size_t me = index(g);
            for (const auto& link : g.part.sends) {
                GpuPart<T>& other = *parts_[link.part];
                const auto& receives = other.part.receives;
                const auto place =
                    std::find_if(receives.begin(), receives.end(), [&](const auto& r) { return r.part == me; });
                g.trace.begin("halo", "copy", '>', g.copies);
                // EXERCISE halo
                //| // TODO: copy the piece `link` of g.send to its place in the halo of `other`, in the stream
                //| // g.copies. The halo lies behind the own elements of p.
                //| (void)place;
                CUDA_CHECK(cudaMemcpyPeerAsync(other.p.data() + other.rows + place->begin, other.device,
                                               g.send.data() + link.begin, g.device, link.count * sizeof(T), g.copies));
                // END EXERCISE
                g.trace.end(g.copies);
            }
            g.sent.record(g.copies);
        });
    }
    /// Lets the kernels that follow wait for the halo.
    void receive_halo() {
        each([&](GpuPart<T>& g) {
            // EXERCISE halo
            //| // TODO: the kernels that follow in g.stream wait for the copies of every part that sends to this one.
            //| (void)g;
            for (const auto& link : g.part.receives)
                CUDA_CHECK(cudaStreamWaitEvent(g.stream, parts_[link.part]->sent, 0));
            // END EXERCISE
        });
    }
    /// Copies every part's share of a sum into its slot on all others, and lets the kernels that follow wait for all
    /// shares.
    void share(gpulab::DeviceBuffer<double> GpuPart<T>::*slots, std::size_t numbers) {
        each([&](GpuPart<T>& g) {
            const std::size_t at = numbers * index(g);
            for (auto& other : parts_) {
                if (other.get() == &g) continue;
                g.trace.begin("sum", "copy", '>', g.stream);
                CUDA_CHECK(cudaMemcpyPeerAsync(((*other).*slots).data() + at, other->device, (g.*slots).data() + at,
                                               g.device, numbers * sizeof(double), g.stream));
                g.trace.end(g.stream);
            }
            g.shared.record(g.stream);
        });
        each([&](GpuPart<T>& g) {
            for (auto& other : parts_)
                if (other.get() != &g) CUDA_CHECK(cudaStreamWaitEvent(g.stream, other->shared, 0));
        });
    }
    void next(bool first) {
        each([&](GpuPart<T>& g) {
            g.trace.begin("next x and p", "kernel", '#', g.stream);
            part_next_kernel<<<g.all_blocks, block_threads, 0, g.stream>>>(
                g.r.data(), g.weights(), g.x.data(), g.p.data(), g.rows, g.residual_slots.data(), count_, first,
                g.state.data(), g.state.history(), rules_);
            g.trace.end(g.stream);
        });
    }

    Rules rules_;
    unsigned count_;
    std::vector<std::unique_ptr<GpuPart<T>>> parts_;
};

} // namespace

template <class T> void cuda_devices(const Problem<T>& problem, Output<T>& out, Stopwatch& watch) {
    const SharedOut<T> shared = share_out(problem);
    const std::size_t count = shared.parts.size();
    GpuParts<T> gpus(problem, shared.devices, shared.parts);
    watch.tile(block_threads, "rows");
    watch.tile(block_threads * count, "rows");
    watch.tile(std::size_t{gpulab::resident_blocks(part_residual_kernel<T>, block_threads)} * block_threads * count,
               "rows");

    const auto solve = [&] {
        gpus.begin();
        gpus.front().state.until_stopped(gpus.front().stream, problem.limit, [&](std::size_t left) {
            const std::size_t iterations = std::min<std::size_t>(left, 8);
            for (std::size_t k = 0; k < iterations; ++k) gpus.iterate();
            return iterations;
        });
        gpus.synchronize();
    };
    watch.time(solve, [&] { gpus.reset(); });

    out.x.resize(problem.n());
    gpus.each([&](GpuPart<T>& g) {
        g.x.copy_to(std::span<T>(out.x).subspan(g.part.first, g.rows));
        g.check_guard_bands();
        Output<T> own; // every part has a history of its own; they must be equal
        g.state.result(own);
        if (&g == &gpus.front()) out.history = own.history, out.end = own.end, out.curvature = own.curvature;
        else if (!same_bits(out.history, own.history) || out.end != own.end)
            throw gpulab::WrongResult("two GPUs disagree about the residuals");
    });
    if (!shared.note.empty()) out.notes.push_back(shared.note);

    watch.leave_out([&] { out.kernel_ms = kernel_times_of(gpus, problem.limit); });
    if (problem.trace && out.iterations() >= 3)
        watch.leave_out([&] {
            gpus.reset();
            gpus.begin();
            gpus.iterate(); // the first ones pay for what is done once
            gpus.iterate();
            gpus.synchronize();
            gpus.each([](GpuPart<T>& g) { g.trace.start(g.stream); });
            gpus.iterate();
            gpus.synchronize();
            int lane = 0;
            gpus.each([&](GpuPart<T>& g) { g.trace.add_to(out.timeline, lane++); });
        });
}

template void cuda_devices(const Problem<float>&, Output<float>&, Stopwatch&);
template void cuda_devices(const Problem<double>&, Output<double>&, Stopwatch&);

} // namespace cg
