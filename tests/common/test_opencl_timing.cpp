// Kernel time in OpenCL: which commands count and from when, held against the events themselves. And the ceilings of
// OpenCL devices: what their commands do and how it is counted, with times that the test makes up.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <cmath>
#include <cstring>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "gpulab/opencl/buffer.hpp"
#include "gpulab/opencl/timing.hpp"
#include "gpulab_testing/testing.hpp"
#include "opencl_ceilings.hpp"

using gpulab::Arithmetic;
using gpulab::Backend;
using gpulab::ClBuffer;
using gpulab::ClEvents;
using gpulab::testing::each_device;

namespace {

cl_ulong start_of(const cl::Event& event) { return event.getProfilingInfo<CL_PROFILING_COMMAND_START>(); }
cl_ulong end_of(const cl::Event& event) { return event.getProfilingInfo<CL_PROFILING_COMMAND_END>(); }
cl_ulong queued_at(const cl::Event& event) { return event.getProfilingInfo<CL_PROFILING_COMMAND_QUEUED>(); }

double ms_between(cl_ulong begin, cl_ulong end) { return static_cast<double>(end - begin) * 1e-6; }

/// Fills a buffer of 1 MiB with a byte.
class Filling {
public:
    void enqueue(const cl::CommandQueue& queue, cl::Event* event, cl_uchar value = 1) {
        queue.enqueueFillBuffer(buffer_, value, 0, std::size_t{1} << 20, nullptr, event);
    }

private:
    cl::Buffer buffer_{gpulab::opencl().context(), CL_MEM_READ_WRITE, std::size_t{1} << 20};
};

/// What happened in one run of watch_queue(), by the events.
struct Record {
    cl::Event reset, flush, first, last;
};

/// Times two commands with a pause between them, after a reset that takes long, and hands back what the stopwatch says
/// and what every run's events are.
std::pair<std::vector<double>, std::vector<Record>> watched(gpulab::Stopwatch watch) {
    Filling work, restore;
    std::vector<Record> runs;
    gpulab::watch_queue(
        watch,
        [&](const cl::CommandQueue& queue, ClEvents& events) {
            Record& run = runs.back();
            CHECK(events.empty());
            run.flush = events.flush();
            cl::Event* const first = events.add();
            work.enqueue(queue, first);
            queue.finish();
            std::this_thread::sleep_for(std::chrono::milliseconds(2)); // part of the run: nobody else works meanwhile
            cl::Event* const last = events.add();
            work.enqueue(queue, last);
            run.first = *first;
            run.last = *last;
            CHECK_FALSE(events.empty());
        },
        [&](const cl::CommandQueue& queue) {
            runs.emplace_back();
            for (int i = 0; i < 5; ++i) restore.enqueue(queue, &runs.back().reset);
        });
    return {watch.times_ms(), runs};
}

} // namespace

