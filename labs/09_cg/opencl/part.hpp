/// @file
/// One OpenCL device's share of the system: its rows, its pieces of the vectors, and the five kernels on them.
#pragma once

#include <algorithm>
#include <bit>
#include <map>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "01_five_kernels.cl.hpp"
#include "04_devices_halo.cl.hpp"
#include "cg.hpp"
#include "dot.cl.hpp"
#include "gpulab/opencl/buffer.hpp"
#include "gpulab/opencl/context.hpp"
#include "gpulab/opencl/real.hpp"
#include "record.hpp"
#include "scalars.hpp"
#include "split.hpp"
#include "tuning.hpp"

namespace cg {

/// Work-items of a group, where the kernels allow as many.
inline constexpr std::size_t usual_items = 256;

/// One device's share. All functions but those that say so only put commands into the device's queue.
template <class T> class ClPart {
public:
    /// @param problem the whole; this part has the rows from part.first on
    /// @param whole_p whether p is the whole vector, in which the columns count. Otherwise the columns count in the
    ///        part's own elements and the halo behind them
    /// @param max_items of a group
    ClPart(gpulab::OpenClContext& context, const Problem<T>& problem, const Part<T>& part, bool whole_p, int lane = 0,
           std::size_t max_items = usual_items)
        : context_(context), use_(std::in_place, context), record_(lane), part_(part), rows_(part.rows()),
          first_(whole_p ? part.first : 0), jacobi_(problem.jacobi),
          copies_(context.context(), context.device(), CL_QUEUE_PROFILING_ENABLE),
          row_start_(narrow_offsets(part.matrix)), column_(part.matrix.column), value_(part.matrix.value),
          start_(piece(problem.start, part)), inverse_(piece(problem.inverse_diagonal, part)),
          b_(piece(problem.b, part)), which_(whole_p ? std::vector<std::int32_t>() : part.send), x_(rows_), r_(rows_),
          q_(rows_), p_(whole_p ? problem.n() : rows_), send_(which_.size()), halo_(whole_p ? 0 : part.halo.size()),
          first_sum_(max_groups * units()), second_sum_(max_groups * units()) {
        const std::string real = gpulab::real_option<T>();
        dot_ = gpulab::opencl_kernel(dot_cl, "dot_product", real);
        dot_jacobi_ = gpulab::opencl_kernel(dot_cl, "dot_jacobi", real);
        next_x_ = gpulab::opencl_kernel(five_kernels_cl, "next_x", real);
        next_r_ = gpulab::opencl_kernel(five_kernels_cl, "next_r", real);
        next_p_ = gpulab::opencl_kernel(five_kernels_cl, jacobi_ ? "next_p_jacobi" : "next_p", real);
        spmv_ = gpulab::opencl_kernel(five_kernels_cl, "spmv", real);
        pack_ = gpulab::opencl_kernel(devices_halo_cl, "pack", real);
        spmv_halo_ = gpulab::opencl_kernel(devices_halo_cl, "spmv_halo", real);
        // dot needs a number for each item in local memory, and a power of two of them.
        const std::size_t local_bytes = context.device().template getInfo<CL_DEVICE_LOCAL_MEM_SIZE>();
        local_ = std::clamp<std::size_t>(std::bit_ceil(std::max<std::size_t>(rows_, 1)), 32,
                                         std::min(max_items, std::bit_floor(local_bytes / sizeof(T))));
        for (const cl::Kernel* kernel :
             {&dot_, &dot_jacobi_, &next_x_, &next_r_, &next_p_, &spmv_, &pack_, &spmv_halo_})
            local_ = std::min(local_, std::bit_floor(context.max_work_group(*kernel)));
        use_.reset();
    }
    ClPart(const ClPart&) = delete;
    ClPart& operator=(const ClPart&) = delete;

    std::size_t rows() const { return rows_; }
    const Part<T>& part() const { return part_; }
    std::size_t units() const { return static_cast<std::size_t>(std::max(context_.description().compute_units, 1)); }
    std::size_t local_size() const { return local_; }
    gpulab::OpenClContext& context() { return context_; }
    const std::string& name() const { return context_.description().name; }
    ClRecord& record() { return record_; }
    /// Work-groups per compute unit, of each kernel.
    std::map<std::string, std::size_t> groups = {{"dot", 1},    {"next_x", 1}, {"next_r", 1},
                                                 {"next_p", 1}, {"spmv", 1},   {"pack", 1}};

    /// Poisons the vectors and puts the start into place: x = p = x_0, r = b. For p these are the part's own elements.
    void reset() {
        const cl::CommandQueue& queue = context_.queue();
        for (const gpulab::ClBuffer<T>* vector :
             {&x_, &r_, &q_, &p_, &send_, &halo_, &first_sum_.partial, &second_sum_.partial})
            poison(*vector, queue);
        gpulab::poison(first_sum_.host);
        gpulab::poison(second_sum_.host);
        queue.finish();
        if (rows_ > 0) {
            queue.enqueueCopyBuffer(start_.data(), x_.data(), 0, 0, rows_ * sizeof(T));
            queue.enqueueCopyBuffer(start_.data(), p_.data(), 0, first_ * sizeof(T), rows_ * sizeof(T));
            queue.enqueueCopyBuffer(b_.data(), r_.data(), 0, 0, rows_ * sizeof(T));
        }
        queue.finish();
    }

    /// Fills the vectors with zeros, for kernels that are only timed: some devices are slow with NaN.
    void clear() {
        for (const gpulab::ClBuffer<T>* vector : {&x_, &r_, &q_, &p_, &halo_})
            if (vector->size() > 0) {
                const std::vector<T> zeros(vector->size());
                context_.queue().enqueueWriteBuffer(vector->data(), CL_TRUE, 0, vector->bytes(), zeros.data());
            }
    }

    /// q = A p for the rows that need no halo, and for the others, when the halo has arrived.
    void multiply_inner() { multiply(part_.inner_begin, part_.inner_end); }
    void multiply_border() {
        multiply_with_halo(0, part_.inner_begin, arrived_);
        multiply_with_halo(part_.inner_end, rows_, arrived_);
    }
    /// q = A p for some rows that need no halo.
    void multiply(std::size_t begin, std::size_t end) {
        if (begin == end) return;
        gpulab::set_args(spmv_, row_start_.data(), column_.data(), value_.data(), p_.data(), q_.data(), cl_ulong{begin},
                         cl_ulong{end});
        run("spmv", spmv_, part_.halo.empty() ? nullptr : "inner rows");
    }
    /// q = A p for some rows that need the halo, when `arrived` has happened.
    void multiply_with_halo(std::size_t begin, std::size_t end, const std::vector<cl::Event>& arrived) {
        if (begin == end) return;
        gpulab::set_args(spmv_halo_, row_start_.data(), column_.data(), value_.data(), p_.data(), halo_.data(),
                         q_.data(), cl_ulong{begin}, cl_ulong{end}, cl_ulong{rows_});
        run("spmv", spmv_halo_, "border rows", &arrived);
    }
    /// p . q
    void dot_pq() { run_dot(dot_, first_sum_, p_.data(), cl_ulong{first_}, q_.data()); }
    /// Waits for p . q, and so for all kernels before it. @return this part's share
    double pq() { return first_sum_.wait(); }
    /// r . r, and with Jacobi r . z.
    void dot_r() {
        dot_rr();
        if (jacobi_) run_dot(dot_jacobi_, second_sum_, r_.data(), inverse_.data());
    }
    /// Waits for dot_r(), and not for what was put into the queue after it. @return this part's shares
    ResidualSums residual() {
        const double rr = first_sum_.wait();
        return {rr, jacobi_ ? second_sum_.wait() : rr};
    }
    /// x += alpha p
    void next_x(T alpha) { update("next_x", next_x_, x_.data(), p_.data(), cl_ulong{first_}, alpha); }
    /// r -= alpha q
    void next_r(T alpha) { update("next_r", next_r_, r_.data(), q_.data(), alpha); }
    /// p = z + beta p
    void next_p(T beta) {
        if (jacobi_) update("next_p", next_p_, p_.data(), cl_ulong{first_}, r_.data(), inverse_.data(), beta);
        else update("next_p", next_p_, p_.data(), cl_ulong{first_}, r_.data(), beta);
    }

    /// Collects the elements of p that others need and reads them to the host, beside the kernels that follow.
    /// @param host as many numbers as part().send; valid when the event has happened
    /// @return the event of the copy; null when there is nothing to send
    cl::Event send(T* host) {
        if (part_.send.empty()) return {};
        gpulab::set_args(pack_, p_.data(), which_.data(), send_.data(), cl_ulong{which_.size()});
        return run_and_read("pack", pack_, "halo down", send_, send_.size(), host);
    }
    /// The same, and waits.
    void pack(T* host) {
        const cl::Event read = send(host);
        if (read()) read.wait();
    }
    /// Writes the halo, beside the kernels; multiply_border() waits for it. @param host must stay valid until then
    void receive(const T* host) {
        if (halo_.size() == 0) return;
        arrived_.assign(1, cl::Event());
        record_.command("halo up", '>', &arrived_[0], [&](cl::Event* place) {
            copies_.enqueueWriteBuffer(halo_.data(), CL_FALSE, 0, halo_.bytes(), host, nullptr, place);
        });
        copies_.flush();
    }
    /// Reads this part's elements of p into the whole vector on the host; waits for the queue.
    void read_p(std::vector<T>& whole) {
        if (rows_ == 0) return;
        record_.command("p down", '<', nullptr, [&](cl::Event* place) {
            context_.queue().enqueueReadBuffer(p_.data(), CL_TRUE, first_ * sizeof(T), rows_ * sizeof(T),
                                               whole.data() + part_.first, nullptr, place);
        });
    }
    /// Writes the whole vector into p. @param whole must stay valid until the queue has been waited for
    void write_p(const std::vector<T>& whole) {
        if (rows_ == 0) return;
        record_.command("p up", '>', nullptr, [&](cl::Event* place) {
            context_.queue().enqueueWriteBuffer(p_.data(), CL_FALSE, 0, p_.bytes(), whole.data(), nullptr, place);
        });
        context_.queue().flush();
    }

    /// Waits for both queues.
    void finish() {
        context_.queue().finish();
        copies_.finish();
    }
    /// Hands all commands so far to the device.
    void flush() { context_.queue().flush(); }

    /// Waits, copies this part's elements of x out and checks all guard bands that could be damaged.
    void solution(std::span<T> own) {
        finish();
        x_.copy_to(own);
        r_.check_guard_bands();
        q_.check_guard_bands();
        p_.check_guard_bands();
        halo_.check_guard_bands();
    }

    /// The time of one run of a kernel with this number of groups per compute unit, in milliseconds; for the tuning and
    /// for measuring how fast a device is.
    double time_of(const char* kernel, std::size_t groups_per_unit) {
        const std::string name = kernel;
        const std::size_t before = std::exchange(groups[name], groups_per_unit);
        record_.start();
        if (name == "dot") dot_rr();
        else if (name == "next_x") next_x(T{0});
        else if (name == "next_r") next_r(T{0});
        else if (name == "next_p") next_p(T{0});
        else {
            multiply(0, part_.halo.empty() ? rows_ : 0);
            multiply_with_halo(0, part_.halo.empty() ? 0 : rows_, {});
        }
        finish();
        record_.stop();
        const double ms = record_.ms().empty() ? 0 : record_.ms().begin()->second;
        groups[name] = before;
        return ms;
    }
    /// The same of several runs, after one that is not timed: it may compile or fetch something.
    gpulab::Timing times_of(const char* kernel, std::size_t groups_per_unit, int runs) {
        (void)time_of(kernel, groups_per_unit);
        std::vector<double> times;
        for (int i = 0; i < runs; ++i) times.push_back(time_of(kernel, groups_per_unit));
        return gpulab::summarise(times);
    }

private:
    /// Launches a kernel whose arguments are set.
    void run(const char* name, cl::Kernel& kernel, const char* shown = nullptr,
             const std::vector<cl::Event>* after = nullptr, cl::Event* event = nullptr) {
        const auto enqueue = [&](cl::Event* place) {
            context_.queue().enqueueNDRangeKernel(kernel, cl::NullRange, groups[name] * units() * local_, local_,
                                                  after && !after->empty() ? after : nullptr, place);
        };
        record_.command(name, '#', event, enqueue, shown);
    }
    /// Launches one of the kernels whose last argument is the number of rows.
    template <class... Arguments> void update(const char* name, cl::Kernel& kernel, const Arguments&... arguments) {
        if (rows_ == 0) return;
        gpulab::set_args(kernel, arguments..., cl_ulong{rows_});
        run(name, kernel);
    }
    /// Launches a kernel whose arguments are set, and reads numbers that it leaves, in the queue of the copies: kernels
    /// which follow in the other one need not wait. @return the event of the copy
    cl::Event run_and_read(const char* name, cl::Kernel& kernel, const char* copy, const gpulab::ClBuffer<T>& from,
                           std::size_t count, T* to) {
        cl::Event ready, read;
        run(name, kernel, nullptr, nullptr, &ready);
        context_.queue().flush();
        const std::vector<cl::Event> after{ready};
        record_.command(copy, '<', &read, [&](cl::Event* place) {
            copies_.enqueueReadBuffer(from.data(), CL_FALSE, 0, count * sizeof(T), to, &after, place);
        });
        copies_.flush();
        return read;
    }
    /// A dot product: a partial sum of each group, on the device and on the host.
    struct DotSum {
        explicit DotSum(std::size_t groups) : partial(groups), host(groups) {}
        double wait() {
            if (count == 0) return 0; // a part without rows
            read.wait();
            return std::accumulate(host.begin(), host.begin() + static_cast<std::ptrdiff_t>(count), 0.0);
        }
        gpulab::ClBuffer<T> partial;
        std::vector<T> host;
        std::size_t count = 0;
        cl::Event read;
    };
    /// @param vectors the first arguments of the kernel
    template <class... Vectors> void run_dot(cl::Kernel& kernel, DotSum& sum, const Vectors&... vectors) {
        if (rows_ == 0) return;
        gpulab::set_args(kernel, vectors..., cl_ulong{rows_}, sum.partial.data(), cl::Local(local_ * sizeof(T)));
        sum.count = groups["dot"] * units();
        sum.read = run_and_read("dot", kernel, "sums down", sum.partial, sum.count, sum.host.data());
    }
    void dot_rr() { run_dot(dot_, first_sum_, r_.data(), cl_ulong{0}, r_.data()); }

    gpulab::OpenClContext& context_;
    std::optional<gpulab::UseOpenCl> use_; // while this is constructed: what is below belongs to that context
    ClRecord record_;
    const Part<T>& part_;
    std::size_t rows_, first_;
    bool jacobi_;
    cl::CommandQueue copies_; // of halo and sums: beside the kernels in the device's own queue
    gpulab::ClBuffer<std::int32_t> row_start_, column_;
    gpulab::ClBuffer<T> value_, start_, inverse_, b_;
    gpulab::ClBuffer<std::int32_t> which_;
    gpulab::ClBuffer<T> x_, r_, q_, p_, send_, halo_;
    DotSum first_sum_, second_sum_;
    std::vector<cl::Event> arrived_; // of the halo; empty without one
    std::size_t local_ = 0;
    cl::Kernel dot_, dot_jacobi_, next_x_, next_r_, next_p_, spmv_, pack_, spmv_halo_;
};

} // namespace cg
