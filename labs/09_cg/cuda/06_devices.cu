// CUDA rung 6: several GPUs of one computer.
//
// Changed: the rows are shared out over all GPUs, and each of them works as in rung 3. What they tell each other:
//   - The halo. After p is new, a kernel collects the elements that others need, and copies bring them into the halo of
//   the
//     others (cudaMemcpyPeerAsync: from GPU to GPU, over NVLink where there is one). The copies are in a stream of
//     their own. Meanwhile the inner rows are multiplied; the rows at the border wait for the copies.
//   - The sums. Each GPU writes its share of p . q, and of r . r and r . z, into a slot of every other GPU. Every GPU
//   adds up
//     all slots in the same order. So all of them compute the same alpha and beta to the last bit, and none needs the
//     host.
// An event of one GPU's stream can be waited for in another's: nothing else holds the GPUs together. The host only puts
// commands into the streams.
// With one GPU there are two parts on it. That gains nothing, but everything happens as with two.
//
// Limit: memory; and three waits of GPU for GPU in every iteration, which small systems feel.
#include <chrono>
#include <deque>
#include <memory>
#include <optional>

#include "device.hpp"
#include "gpulab/device.hpp"
#include "split.hpp"
#include "state.hpp"

namespace cg {

/// Collects what others need: out[k] = p[which[k]].
template <class T> __global__ void pack_kernel(const T* p, const int* which, T* out, std::size_t n) {
    for (std::size_t k = blockIdx.x * std::size_t{block_threads} + threadIdx.x; k < n;
         k += gridDim.x * std::size_t{block_threads})
        out[k] = p[which[k]];
}

/// r = b - A p, where p holds x_0, and this part's shares of r . r and r . z.
/// @param partial two numbers per block @param mine two numbers: this part's slot
template <class T>
__global__ void __launch_bounds__(block_threads)
    first_residual_kernel(SlicedRows<T> a, const T* b, const T* p, const T* inverse, T* r, double* partial,
                          double* mine, State* s) {
    T rr = 0, rho = 0;
    for (std::size_t i = blockIdx.x * std::size_t{block_threads} + threadIdx.x; i < a.rows;
         i += gridDim.x * std::size_t{block_threads}) {
        const T residual = b[i] - a.product(i, p);
        r[i] = residual;
        rr += residual * residual;
        rho += residual * (inverse ? inverse[i] * residual : residual);
    }
    const double block_rr = block_sum(static_cast<double>(rr)), block_rho = block_sum(static_cast<double>(rho));
    if (threadIdx.x == 0) partial[2 * blockIdx.x] = block_rr, partial[2 * blockIdx.x + 1] = block_rho;
    if (!is_last_block(&s->tickets)) return;
    const double all_rr = sum_of(partial, gridDim.x, 2), all_rho = sum_of(partial + 1, gridDim.x, 2);
    if (threadIdx.x == 0) mine[0] = all_rr, mine[1] = all_rho;
}

/// q = A p for the inner rows. @param partial one number per block
template <class T>
__global__ void __launch_bounds__(block_threads) inner_kernel(SlicedRows<T> a, std::size_t begin, std::size_t end,
                                                              const T* p, T* q, double* partial, const State* s) {
    if (s->stop != go_on) return;
    T dot = 0;
    for (std::size_t i = begin + blockIdx.x * std::size_t{block_threads} + threadIdx.x; i < end;
         i += gridDim.x * std::size_t{block_threads}) {
        const T product = a.product(i, p);
        q[i] = product;
        dot += p[i] * product;
    }
    const double block_dot = block_sum(static_cast<double>(dot));
    if (threadIdx.x == 0) partial[blockIdx.x] = block_dot;
}

/// q = A p for the rows before `begin` and from `end` on, and this part's share of p . q.
/// @param partial the sums of inner_kernel's blocks, and behind them room for one number per block of this kernel
template <class T>
__global__ void __launch_bounds__(block_threads)
    border_kernel(SlicedRows<T> a, std::size_t begin, std::size_t end, const T* p, T* q, double* partial,
                  unsigned inner_blocks, double* mine, State* s) {
    if (s->stop != go_on) return;
    const std::size_t rows = begin + (a.rows - end);
    T dot = 0;
    for (std::size_t k = blockIdx.x * std::size_t{block_threads} + threadIdx.x; k < rows;
         k += gridDim.x * std::size_t{block_threads}) {
        const std::size_t i = k < begin ? k : k - begin + end;
        const T product = a.product(i, p);
        q[i] = product;
        dot += p[i] * product;
    }
    const double block_dot = block_sum(static_cast<double>(dot));
    if (threadIdx.x == 0) partial[inner_blocks + blockIdx.x] = block_dot;
    if (!is_last_block(&s->tickets)) return;
    const double all = sum_of(partial, inner_blocks + gridDim.x);
    if (threadIdx.x == 0) *mine = all;
}

/// alpha, r -= alpha q, and this part's shares of r . r and r . z.
/// @param pq_slots one number per part @param partial two numbers per block @param mine two numbers
template <class T>
__global__ void __launch_bounds__(block_threads)
    part_residual_kernel(const T* q, const T* inverse, T* r, std::size_t n, const double* pq_slots, unsigned parts,
                         double* partial, double* mine, State* s) {
    if (s->stop != go_on) return;
    double pq = 0;
    for (unsigned part = 0; part < parts; ++part) pq += __ldcg(&pq_slots[part]);
    if (!(pq > 0) || !isfinite(pq)) { // all blocks of all parts see that
        if (blockIdx.x == 0 && threadIdx.x == 0) note_product(s, pq);
        return;
    }
    const double exact_alpha = s->rho / pq;
    const T alpha = static_cast<T>(exact_alpha);
    T rr = 0, rho = 0;
    for (std::size_t i = blockIdx.x * std::size_t{block_threads} + threadIdx.x; i < n;
         i += gridDim.x * std::size_t{block_threads}) {
        const T residual = r[i] - alpha * q[i];
        r[i] = residual;
        rr += residual * residual;
        rho += residual * (inverse ? inverse[i] * residual : residual);
    }
    const double block_rr = block_sum(static_cast<double>(rr)), block_rho = block_sum(static_cast<double>(rho));
    if (threadIdx.x == 0) partial[2 * blockIdx.x] = block_rr, partial[2 * blockIdx.x + 1] = block_rho;
    if (!is_last_block(&s->tickets)) return;
    const double all_rr = sum_of(partial, gridDim.x, 2), all_rho = sum_of(partial + 1, gridDim.x, 2);
    if (threadIdx.x == 0) {
        s->alpha = exact_alpha; // the slots may change before next_kernel runs
        mine[0] = all_rr, mine[1] = all_rho;
    }
}

/// beta, x += alpha p, p = z + beta p; for the first residual only p = z.
/// @param slots two numbers per part
template <class T>
__global__ void __launch_bounds__(block_threads)
    part_next_kernel(const T* r, const T* inverse, T* x, T* p, std::size_t n, const double* slots, unsigned parts,
                     bool first, State* s, double* history, Rules rules) {
    if (s->stop != go_on) return;
    double rr = 0, rho = 0;
    for (unsigned part = 0; part < parts; ++part) rr += __ldcg(&slots[2 * part]), rho += __ldcg(&slots[2 * part + 1]);
    const T alpha = first ? T(0) : static_cast<T>(s->alpha);
    const T beta = first || rules.steepest ? T(0) : static_cast<T>(rho / s->rho);
    for (std::size_t i = blockIdx.x * std::size_t{block_threads} + threadIdx.x; i < n;
         i += gridDim.x * std::size_t{block_threads}) {
        const T z = inverse ? inverse[i] * r[i] : r[i];
        if (first) {
            p[i] = z;
        } else {
            const T direction = p[i];
            x[i] += alpha * direction;
            p[i] = z + beta * direction;
        }
    }
    if (!is_last_block(&s->tickets)) return; // all blocks have read the state
    if (threadIdx.x == 0) {
        s->rho = rho;
        note_residual(s, history, first ? 0 : s->iteration + 1, rr, rules);
        if (s->stop == stopping) s->stop = stopped; // x has its last step
    }
}

namespace {

using Clock = std::chrono::steady_clock;
double now_us() { return std::chrono::duration<double, std::micro>(Clock::now().time_since_epoch()).count(); }

/// Makes another device current while it lives.
class OnDevice {
public:
    explicit OnDevice(int device) {
        CUDA_CHECK(cudaGetDevice(&before_));
        CUDA_CHECK(cudaSetDevice(device));
    }
    ~OnDevice() { cudaSetDevice(before_); }
    OnDevice(const OnDevice&) = delete;
    OnDevice& operator=(const OnDevice&) = delete;

private:
    int before_ = 0;
};

/// The commands of one part with the times at which they ran. Devices have clocks of their own: each is compared with
/// the host's once, when the device is idle.
class PartTrace {
public:
    void start(cudaStream_t stream) {
        zero_.emplace();
        zero_->record(stream);
        zero_->synchronize();
        host_us_ = now_us();
    }
    bool on() const { return zero_.has_value(); }
    void begin(const char* name, const char* kind, char symbol, cudaStream_t stream) {
        if (!on()) return;
        Mark& mark = marks_.emplace_back();
        mark.name = name, mark.kind = kind, mark.symbol = symbol;
        mark.begin.record(stream);
    }
    void end(cudaStream_t stream) {
        if (on()) marks_.back().end.record(stream);
    }
    /// @pre all commands have ended
    void add_to(gpulab::Timeline& timeline, int part) const {
        for (const Mark& m : marks_)
            timeline.add({m.name, m.kind, m.symbol, 2 * part + (m.symbol == '#' ? 0 : 1),
                          host_us_ + 1e3 * gpulab::Event::ms_between(*zero_, m.begin),
                          host_us_ + 1e3 * gpulab::Event::ms_between(*zero_, m.end)});
    }

private:
    struct Mark {
        const char* name = "";
        const char* kind = "";
        char symbol = '#';
        gpulab::Event begin, end;
    };
    std::optional<gpulab::Event> zero_;
    double host_us_ = 0;
    std::deque<Mark> marks_;
};

template <class T> std::vector<T> piece(const std::vector<T>& whole, const Part<T>& part) {
    const auto begin = whole.begin() + static_cast<std::ptrdiff_t>(part.first);
    return std::vector<T>(begin, begin + static_cast<std::ptrdiff_t>(part.rows()));
}

/// One GPU's share. Made while its device is current.
template <class T> struct GpuPart {
    GpuPart(int number, const Problem<T>& problem, const Part<T>& p_, std::size_t parts)
        : device(number), part(p_), rows(p_.rows()), jacobi(problem.jacobi()), matrix(p_.matrix),
          b(piece(problem.b, p_)), start(piece(problem.start, p_)),
          inverse(jacobi ? piece(problem.inverse_diagonal, p_) : std::vector<T>()), which(p_.send), x(rows), r(rows),
          q(rows), p(p_.p_size()), send(which.size()), pq_slots(parts), residual_slots(2 * parts),
          state(problem.limit) {
        inner_blocks = blocks_for(inner_kernel<T>, part.inner_end - part.inner_begin);
        border_blocks = blocks_for(border_kernel<T>, rows - (part.inner_end - part.inner_begin));
        all_blocks = std::min({blocks_for(first_residual_kernel<T>, rows), blocks_for(part_residual_kernel<T>, rows),
                               blocks_for(part_next_kernel<T>, rows)});
        partial.emplace(std::max(inner_blocks + border_blocks, 2 * all_blocks));
    }

    const T* weights() const { return jacobi ? inverse.data() : nullptr; }

    void reset() {
        gpulab::poisoning(x, r, q, p, send, pq_slots, residual_slots, *partial)(stream);
        state.poison(stream);
        const auto copy = [&](gpulab::DeviceBuffer<T>& to, const gpulab::DeviceBuffer<T>& from) {
            CUDA_CHECK(cudaMemcpyAsync(to.data(), from.data(), from.bytes(), cudaMemcpyDeviceToDevice, stream));
        };
        copy(x, start), copy(p, start), copy(r, b); // of p the own elements; the halo comes from others
        stream.synchronize();
    }

    int device;
    const Part<T>& part;
    std::size_t rows;
    bool jacobi;
    DeviceSliced<T> matrix;
    gpulab::DeviceBuffer<T> b, start, inverse;
    gpulab::DeviceBuffer<int> which;
    gpulab::DeviceBuffer<T> x, r, q, p, send;
    gpulab::DeviceBuffer<double> pq_slots, residual_slots; ///< shares of the sums, of all parts
    DeviceState state;
    std::optional<gpulab::DeviceBuffer<double>> partial;
    unsigned inner_blocks = 1, border_blocks = 1, all_blocks = 1;
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
                if (!can) continue; // copies then go by the host
                const OnDevice on(device);
                const cudaError_t error = cudaDeviceEnablePeerAccess(other, 0);
                if (error != cudaErrorPeerAccessAlreadyEnabled) CUDA_CHECK(error);
                else cudaGetLastError(); // forget it
            }
        for (std::size_t i = 0; i < parts.size(); ++i) {
            const OnDevice on(devices[i]);
            parts_.push_back(std::make_unique<GpuPart<T>>(devices[i], problem, parts[i], parts.size()));
        }
    }

