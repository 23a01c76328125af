// OpenCL rung 5: kernels made for a CPU. (Bueno, section 5, leaves them to later work)
//
// Changed: an item has a contiguous range of rows, with about equally many non-zeros, and there are only a few items
// for each compute unit, in groups of one. On a CPU a compute unit is a core, and the items of a group run one after
// the other in it. There strides over the whole vector spoil the cache, and barriers and a tree in local memory are
// extra work. With one item per range a sum needs neither, so steps that use the same vectors become one kernel, as in
// cpu_threads. Vectors of eight elements (float8, double8) make the compiler use the core's vector instructions, also
// for sums, whose order it may not change by itself.
// On a GPU the rung runs with groups of 64 items. Their loads are a range apart, which is the worst for a GPU.
//
// Limit: memory, or the cache; and twice per iteration the device waits for the host, as in rung 1.
#include <numeric>

#include "05_cpu_ranges.cl.hpp"
#include "solve.hpp"

namespace cg {

namespace {

/// The items of the kernels: a few for each compute unit, so that a core that is late leaves work to the others.
std::size_t range_count(const gpulab::Device& device) {
    constexpr std::size_t per_core = 2, per_unit_of_gpu = 64;
    return static_cast<std::size_t>(std::max(device.compute_units, 1)) * (device.is_cpu ? per_core : per_unit_of_gpu);
}

/// Where the ranges begin, with about equally many non-zeros in each, and the number of rows.
template <class T> std::vector<cl_ulong> range_starts(const gpulab::Csr<T>& matrix, std::size_t ranges) {
    const Split split = split_rows(matrix, std::vector<double>(ranges, 1.0));
    return {split.first.begin(), split.first.end()};
}

/// The system on the current device, and the three kernels on it.
template <class T> class ClRanges {
public:
    /// @param whole all rows of the problem
    ClRanges(const Problem<T>& problem, const Part<T>& whole)
        : context_(gpulab::opencl()), part_(whole), ranges_(range_count(context_.description())),
          jacobi_(problem.jacobi), zeros_(problem.n()), first_(range_starts(problem.matrix, ranges_)),
          row_start_(narrow_offsets(problem.matrix)), column_(problem.matrix.column), value_(problem.matrix.value),
          start_(problem.start), b_(problem.b), inverse_(problem.inverse_diagonal), x_(problem.n()), r_(problem.n()),
          p_(problem.n()), q_(problem.n()), partial_(2 * ranges_), sums_(2 * ranges_) {
        const std::string real = gpulab::real_option<T>();
        multiply_ = gpulab::opencl_kernel(cpu_ranges_cl, "multiply", real);
        update_ = gpulab::opencl_kernel(cpu_ranges_cl, "update", real);
        next_p_ = gpulab::opencl_kernel(cpu_ranges_cl, "next_p", real);
        gpulab::set_args(multiply_, first_.data(), row_start_.data(), column_.data(), value_.data(), p_.data(),
                         q_.data(), partial_.data());
    }

    std::size_t ranges() const { return ranges_; }
    const Part<T>& part() const { return part_; }
    gpulab::OpenClContext& context() { return context_; }
    ClRecord& record() { return record_; }

    /// Poisons what the kernels compute and puts the start into place: p = x_0, r = b, and x = 0, because the first
    /// update() adds p to it.
    void reset() {
        const cl::CommandQueue& queue = context_.queue();
        for (const gpulab::ClBuffer<T>* vector : {&x_, &r_, &q_, &p_, &partial_}) poison(*vector, queue);
        gpulab::poison(sums_);
        queue.finish();
        if (part_.rows() > 0) {
            queue.enqueueWriteBuffer(x_.data(), CL_TRUE, 0, x_.bytes(), zeros_.data());
            queue.enqueueCopyBuffer(start_.data(), p_.data(), 0, 0, p_.bytes());
            queue.enqueueCopyBuffer(b_.data(), r_.data(), 0, 0, r_.bytes());
        }
        queue.finish();
    }

    /// q = A p. Waits. @return p . q
    double multiply() {
        run(multiply_, "spmv");
        return read_sums(1).rr;
    }
    /// x += alpha p and r -= alpha q. Waits. @return r . r and r . z
    ResidualSums update(T alpha) {
        gpulab::set_args(update_, first_.data(), x_.data(), r_.data(), p_.data(), q_.data(), inverse_.data(),
                         cl_uint{jacobi_}, alpha, partial_.data());
        run(update_, "update");
        return read_sums(2);
    }
    /// p = z + beta p
    void next_p(T beta) {
        gpulab::set_args(next_p_, first_.data(), p_.data(), r_.data(), inverse_.data(), cl_uint{jacobi_}, beta);
        run(next_p_, "next_p");
    }
    void finish() { context_.queue().finish(); }

    /// Waits, copies x out and checks all guard bands.
    void solution(std::span<T> x) {
        finish();
        x_.copy_to(x);
        r_.check_guard_bands();
        q_.check_guard_bands();
        p_.check_guard_bands();
        partial_.check_guard_bands();
    }

private:
    void run(const cl::Kernel& kernel, const char* name) {
        const std::size_t local = context_.description().is_cpu ? 1 : 64;
        record_.command(name, '#', nullptr,
                        [&](cl::Event* place) { gpulab::enqueue(context_.queue(), kernel, ranges_, local, place); });
    }
    /// Waits for one or two sums of the shares of all items.
    ResidualSums read_sums(std::size_t count) {
        record_.command("sums down", '<', nullptr, [&](cl::Event* place) {
            context_.queue().enqueueReadBuffer(partial_.data(), CL_TRUE, 0, count * ranges_ * sizeof(T), sums_.data(),
                                               nullptr, place);
        });
        const auto middle = sums_.begin() + static_cast<std::ptrdiff_t>(ranges_);
        return {std::accumulate(sums_.begin(), middle, 0.0), std::accumulate(middle, sums_.end(), 0.0)};
    }

    gpulab::OpenClContext& context_;
    ClRecord record_{0};
    const Part<T>& part_;
    std::size_t ranges_;
    bool jacobi_;
    std::vector<T> zeros_;
    gpulab::ClBuffer<cl_ulong> first_;
    gpulab::ClBuffer<std::int32_t> row_start_, column_;
    gpulab::ClBuffer<T> value_, start_, b_, inverse_;
    gpulab::ClBuffer<T> x_, r_, p_, q_, partial_;
    std::vector<T> sums_; ///< the shares of r . r, or of p . q, and those of r . z
    cl::Kernel multiply_, update_, next_p_;
};

} // namespace

template <class T> void opencl_cpu_ranges(const Problem<T>& problem, Output<T>& out, Stopwatch& watch) {
    const Part<T> whole = make_part(problem.matrix, Split{{0, problem.n()}}, 0);
    ClRanges<T> device(problem, whole);
    watch.tile(8 * device.ranges(), "rows");
    watch.tile(512, "rows"); // of a block
    time_solution<T, ClRanges<T>>({&device}, problem, out, watch, [&](Output<T>& result, gpulab::Timeline* timeline) {
        Scalars<T> scalars(problem, result);
        device.multiply();                              // p holds x_0 here
        const ResidualSums start = device.update(T{1}); // x = x_0, r = b - A x_0
        scalars.begin(start.rr, start.rho);
        device.next_p(T{0}); // p = z
        while (scalars.wants_more()) {
            const bool positive = scalars.accepts(device.multiply());               // 1, 2, 3
            device.record().collect(result.iterations() == 2 ? timeline : nullptr); // multiply() has waited
            if (!positive) break;
            const ResidualSums sums = device.update(static_cast<T>(scalars.alpha())); // 4, 5, 6
            scalars.next(sums.rr, sums.rho);                                          // 7
            device.next_p(static_cast<T>(scalars.beta()));                            // 8
        }
        device.finish();
    });
}

INSTANTIATE_RUNG(opencl_cpu_ranges);

} // namespace cg