TEST_CASE("the time of OpenCL commands goes from the first start to the last end, in any order", "[opencl]") {
    each_device(Backend::opencl);
    const cl::CommandQueue& queue = gpulab::opencl().queue();
    Filling work;
    CHECK(ClEvents().elapsed_ms() == 0);
    CHECK(ClEvents().empty());

    // The command waits for others, so that it is queued long before it starts.
    for (int i = 0; i < 20; ++i) work.enqueue(queue, nullptr);
    ClEvents one;
    cl::Event* const only = one.add();
    work.enqueue(queue, only);
    queue.finish();
    REQUIRE(queued_at(*only) < start_of(*only));
    CHECK(one.elapsed_ms() == ms_between(start_of(*only), end_of(*only)));

    // The last of three is added first, and the others between.
    ClEvents three;
    cl::Event* const last = three.add();
    cl::Event* const first = three.add();
    cl::Event* const middle = three.add();
    for (cl::Event* const event : {first, middle, last}) {
        work.enqueue(queue, event);
        queue.finish();
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    REQUIRE(end_of(*first) < start_of(*middle));
    REQUIRE(end_of(*middle) < start_of(*last));
    CHECK(three.elapsed_ms() == ms_between(start_of(*first), end_of(*last)));
    CHECK_FALSE(three.empty());
}

TEST_CASE("a stopwatch on a queue times each timed run, without warm-up, reset and the flush before it", "[opencl]") {
    gpulab::Device of_a_small_cache = each_device(Backend::opencl); // that of a server's CPU takes seconds to overwrite
    of_a_small_cache.l2_bytes = 3 << 20;
    gpulab::OpenClContext context(of_a_small_cache, gpulab::opencl().device());
    const gpulab::UseOpenCl here(context);
    CHECK(gpulab::flush_buffer(context).getInfo<CL_MEM_SIZE>() == std::size_t{6} << 20);
    for (const bool flushes : {false, true}) {
        const auto [times, runs] = watched(gpulab::Stopwatch(2, 3, 0, flushes));
        REQUIRE(runs.size() == 5);
        REQUIRE(times.size() == 3);
        for (std::size_t i = 0; i < runs.size(); ++i) {
            const Record& run = runs[i];
            const bool flushed = flushes && i >= 2; // not before the warm-up
            if (i > 0) CHECK(end_of(runs[i - 1].last) <= start_of(run.reset));
            if (i >= 2) CHECK(times[i - 2] == ms_between(start_of(run.first), end_of(run.last)));
            CHECK(end_of(run.reset) <= start_of(run.first)); // the reset comes before each run
            REQUIRE((run.flush() != nullptr) == flushed);
            if (!flushed) continue;
            CHECK(run.flush.getInfo<CL_EVENT_COMMAND_TYPE>() == CL_COMMAND_FILL_BUFFER);
            CHECK(end_of(run.reset) <= start_of(run.flush));
            CHECK(end_of(run.flush) <= start_of(run.first));
            CHECK(run.flush() != runs[i - 1].flush()); // each run has its own
        }
    }
    // A second measurement replaces the first.
    gpulab::Stopwatch watch(0, 2);
    int bodies = 0;
    for (int again = 0; again < 2; ++again)
        gpulab::watch_queue(watch, [&](const cl::CommandQueue&, ClEvents&) { ++bodies; });
    CHECK(bodies == 4);
    CHECK(watch.times_ms() == std::vector<double>{0, 0}); // without commands there is no time
}

TEST_CASE("a flush overwrites its buffer from the first byte to the last, and has ended then", "[opencl]") {
    each_device(Backend::opencl);
    gpulab::OpenClContext& context = gpulab::opencl();
    std::vector<unsigned char> bytes(100'003, 0xAB);
    const cl::Buffer buffer(context.context(), CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, bytes.size(), bytes.data());
    const cl::Event event = gpulab::overwrite(context, buffer);
    CHECK(event.getInfo<CL_EVENT_COMMAND_EXECUTION_STATUS>() == CL_COMPLETE);
    context.queue().enqueueReadBuffer(buffer, CL_TRUE, 0, bytes.size(), bytes.data());
    CHECK(bytes == std::vector<unsigned char>(bytes.size(), 0));
}

TEST_CASE("a flush takes twice the cache, and 2 MiB where the driver tells of none") {
    gpulab::Device device;
    CHECK(gpulab::flush_bytes(device) == std::size_t{2} << 20);
    device.l2_bytes = 1 << 10;
    CHECK(gpulab::flush_bytes(device) == std::size_t{2} << 20);
    device.l2_bytes = std::uint64_t{50} << 20;
    CHECK(gpulab::flush_bytes(device) == std::size_t{100} << 20);
}

namespace {
/// Stands in for the timer: runs commands once, which must have events, and says that the median of five runs is 4 ms.
gpulab::Timing run_once(const std::function<void(const cl::CommandQueue&, ClEvents&)>& body) {
    ClEvents events;
    body(gpulab::opencl().queue(), events);
    gpulab::opencl().queue().finish();
    CHECK_FALSE(events.empty());
    return {4, 1, 9, 5};
}
} // namespace

TEST_CASE("both copies of the copy ceiling copy every byte, and count each as read and written", "[opencl]") {
    each_device(Backend::opencl);
    const cl::CommandQueue& queue = gpulab::opencl().queue();
    for (const std::size_t bytes : {std::size_t{16}, std::size_t{16 * 255}, std::size_t{16 * 1003}}) {
        gpulab::detail::OpenClCopy copy(bytes);
        CHECK(copy.bytes_moved() == 2.0 * static_cast<double>(bytes));
        std::vector<char> pattern(bytes), got(bytes);
        for (std::size_t i = 0; i < bytes; ++i) pattern[i] = static_cast<char>(i % 101);
        copy.from.copy_from(pattern);
        for (const bool by_driver : {true, false}) {
            copy.to.poison_async(queue);
            run_once([&](const cl::CommandQueue& q, ClEvents& events) {
                by_driver ? copy.by_driver(q, events) : copy.by_kernel(q, events);
            });
            copy.to.copy_to(got);
            CHECK(got == pattern);
        }
    }
}

TEST_CASE("a ceiling is timed in five runs, after two that do not count", "[opencl]") {
    each_device(Backend::opencl);
    Filling work;
    std::vector<cl::Event> events;
    const gpulab::Timing timing = gpulab::detail::five_runs([&](const cl::CommandQueue& queue, ClEvents& of_run) {
        cl::Event* const event = of_run.add();
        work.enqueue(queue, event);
        events.push_back(*event);
    });
    REQUIRE(events.size() == 7);
    std::vector<double> times;
    for (std::size_t i = 2; i < 7; ++i) times.push_back(ms_between(start_of(events[i]), end_of(events[i])));
    const gpulab::Timing expected = gpulab::summarise(times);
    CHECK(timing.repeats == 5);
    CHECK(timing.median == expected.median);
    CHECK(timing.min == expected.min);
    CHECK(timing.max == expected.max);
}

TEST_CASE("the copy ceiling takes as much memory as is there, up to 256 MiB on a CPU and 1 GiB on a GPU") {
    using gpulab::detail::opencl_copy_bytes;
    constexpr std::size_t mib = 1 << 20, any = ~std::size_t{0};
    gpulab::Device cpu, gpu;
    cpu.is_cpu = true;
    cpu.memory_bytes = gpu.memory_bytes = std::uint64_t{16} << 30;
    CHECK(opencl_copy_bytes(cpu, any) == 256 * mib);
    CHECK(opencl_copy_bytes(gpu, any) == 1024 * mib);
    CHECK(opencl_copy_bytes(gpu, 100 * mib) == 100 * mib);
    CHECK(opencl_copy_bytes(gpu, 100 * mib + 17) == 100 * mib + 16); // whole vectors of four floats
    cpu.memory_bytes = gpu.memory_bytes = std::uint64_t{1} << 30;
    CHECK(opencl_copy_bytes(cpu, any) == 128 * mib);
    CHECK(opencl_copy_bytes(gpu, any) == 128 * mib);
}

TEST_CASE("the work of a ceiling fills a device: large groups on a GPU, and long chains", "[opencl]") {
    const gpulab::Device& found = each_device(Backend::opencl);
    const std::size_t most = gpulab::opencl().device().getInfo<CL_DEVICE_MAX_WORK_GROUP_SIZE>();
    CHECK(gpulab::detail::OpenClCopy(1600).group() == std::min<std::size_t>(256, most));
    gpulab::Device device = found;
    for (const bool is_cpu : {true, false}) {
        device.is_cpu = is_cpu;
        CHECK(gpulab::detail::opencl_chain_group(device) == (is_cpu ? 16 : 256));
        const double flops = 2.0 * 32 * gpulab::detail::opencl_steps(device) *
                             static_cast<double>(gpulab::detail::opencl_chain_items(device));
        // Of each compute unit: some milliseconds, against which a launch does not count.
        CHECK((flops / device.compute_units > 1e8 && flops / device.compute_units < 1e9));
    }
}

TEST_CASE("the copy ceiling is the better of the two copies, each by its median", "[opencl]") {
    each_device(Backend::opencl);
    const auto rate = [](std::vector<gpulab::Timing> times) { // of the driver's copy and of the kernel's
        std::size_t measured = 0;
        const double gb_per_s = gpulab::detail::opencl_copy_gb_per_s(1600, [&](const auto& body) {
            run_once(body);
            return times.at(measured++);
        });
        CHECK(measured == 2);
        return gb_per_s;
    };
    CHECK(rate({{4, 1, 9, 5}, {2, 1, 9, 5}}) == 3200 / 2e6);
    CHECK(rate({{2, 1, 9, 5}, {4, 1, 9, 5}}) == 3200 / 2e6);
}

namespace {

/// The sums that a work-item's chains of multiply-adds must have, for the items of one group.
double sum_of_chains(std::size_t local_id, int steps) {
    double sum = 0;
    for (int chain = 0; chain < 32; ++chain) {
        double x = static_cast<double>(local_id) + chain / 4;
        for (int i = 0; i < steps; ++i) x = 0.999 * x + 0.001;
        sum += x;
    }
    return sum;
}

template <class T> void check_chains(const gpulab::Device& device, Arithmetic kind) {
    const std::size_t group = gpulab::detail::opencl_chain_group(device);
    const std::size_t items = gpulab::detail::opencl_chain_items(device);
    CHECK(items == group * static_cast<std::size_t>(device.compute_units) * 16);
    for (const int steps : {0, 1, 100}) {
        std::vector<T> sums(items);
        std::vector<unsigned char> bytes(items * sizeof(T));
        const ClBuffer<unsigned char> kept(bytes.size()), not_kept(sizeof(T));
        for (const auto* const to : {&kept, &not_kept})
            CHECK(gpulab::detail::opencl_gflop_per_s(device, kind, steps, *to, run_once) ==
                  2.0 * 32 * steps * static_cast<double>(items) / 4e6);
        kept.copy_to(bytes);
        std::memcpy(sums.data(), bytes.data(), bytes.size());
        std::size_t wrong = 0;
        for (std::size_t i = 0; i < sums.size(); ++i) {
            const double expected = sum_of_chains(i % group, steps);
            wrong += !(std::abs(sums[i] - expected) <= (sizeof(T) == 4 ? 1e-5 : 1e-13) * expected);
        }
        CHECK(wrong == 0);
    }
}

} // namespace

TEST_CASE("the chains of the arithmetic ceiling take every step, and each counts as two operations", "[opencl]") {
    const gpulab::Device& device = each_device(Backend::opencl);
    check_chains<float>(device, Arithmetic::fp32);
    if (device.fp64) check_chains<double>(device, Arithmetic::fp64);
}