    void reset() {
        each([](GpuPart<T>& part) { part.reset(); });
    }

    /// The first residual and direction.
    void begin() {
        each([](GpuPart<T>& part) { part.state.clear(part.stream); });
        send_halo();
        receive_halo();
        each([&](GpuPart<T>& g) {
            first_residual_kernel<<<g.all_blocks, block_threads, 0, g.stream>>>(
                g.matrix.view(), g.b.data(), g.p.data(), g.weights(), g.r.data(), g.partial->data(),
                g.residual_slots.data() + 2 * index(g), g.state.data());
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
                                                                         g.partial->data(), g.state.data());
            g.trace.end(g.stream);
        });
        receive_halo();
        each([&](GpuPart<T>& g) {
            g.trace.begin("border rows", "kernel", '#', g.stream);
            border_kernel<<<g.border_blocks, block_threads, 0, g.stream>>>(
                g.matrix.view(), g.part.inner_begin, g.part.inner_end, g.p.data(), g.q.data(), g.partial->data(),
                g.inner_blocks, g.pq_slots.data() + index(g), g.state.data());
            g.trace.end(g.stream);
        });
        share(&GpuPart<T>::pq_slots, 1);
        each([&](GpuPart<T>& g) {
            g.trace.begin("residual", "kernel", '#', g.stream);
            part_residual_kernel<<<g.all_blocks, block_threads, 0, g.stream>>>(
                g.q.data(), g.weights(), g.r.data(), g.rows, g.pq_slots.data(), count_, g.partial->data(),
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

    /// Collects what others need of p, and copies it to them beside the kernels.
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
                CUDA_CHECK(cudaMemcpyPeerAsync(other.p.data() + other.rows + place->begin, other.device,
                                               g.send.data() + link.begin, g.device, link.count * sizeof(T), g.copies));
                g.trace.end(g.copies);
            }
            g.sent.record(g.copies);
        });
    }
    /// Lets the kernels that follow wait for the halo.
    void receive_halo() {
        each([&](GpuPart<T>& g) {
            for (const auto& link : g.part.receives)
                CUDA_CHECK(cudaStreamWaitEvent(g.stream, parts_[link.part]->sent, 0));
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

/// The time in which a device multiplies its rows, in milliseconds.
template <class T> double multiply_ms(int device, const Part<T>& part) {
    const OnDevice on(device);
    const DeviceSliced<T> matrix(part.matrix);
    gpulab::DeviceBuffer<T> q(part.rows());
    const gpulab::DeviceBuffer<T> p(std::vector<T>(part.p_size(), T{1}));
    gpulab::DeviceBuffer<double> partial(blocks_for(inner_kernel<T>, part.rows()));
    DeviceState state(0);
    Stopwatch watch(2, 5);
    gpulab::watch_stream(watch, [&](cudaStream_t stream) {
        state.clear(stream);
        inner_kernel<<<static_cast<unsigned>(partial.size()), block_threads, 0, stream>>>(
            matrix.view(), 0, part.rows(), p.data(), q.data(), partial.data(), state.data());
    });
    return watch.kernel().median;
}

} // namespace

template <class T> void cuda_devices(const Problem<T>& problem, Output<T>& out, Stopwatch& watch) {
    std::vector<int> found;
    for (const gpulab::Device& device : gpulab::devices_in_use())
        if (device.backend == gpulab::Backend::cuda) found.push_back(device.index);
    if (found.empty()) found.push_back(0);
    const std::size_t count = problem.parts > 0 ? problem.parts : std::max<std::size_t>(found.size(), 2);
    std::vector<int> devices;
    for (std::size_t i = 0; i < count; ++i) devices.push_back(found[i % found.size()]);

    std::vector<double> weights(count, 1.0);
    Split split = split_rows(problem.matrix, weights);
    std::string note;
    if (problem.balance == Balance::speed && problem.n() >= count) {
        const auto equal = make_parts(problem.matrix, split);
        for (std::size_t i = 0; i < count; ++i)
            if (equal[i].rows() > 0)
                weights[i] = static_cast<double>(equal[i].matrix.nonzeros() + equal[i].rows()) /
                             std::max(multiply_ms(devices[i], equal[i]), 1e-6);
        const double least = *std::min_element(weights.begin(), weights.end());
        for (std::size_t i = 0; i < count; ++i)
            if (equal[i].rows() == 0) weights[i] = least;
        split = split_rows(problem.matrix, weights);
        note = "rows by measured speed:";
        for (std::size_t i = 0; i < count; ++i) note += " " + std::to_string(split.rows(i));
    }
    const std::vector<Part<T>> parts = make_parts(problem.matrix, split);
    GpuParts<T> gpus(problem, devices, parts);
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
        for (const gpulab::DeviceBuffer<T>* v : {&g.r, &g.q, &g.p, &g.send}) v->check_guard_bands();
        for (const gpulab::DeviceBuffer<double>* v : {&g.pq_slots, &g.residual_slots, &*g.partial})
            v->check_guard_bands();
        Output<T> own; // every part has a history of its own; they must be equal
        g.state.result(own);
        if (&g == &gpus.front()) out.history = own.history, out.end = own.end, out.curvature = own.curvature;
        else if (out.history != own.history || out.end != own.end)
            throw gpulab::WrongResult("two GPUs disagree about the residuals");
    });
    if (!note.empty()) out.notes.push_back(note);

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
