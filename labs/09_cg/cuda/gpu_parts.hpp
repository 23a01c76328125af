/// @file
/// What rungs for several GPUs share: making a device current, sharing out the rows, and the times for a trace.
#pragma once

#include <chrono>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "device.hpp"
#include "fused.cuh"
#include "gpulab/device.hpp"
#include "split.hpp"
#include "state.hpp"

namespace cg {

/// Makes another device current during its lifetime.
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
    using Clock = std::chrono::steady_clock;
    void start(cudaStream_t stream) {
        zero_.emplace();
        zero_->record(stream);
        zero_->synchronize();
        host_us_ = std::chrono::duration<double, std::micro>(Clock::now().time_since_epoch()).count();
    }
    /// Forgets all commands; those that follow are not recorded.
    void stop() {
        zero_.reset();
        marks_.clear();
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
    /// Adds the time of every kernel to that of its kind, and forgets all commands. The kinds have the names of rung 1,
    /// and of these kernels most do the work of two: spmv computes p . q too, next_r the sums of r, next_x also p.
    /// @pre all commands have ended
    void add_to(std::map<std::string, double>& ms) {
        static const std::map<std::string, const char*> kinds = {
            {"collect", "pack"},     {"send", "pack"},    {"first residual", "spmv"}, {"inner rows", "spmv"},
            {"border rows", "spmv"}, {"product", "spmv"}, {"residual", "next_r"},     {"next x and p", "next_x"}};
        for (const Mark& m : marks_)
            if (m.kind == std::string("kernel")) ms[kinds.at(m.name)] += gpulab::Event::ms_between(m.begin, m.end);
        marks_.clear();
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

/// The elements of a vector that belong to the rows of a part.
template <class T> std::vector<T> piece(const std::vector<T>& whole, const Part<T>& part) {
    const auto begin = whole.begin() + static_cast<std::ptrdiff_t>(part.first);
    return std::vector<T>(begin, begin + static_cast<std::ptrdiff_t>(part.rows()));
}

/// The time in which a device multiplies its rows, in milliseconds.
template <class T> double multiply_ms(int device, const Part<T>& part) {
    const OnDevice on(device);
    const DeviceSliced<T> matrix(part.matrix);
    gpulab::DeviceBuffer<T> q(part.rows());
    const gpulab::DeviceBuffer<T> p(std::vector<T>(part.p_size(), T{1}));
    gpulab::DeviceBuffer<double> partial(blocks_for(product_kernel<T, SlicedRows<T>>, part.rows()));
    DeviceState state(0);
    Stopwatch watch(2, 5);
    gpulab::watch_stream(watch, [&](cudaStream_t stream) {
        state.clear(stream);
        product_kernel<T><<<static_cast<unsigned>(partial.size()), block_threads, 0, stream>>>(
            matrix.view(), p.data(), q.data(), partial.data(), state.data());
    });
    return watch.kernel().median;
}

/// Solves once more, outside the times, with events around every kernel.
/// @param parts GpuParts or StoringParts
/// @return the time of each kind of kernel: of the part in which that kind took longest, because GPUs work at the same
///         time
template <class Parts> std::vector<std::pair<std::string, double>> kernel_times_of(Parts& parts, std::size_t limit) {
    std::vector<std::map<std::string, double>> ms; // of each part
    parts.each([&](auto&) { ms.emplace_back(); });
    const auto collect = [&] { // after every few iterations, so that there are few events
        std::size_t number = 0;
        parts.synchronize();
        parts.each([&](auto& part) { part.trace.add_to(ms[number++]); });
    };
    parts.reset();
    parts.each([](auto& part) { part.trace.start(part.stream); });
    parts.begin();
    parts.front().state.until_stopped(parts.front().stream, limit, [&](std::size_t left) {
        const std::size_t iterations = std::min<std::size_t>(left, 8);
        for (std::size_t k = 0; k < iterations; ++k) parts.iterate();
        collect();
        return iterations;
    });
    collect();
    parts.each([](auto& part) { part.trace.stop(); });
    return longest_times(ms);
}

/// The rows of a system, shared out over GPUs.
template <class T> struct SharedOut {
    std::vector<int> devices; ///< the device of every part; parts may share one
    std::vector<Part<T>> parts;
    std::string note; ///< how many rows each has, when that was measured; else empty
};

/// Shares the rows out over all GPUs in use: a part for each, two at least, or as many as the problem asks for.
template <class T> SharedOut<T> share_out(const Problem<T>& problem) {
    std::vector<int> found;
    for (const gpulab::Device& device : gpulab::devices_in_use())
        if (device.backend == gpulab::Backend::cuda) found.push_back(device.index);
    if (found.empty()) found.push_back(0);
    SharedOut<T> out;
    const std::size_t count = problem.parts > 0 ? problem.parts : std::max<std::size_t>(found.size(), 2);
    for (std::size_t i = 0; i < count; ++i) out.devices.push_back(found[i % found.size()]);

    Split split = split_rows(problem.matrix, std::vector<double>(count, 1.0));
    if (problem.balance == Balance::speed) {
        const auto equal = make_parts(problem.matrix, split);
        std::vector<double> ms(count); // 0 for a part without a row
        for (std::size_t i = 0; i < count; ++i)
            if (equal[i].rows() > 0) ms[i] = std::max(multiply_ms(out.devices[i], equal[i]), 1e-6);
        split = split_by_speed(problem.matrix, split, ms);
        out.note = "rows by measured speed:";
        for (std::size_t i = 0; i < count; ++i) out.note += " " + std::to_string(split.rows(i));
    }
    out.parts = make_parts(problem.matrix, split);
    return out;
}

} // namespace cg
