// CUDA rung 7: several GPUs that write into each other's memory.
//
// Changed: how the GPUs exchange data. In rung 6 a sum goes through a copy and two events, which cost more than ten
// microseconds each time. Here a kernel stores its share into the memory of every other GPU, through an ordinary
// pointer, and then a *flag*, the number of the iteration's step. The kernel that needs the sum waits until all flags
// in its own memory have that number. The halo goes the same way.
//   - Order: the share is stored first, then the flag (release); the flag is loaded first, then the share (acquire).
//     Both apply to the whole system and not only to one device (thread_scope_system).
//   - A slot is written again only in the next iteration. By then its reader has sent the writer a later sum, so it has
//     read the slot.
//   - Inner rows and rows at the border are in one kernel. Only a thread that reaches the border waits for the halo.
// A kernel that waits occupies its device, so what it waits for must not be queued behind it: parts on the same device
// use one stream, in which every step of all parts comes before the next step of any.
//
// Needs GPUs that reach each other's memory (NVLink, or PCIe in some computers).
// Limit: memory; and two waits between GPUs in every iteration, each about as long as a store takes to arrive.
#include <cuda/atomic>
#include <map>

#include "gpu_parts.hpp"

namespace cg {

/// What the parts write into the memory of one of them.
struct Inbox {
    double* pq;       ///< a share of p . q per part
    double* residual; ///< shares of r . r and r . z per part
    unsigned* flags;  ///< per part the last step whose halo it has stored; then of p . q; then of the residual
};

/// What a kernel needs to write to the others and to read what they have written.
struct Post {
    const Inbox* inboxes; ///< one per part
    Inbox mine;           ///< the same as inboxes[me], without a load on the way to it
    unsigned parts, me;
};

enum Letter : unsigned { halo_letter = 0, pq_letter = 1, residual_letter = 2 };

/// Tells all parts that what this thread has stored for them is there.
__device__ inline void raise_flag(const Post& post, unsigned to, Letter letter, unsigned step) {
    ::cuda::atomic_ref<unsigned, ::cuda::thread_scope_system>(post.inboxes[to].flags[letter * post.parts + post.me])
        .store(step, ::cuda::memory_order_release);
}

/// Waits for a flag of part `from`. @return false when it does not come: about 4 s at 2 GHz
__device__ inline bool wait_for_flag(const Post& post, unsigned from, Letter letter, unsigned step) {
    constexpr long long patience = 1ll << 33; // clock ticks
    const long long begin = clock64();
    const ::cuda::atomic_ref<unsigned, ::cuda::thread_scope_system> flag(post.mine.flags[letter * post.parts + from]);
    while (flag.load(::cuda::memory_order_acquire) < step)
        if (clock64() - begin > patience) return false;
    return true;
}

/// Ends the solution of a part that has waited in vain.
__device__ inline void give_up(State* s) {
    s->end = ended_lost;
    s->stop = stopped;
}

/// Waits for a letter from every part. What the parts have stored before is then visible to the whole block.
/// @pre all threads of the block call it
__device__ inline bool all_have_posted(const Post& post, Letter letter, unsigned step, State* s) {
    bool here = true;
    for (unsigned part = threadIdx.x; part < post.parts; part += block_threads)
        here = wait_for_flag(post, part, letter, step) && here;
    if (!here) give_up(s);
    return __syncthreads_and(here);
}

/// Stores p's elements where others need them: in their halo.
/// @param which own elements @param where for each of them its place in the memory of another part
template <class T>
__global__ void __launch_bounds__(block_threads)
    send_kernel(const T* p, const int* which, T* const* where, std::size_t n, Post post, unsigned step, State* s) {
    if (s->stop != go_on) return;
    // ANSWER halo
    for (std::size_t k = blockIdx.x * std::size_t{block_threads} + threadIdx.x; k < n;
         k += gridDim.x * std::size_t{block_threads})
        *where[k] = p[which[k]];
    // END ANSWER
    __threadfence_system(); // the elements of this thread arrive before any flag
    __syncthreads();        // and so do those of its block
    if (!is_last_block(&s->tickets)) return;
    for (unsigned part = threadIdx.x; part < post.parts; part += block_threads)
        raise_flag(post, part, halo_letter, step);
}

/// Stores this part's shares of r . r and r . z with all parts. Called by all threads of the last block.
__device__ inline void post_residual(const Post& post, double rr, double rho, unsigned step) {
    for (unsigned part = threadIdx.x; part < post.parts; part += block_threads) {
        double* const slot = post.inboxes[part].residual + 2 * post.me;
        slot[0] = rr, slot[1] = rho;
        raise_flag(post, part, residual_letter, step);
    }
}

/// r = b - A p, where p holds x_0. @param partial two numbers per block
template <class T>
__global__ void __launch_bounds__(block_threads)
    first_residual_to_all_kernel(SlicedRows<T> a, const T* b, const T* p, const T* inverse, T* r, double* partial,
                                 Post post, unsigned step, State* s) {
    if (!all_have_posted(post, halo_letter, step, s)) return;
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
    post_residual(post, all_rr, all_rho, step);
}

#if __CUDA_ARCH__ == 750
constexpr int full_blocks = 1024 / block_threads; // blocks that fill a multiprocessor with threads
#elif __CUDA_ARCH__ == 860 || __CUDA_ARCH__ == 870 || __CUDA_ARCH__ == 890 || __CUDA_ARCH__ >= 1200
constexpr int full_blocks = 1536 / block_threads;
#else
constexpr int full_blocks = 2048 / block_threads;
#endif

/// q = A p: first the rows [begin, end), which need no halo, then the others. A multiprocessor has as many threads as
/// it can have, so that many loads are under way.
/// @param partial one number per block
template <class T>
__global__ void __launch_bounds__(block_threads, full_blocks)
    product_with_halo_kernel(SlicedRows<T> a, std::size_t begin, std::size_t end, const T* p, T* q, double* partial,
                             Post post, unsigned step, State* s) {
    if (s->stop != go_on) return;
    const std::size_t inner = end - begin, stride = gridDim.x * std::size_t{block_threads};
    std::size_t k = blockIdx.x * std::size_t{block_threads} + threadIdx.x;
    T dot = 0;
    const auto multiply = [&](std::size_t i) {
        const T product = a.product(i, p);
        q[i] = product;
        dot += p[i] * product;
    };
    for (; k < inner; k += stride) multiply(begin + k);
    if (k < a.rows)
        for (unsigned part = 0; part < post.parts; ++part)
            if (!wait_for_flag(post, part, halo_letter, step)) give_up(s);
    for (; k < a.rows; k += stride) multiply(k - inner < begin ? k - inner : k - inner - begin + end);
    const double block_dot = block_sum(static_cast<double>(dot));
    if (threadIdx.x == 0) partial[blockIdx.x] = block_dot;
    if (!is_last_block(&s->tickets)) return;
    const double all = sum_of(partial, gridDim.x);
    for (unsigned part = threadIdx.x; part < post.parts; part += block_threads) {
        post.inboxes[part].pq[post.me] = all;
        raise_flag(post, part, pq_letter, step);
    }
}

/// alpha, and r -= alpha q. @param partial two numbers per block
template <class T>
__global__ void __launch_bounds__(block_threads)
    residual_to_all_kernel(const T* q, const T* inverse, T* r, std::size_t n, double* partial, Post post, unsigned step,
                           State* s) {
    if (s->stop != go_on || !all_have_posted(post, pq_letter, step, s)) return;
    double pq = 0;
    for (unsigned part = 0; part < post.parts; ++part) pq += __ldcg(&post.mine.pq[part]);
    if (!(pq > 0) || !isfinite(pq)) { // all blocks of all parts see that
        if (blockIdx.x == 0 && threadIdx.x == 0) note_product(s, pq);
        return;
    }
    const double alpha = s->rho / pq;
    const auto [rr, rho] = update_residual(static_cast<T>(alpha), q, inverse, r, n);
    const double block_rr = block_sum(static_cast<double>(rr)), block_rho = block_sum(static_cast<double>(rho));
    if (threadIdx.x == 0) partial[2 * blockIdx.x] = block_rr, partial[2 * blockIdx.x + 1] = block_rho;
    if (!is_last_block(&s->tickets)) return;
    const double all_rr = sum_of(partial, gridDim.x, 2), all_rho = sum_of(partial + 1, gridDim.x, 2);
    if (threadIdx.x == 0) s->alpha = alpha;
    post_residual(post, all_rr, all_rho, step);
}

/// beta, x += alpha p, p = z + beta p; after the first residual only p = z.
template <class T>
__global__ void __launch_bounds__(block_threads)
    next_from_all_kernel(const T* r, const T* inverse, T* x, T* p, std::size_t n, bool first, Post post, unsigned step,
                         State* s, double* history, Rules rules) {
    if (s->stop != go_on || !all_have_posted(post, residual_letter, step, s)) return;
    double rr = 0, rho = 0;
    const double* const shares = post.mine.residual;
    for (unsigned part = 0; part < post.parts; ++part)
        rr += __ldcg(&shares[2 * part]), rho += __ldcg(&shares[2 * part + 1]);
    if (first) {
        for (std::size_t i = blockIdx.x * std::size_t{block_threads} + threadIdx.x; i < n;
             i += gridDim.x * std::size_t{block_threads})
            p[i] = inverse ? inverse[i] * r[i] : r[i];
    } else {
        const T beta = rules.steepest ? T(0) : static_cast<T>(rho / s->rho);
        update_x_and_p(static_cast<T>(s->alpha), beta, r, inverse, x, p, n);
    }
    __syncthreads(); // all warps have read the state, so that a ticket of this block says so
    if (!is_last_block(&s->tickets)) return;
    if (threadIdx.x == 0) {
        s->rho = rho;
        note_residual(s, history, first ? 0 : s->iteration + 1, rr, rules);
        if (s->stop == stopping) s->stop = stopped; // x has its last step
    }
}

namespace {

/// One GPU's share. Made while its device is current.
template <class T> struct StoringPart {
    StoringPart(int number, const Problem<T>& problem, const Part<T>& p_, std::size_t parts, cudaStream_t its_stream)
        : device(number), part(p_), rows(p_.rows()), jacobi(problem.jacobi()), matrix(p_.matrix),
          b(piece(problem.b, p_)), start(piece(problem.start, p_)),
          inverse(jacobi ? piece(problem.inverse_diagonal, p_) : std::vector<T>()), which(p_.send), x(rows), r(rows),
          q(rows), p(p_.p_size()), pq(parts), residual(2 * parts), flags(3 * parts), state(problem.limit),
          stream(its_stream), first_blocks(blocks_for(first_residual_to_all_kernel<T>, rows)),
          product_blocks(blocks_for(product_with_halo_kernel<T>, rows)),
          residual_blocks(blocks_for(residual_to_all_kernel<T>, rows)),
          next_blocks(blocks_for(next_from_all_kernel<T>, rows)), send_blocks(blocks_for(send_kernel<T>, which.size())),
          partial(2 * std::size_t{std::max({first_blocks, product_blocks, residual_blocks})}) {}

    const T* weights() const { return jacobi ? inverse.data() : nullptr; }
    Inbox inbox() { return {pq.data(), residual.data(), flags.data()}; }

    void reset() {
        gpulab::poisoning(x, r, q, p, pq, residual, partial)(stream);
        state.poison(stream);
        CUDA_CHECK(cudaMemsetAsync(flags.data(), 0, flags.bytes(), stream));
        const auto copy = [&](gpulab::DeviceBuffer<T>& to, const gpulab::DeviceBuffer<T>& from) {
            CUDA_CHECK(cudaMemcpyAsync(to.data(), from.data(), from.bytes(), cudaMemcpyDeviceToDevice, stream));
        };
        copy(x, start), copy(p, start), copy(r, b); // p: its own elements; the halo comes from others
        CUDA_CHECK(cudaStreamSynchronize(stream));  // before others store here
    }

    int device;
    const Part<T>& part;
    std::size_t rows;
    bool jacobi;
    DeviceSliced<T> matrix;
    gpulab::DeviceBuffer<T> b, start, inverse;
    gpulab::DeviceBuffer<int> which;
    gpulab::DeviceBuffer<T> x, r, q, p;
    gpulab::DeviceBuffer<double> pq, residual;
    gpulab::DeviceBuffer<unsigned> flags;
    DeviceState state;
    cudaStream_t stream; ///< that of the device
    unsigned first_blocks, product_blocks, residual_blocks, next_blocks, send_blocks;
    gpulab::DeviceBuffer<double> partial;
    std::optional<gpulab::DeviceBuffer<Inbox>> inboxes; ///< of all parts
    std::optional<gpulab::DeviceBuffer<T*>> where;      ///< in the memory of others, for each element of `which`
    Post post{};
    PartTrace trace;
};

/// All parts, and what they do together. Every function puts commands into the streams and waits for nothing.
template <class T> class StoringParts {
public:
    StoringParts(const Problem<T>& problem, const SharedOut<T>& shared) : rules_(rules_of(problem)) {
        for (const int device : shared.devices)
            for (const int other : shared.devices) reach(device, other);
        for (std::size_t i = 0; i < shared.parts.size(); ++i) {
            const int device = shared.devices[i];
            const OnDevice on(device);
            parts_.push_back(std::make_unique<StoringPart<T>>(device, problem, shared.parts[i], shared.parts.size(),
                                                              streams_[device]));
        }
        std::vector<Inbox> inboxes;
        for (auto& part : parts_) inboxes.push_back(part->inbox());
        for (std::size_t me = 0; me < parts_.size(); ++me) {
            StoringPart<T>& g = *parts_[me];
            const OnDevice on(g.device);
            std::vector<T*> where(g.part.send.size());
            for (const auto& link : g.part.sends) {
                StoringPart<T>& to = *parts_[link.part];
                const auto place = std::ranges::find(to.part.receives, me, &Part<T>::Link::part);
                for (std::size_t k = 0; k < link.count; ++k)
                    where[link.begin + k] = to.p.data() + to.rows + place->begin + k;
            }
            g.where.emplace(where);
            g.inboxes.emplace(inboxes);
            g.post = {g.inboxes->data(), inboxes[me], static_cast<unsigned>(parts_.size()), static_cast<unsigned>(me)};
        }
    }

    void reset() {
        each([](StoringPart<T>& g) { g.reset(); });
        step_ = 0;
    }

    /// The first residual and direction.
    void begin() {
        ++step_;
        each([](StoringPart<T>& g) { g.state.clear(g.stream); });
        send();
        each([&](StoringPart<T>& g) {
            g.trace.begin("first residual", "kernel", '#', g.stream);
            first_residual_to_all_kernel<<<g.first_blocks, block_threads, 0, g.stream>>>(
                g.matrix.view(), g.b.data(), g.p.data(), g.weights(), g.r.data(), g.partial.data(), g.post, step_,
                g.state.data());
            g.trace.end(g.stream);
        });
        next(true);
    }

    /// One iteration.
    void iterate() {
        ++step_;
        send();
        each([&](StoringPart<T>& g) {
            g.trace.begin("product", "kernel", '#', g.stream);
            product_with_halo_kernel<<<g.product_blocks, block_threads, 0, g.stream>>>(
                g.matrix.view(), g.part.inner_begin, g.part.inner_end, g.p.data(), g.q.data(), g.partial.data(), g.post,
                step_, g.state.data());
            g.trace.end(g.stream);
        });
        each([&](StoringPart<T>& g) {
            g.trace.begin("residual", "kernel", '#', g.stream);
            residual_to_all_kernel<<<g.residual_blocks, block_threads, 0, g.stream>>>(
                g.q.data(), g.weights(), g.r.data(), g.rows, g.partial.data(), g.post, step_, g.state.data());
            g.trace.end(g.stream);
        });
        next(false);
    }

    void synchronize() {
        for (const auto& [device, stream] : streams_) stream.synchronize();
    }
    /// Calls body(part) for every part, with its device current.
    template <class Body> void each(const Body& body) {
        for (auto& part : parts_) {
            const OnDevice on(part->device);
            body(*part);
            CUDA_CHECK_LAUNCH();
        }
    }
    StoringPart<T>& front() { return *parts_.front(); }

private:
    /// Lets a device write into another's memory, and makes its stream.
    void reach(int device, int other) {
        const OnDevice on(device);
        streams_.try_emplace(device);
        if (device == other) return;
        int can = 0;
        CUDA_CHECK(cudaDeviceCanAccessPeer(&can, device, other));
        if (!can)
            throw gpulab::Unsupported("cuda:" + std::to_string(device) +
                                      " cannot write into the memory of cuda:" + std::to_string(other));
        const cudaError_t error = cudaDeviceEnablePeerAccess(other, 0);
        if (error != cudaErrorPeerAccessAlreadyEnabled) CUDA_CHECK(error);
        else cudaGetLastError(); // clear the error
    }
    void send() {
        each([&](StoringPart<T>& g) {
            g.trace.begin("send", "kernel", '>', g.stream);
            send_kernel<<<g.send_blocks, block_threads, 0, g.stream>>>(g.p.data(), g.which.data(), g.where->data(),
                                                                       g.which.size(), g.post, step_, g.state.data());
            g.trace.end(g.stream);
        });
    }
    void next(bool first) {
        each([&](StoringPart<T>& g) {
            g.trace.begin("next x and p", "kernel", '#', g.stream);
            next_from_all_kernel<<<g.next_blocks, block_threads, 0, g.stream>>>(
                g.r.data(), g.weights(), g.x.data(), g.p.data(), g.rows, first, g.post, step_, g.state.data(),
                g.state.history(), rules_);
            g.trace.end(g.stream);
        });
    }

    Rules rules_;
    unsigned step_ = 0; ///< what the flags of this step hold
    std::map<int, gpulab::Stream> streams_;
    std::vector<std::unique_ptr<StoringPart<T>>> parts_;
};

} // namespace

template <class T> void cuda_devices_stores(const Problem<T>& problem, Output<T>& out, Stopwatch& watch) {
    const SharedOut<T> shared = share_out(problem);
    const std::size_t count = shared.parts.size();
    StoringParts<T> gpus(problem, shared);
    watch.tile(block_threads, "rows");
    watch.tile(block_threads * count, "rows");
    watch.tile(std::size_t{gpulab::resident_blocks(residual_to_all_kernel<T>, block_threads)} * block_threads * count,
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
    gpus.each([&](StoringPart<T>& g) {
        g.x.copy_to(std::span<T>(out.x).subspan(g.part.first, g.rows));
        for (const gpulab::DeviceBuffer<T>* v : {&g.r, &g.q, &g.p}) v->check_guard_bands();
        for (const gpulab::DeviceBuffer<double>* v : {&g.pq, &g.residual, &g.partial}) v->check_guard_bands();
        g.flags.check_guard_bands();
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
            gpus.each([](StoringPart<T>& g) { g.trace.start(g.stream); });
            gpus.iterate();
            gpus.synchronize();
            int lane = 0;
            gpus.each([&](StoringPart<T>& g) { g.trace.add_to(out.timeline, lane++); });
        });
}

template void cuda_devices_stores(const Problem<float>&, Output<float>&, Stopwatch&);
template void cuda_devices_stores(const Problem<double>&, Output<double>&, Stopwatch&);

} // namespace cg
