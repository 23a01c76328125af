#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <chrono>
#include <cmath>
#include <functional>
#include <vector>

#include "cuda_ceilings.hpp"
#include "gpulab/cuda/buffer.hpp"
#include "gpulab/cuda/check.hpp"
#include "gpulab/cuda/error.hpp"
#include "gpulab/cuda/occupancy.hpp"
#include "gpulab/cuda/timing.hpp"
#include "gpulab_testing/testing.hpp"

using gpulab::Backend;
using gpulab::DeviceBuffer;
using gpulab::testing::devices_or_skip;

namespace {

/// Writes out[first .. last), which may lie outside.
__global__ void fill_kernel(int* out, int first, int last, int value) {
    const int i = first + static_cast<int>(threadIdx.x);
    if (i < last) out[i] = value;
}

void fill(DeviceBuffer<int>& out, int first, int last, int value) {
    gpulab::Stopwatch once;
    gpulab::watch_stream(once, [&](cudaStream_t s) { fill_kernel<<<1, 64, 0, s>>>(out.data(), first, last, value); });
    CHECK(once.kernel().repeats == 1);
}

} // namespace

TEST_CASE("a failed CUDA call names the call, the file and the line, with or without a device", "[cuda]") {
    // Setting a device that no machine has fails everywhere, also where there is no driver.
    CHECK_THROWS_MATCHES(CUDA_CHECK(cudaSetDevice(1 << 20)), gpulab::CudaError,
                         Catch::Matchers::MessageMatches(Catch::Matchers::ContainsSubstring("cudaSetDevice(1 << 20)") &&
                                                         Catch::Matchers::ContainsSubstring("test_cuda.cu:")));
}

TEST_CASE("a launch that is impossible is caught at the launch", "[cuda][fails-on-purpose]") {
    gpulab::use(devices_or_skip(Backend::cuda).front());
    gpulab::Stopwatch once;
    CHECK_THROWS_AS(
        gpulab::watch_stream(once, [](cudaStream_t s) { fill_kernel<<<1, 4096, 0, s>>>(nullptr, 0, 0, 0); }),
        gpulab::CudaError);
}

TEST_CASE("a CUDA buffer carries data to the device and back, one not written is poisoned, one may be empty",
          "[cuda]") {
    gpulab::use(devices_or_skip(Backend::cuda).front());
    std::vector<int> in{1, 2, 3}, out(3), wrong_length(2);
    const DeviceBuffer<int> buffer(in);
    buffer.copy_to(out);
    CHECK(out == in);
    CHECK_THROWS_AS(buffer.copy_to(wrong_length), gpulab::Error);
    DeviceBuffer<int> moved(4);
    moved = DeviceBuffer<int>(in);
    moved.copy_to(out);
    CHECK(out == in);
    std::vector<float> unwritten(5, 1), none;
    DeviceBuffer<float>(5).copy_to(unwritten);
    for (const float v : unwritten) CHECK(std::isnan(v));
    CHECK_NOTHROW(DeviceBuffer<float>(0).copy_to(none));
    CHECK_NOTHROW(DeviceBuffer<float>(none).copy_to(none));
}

TEST_CASE("a stray write of a CUDA kernel is a wrong result, on either side, and told once",
          "[cuda][fails-on-purpose]") {
    gpulab::use(devices_or_skip(Backend::cuda).front());
    std::vector<int> out(10);
    DeviceBuffer<int> inside(10);
    fill(inside, 0, 10, 7);
    CHECK_NOTHROW(inside.copy_to(out));
    CHECK(out == std::vector<int>(10, 7));
    for (const auto& [first, last] : {std::pair{0, 11}, {-1, 10}})
        for (const bool thrown : {true, false}) {
            gpulab::take_stray_write();
            {
                DeviceBuffer<int> damaged(10);
                fill(damaged, first, last, 7);
                if (thrown) CHECK_THROWS_AS(damaged.copy_to(out), gpulab::WrongResult);
                DeviceBuffer<int> moved(std::move(damaged)), assigned(1);
                assigned = std::move(moved);
            }
            if (gpulab::guard_bytes() > 0)
                CHECK(gpulab::take_stray_write().empty() == thrown); // noted when it is freed
        }
}

TEST_CASE("kernel time is measured, with a reset before each run and with a cold cache", "[cuda]") {
    gpulab::use(devices_or_skip(Backend::cuda).front());
    DeviceBuffer<int> out(10);
    int resets = 0;
    gpulab::Stopwatch watch(1, 3, 0, true);
    gpulab::watch_stream(
        watch, [&](cudaStream_t s) { fill_kernel<<<1, 64, 0, s>>>(out.data(), 0, 10, 1); },
        [&](cudaStream_t) { ++resets; });
    CHECK(watch.kernel().repeats == 3);
    CHECK(watch.kernel().min > 0);
    CHECK(resets == 4);
}

TEST_CASE("kernel time holds all of the body, and neither the reset nor its delay", "[cuda]") {
    gpulab::use(devices_or_skip(Backend::cuda).front());
    DeviceBuffer<int> out(10);
    const auto kernel = [&](cudaStream_t s) { fill_kernel<<<1, 64, 0, s>>>(out.data(), 0, 10, 1); };
    gpulab::Stopwatch around(0, 2), beside(1, 5), delayed(1, 5);
    const gpulab::TestHooks hooks{.reset_delay_ms = 20};
    delayed.hooks = &hooks;
    gpulab::testing::in_turn([&] {
        gpulab::watch_stream(around, [&](cudaStream_t s) { kernel(s), gpulab::delay(s, 20), kernel(s); });
        gpulab::watch_stream(beside, kernel, [&](cudaStream_t s) { gpulab::delay(s, 20); });
        gpulab::watch_stream(delayed, kernel, [](cudaStream_t) {});
    });
    CHECK(around.kernel().min >= 19.9); // a sleep of 20 ms never ends early; the clock of the events is another one
    // A delay that counted would be in every run. The shortest of five, because another program may have the GPU.
    CHECK(beside.kernel().min < 19.9);
    CHECK(delayed.kernel().min < 19.9);
}

namespace {

/// The commands that watch_stream() itself puts between the reset and the body of a timed run.
std::vector<cudaGraphNodeType> commands_before_body(bool flush_l2, std::size_t& bytes_set) {
    gpulab::Stopwatch watch(0, 1, 0, flush_l2);
    cudaGraph_t graph = nullptr;
    struct Captured {}; // thrown, because the first event is in the graph, so that there is no time
    const auto body = [&](cudaStream_t s) {
        CUDA_CHECK(cudaStreamEndCapture(s, &graph));
        throw Captured{};
    };
    const auto reset = [](cudaStream_t s) { CUDA_CHECK(cudaStreamBeginCapture(s, cudaStreamCaptureModeRelaxed)); };
    CHECK_THROWS_AS(gpulab::watch_stream(watch, body, reset), Captured);
    REQUIRE(graph != nullptr);
    std::size_t count = 0;
    CUDA_CHECK(cudaGraphGetNodes(graph, nullptr, &count));
    std::vector<cudaGraphNode_t> nodes(count);
    if (count > 0) CUDA_CHECK(cudaGraphGetNodes(graph, nodes.data(), &count));
    std::vector<cudaGraphNodeType> types;
    for (const cudaGraphNode_t node : nodes) {
        types.emplace_back();
        CUDA_CHECK(cudaGraphNodeGetType(node, &types.back()));
        if (types.back() != cudaGraphNodeTypeMemset) continue;
        cudaMemsetParams set{};
        CUDA_CHECK(cudaGraphMemsetNodeGetParams(node, &set));
        bytes_set += set.elementSize * set.width * set.height;
    }
    CUDA_CHECK(cudaGraphDestroy(graph));
    return types;
}

} // namespace

TEST_CASE("twice the L2 cache is overwritten between reset and kernel when the stopwatch says so", "[cuda]") {
    const gpulab::Device& device = devices_or_skip(Backend::cuda).front();
    gpulab::use(device);
    std::size_t bytes = 0;
    CHECK(commands_before_body(false, bytes).empty());
    CHECK(bytes == 0);
    CHECK(commands_before_body(true, bytes) == std::vector{cudaGraphNodeTypeMemset});
    CHECK(bytes == 2 * std::max<std::size_t>(device.l2_bytes, 1 << 20));
}

TEST_CASE("a CUDA device is described as the runtime describes it", "[cuda]") {
    for (const gpulab::Device& device : devices_or_skip(Backend::cuda)) {
        cudaDeviceProp p{};
        CUDA_CHECK(cudaGetDeviceProperties(&p, device.index));
        CHECK(device.name == p.name);
        CHECK(device.memory_bytes == p.totalGlobalMem);
        CHECK(device.l2_bytes == static_cast<std::uint64_t>(p.l2CacheSize));
        CHECK(device.compute_units == p.multiProcessorCount);
        CHECK(device.compute_capability == 10 * p.major + p.minor);
        CHECK(device.cooperative_launch == (p.cooperativeLaunch == 1));
        CHECK_FALSE(device.is_cpu);
    }
}

namespace {
/// Stands in for the timer: runs work once, and says that the median of five runs is 4 ms.
struct OneRun {
    gpulab::Timing operator()(const std::function<void(cudaStream_t)>& work) {
        const gpulab::Stream stream;
        work(stream);
        stream.synchronize();
        ++runs;
        return {4, 1, 9, 5};
    }
    int runs = 0;
};
} // namespace

TEST_CASE("the copy ceiling copies every byte, and counts each as read and written", "[cuda]") {
    gpulab::use(devices_or_skip(Backend::cuda).front());
    for (const std::size_t bytes : {std::size_t{1}, std::size_t{100'003}}) {
        std::vector<char> pattern(bytes), got(bytes);
        for (std::size_t i = 0; i < bytes; ++i) pattern[i] = static_cast<char>(i % 101);
        const DeviceBuffer<char> from(pattern);
        DeviceBuffer<char> to(bytes);
        OneRun timer;
        CHECK(gpulab::detail::cuda_copy_gb_per_s(from, to, std::ref(timer)) == 2.0 * static_cast<double>(bytes) / 4e6);
        CHECK(timer.runs == 1);
        to.copy_to(got);
        CHECK(got == pattern);
    }
}

namespace {

template <class T> void check_chains() {
    const std::size_t threads = gpulab::detail::cuda_chain_threads();
    CHECK(threads == std::size_t{256} * 16 * gpulab::multiprocessor_count());
    for (const int steps : {0, 1, 100}) {
        std::vector<T> sums(threads);
        DeviceBuffer<T> kept(threads), not_kept(1);
        const double flops = 2.0 * 8 * steps * static_cast<double>(threads);
        for (DeviceBuffer<T>* const to : {&kept, &not_kept})
            CHECK(gpulab::detail::cuda_gflop_per_s(steps, *to, OneRun()) == flops / 4e6);
        kept.copy_to(sums);
        std::vector<double> expected(256);
        for (std::size_t thread = 0; thread < 256; ++thread)
            for (int j = 0; j < 8; ++j) {
                double x = static_cast<double>(thread) + j;
                for (int i = 0; i < steps; ++i) x = 0.999 * x + 0.001;
                expected[thread] += x;
            }
        std::size_t wrong = 0;
        for (std::size_t i = 0; i < sums.size(); ++i)
            wrong += !(std::abs(sums[i] - expected[i % 256]) <= (sizeof(T) == 4 ? 1e-5 : 1e-13) * expected[i % 256]);
        CHECK(wrong == 0);
    }
}

} // namespace

TEST_CASE("the arithmetic ceiling is two operations for each step of a chain, over the median", "[cuda]") {
    gpulab::use(devices_or_skip(Backend::cuda).front());
    check_chains<float>();
    check_chains<double>();
}

TEST_CASE("occupancy is between nothing and all warps", "[cuda]") {
    gpulab::use(devices_or_skip(Backend::cuda).front());
    const gpulab::Occupancy o = gpulab::occupancy(fill_kernel, 256);
    CHECK(o.blocks_per_sm >= 1);
    CHECK(o.warps_per_sm == 8 * o.blocks_per_sm);
    CHECK((o.percent > 0 && o.percent <= 100));
    CHECK(gpulab::multiprocessor_count() >= 1);
}

TEST_CASE("page-locked memory starts poisoned, and a stray write to it is seen, also when it is freed", "[cuda]") {
    gpulab::use(devices_or_skip(Backend::cuda).front());
    gpulab::Stopwatch once;
    const auto fill_host = [&](gpulab::PinnedBuffer<int>& out, int last) {
        gpulab::watch_stream(once, [&](cudaStream_t s) { fill_kernel<<<1, 64, 0, s>>>(out.on_device(), 0, last, 7); });
    };
    gpulab::PinnedBuffer<float> fresh(3);
    for (const float v : fresh.span()) CHECK(std::isnan(v));
    gpulab::PinnedBuffer<int> inside(10, cudaHostAllocMapped);
    fill_host(inside, 10);
    CHECK_NOTHROW(inside.check_guard_bands());
    CHECK(inside[9] == 7);
    if (gpulab::guard_bytes() == 0) return; // nothing to see a stray write with
    gpulab::take_stray_write();
    {
        gpulab::PinnedBuffer<int> outside(10, cudaHostAllocMapped);
        fill_host(outside, 11);
    }
    CHECK(gpulab::take_stray_write() == "the kernel wrote past the end of a buffer (1 elements past the last)");
    {
        gpulab::PinnedBuffer<int> outside(10, cudaHostAllocMapped);
        fill_host(outside, 11);
        CHECK_THROWS_AS(outside.check_guard_bands(), gpulab::WrongResult);
    }
    CHECK(gpulab::take_stray_write() == ""); // it has been told of
}

namespace {

/// Reads in[i], which may lie outside, into out[0].
__global__ void read_kernel(const float* in, int i, float* out) { out[0] = in[i]; }

} // namespace

TEST_CASE("what a CUDA kernel reads outside a buffer is NaN, or what GuardBands says", "[cuda]") {
    if (gpulab::guard_bytes() == 0) SKIP("without guard bands there is nothing to read");
    gpulab::use(devices_or_skip(Backend::cuda).front());
    const auto read = [](const float* from, int i) { // from[i], and then the poison that takes its place
        DeviceBuffer<float> result(1);
        gpulab::Stopwatch once;
        gpulab::watch_stream(once, [&](cudaStream_t s) { read_kernel<<<1, 1, 0, s>>>(from, i, result.data()); });
        std::vector<float> out(1), poisoned(1);
        result.copy_to(out);
        const gpulab::Stream stream;
        result.poison_async(stream);
        stream.synchronize();
        result.copy_to(poisoned);
        CHECK(std::isnan(poisoned[0]));
        return out[0];
    };
    const DeviceBuffer<float> usual(std::vector<float>{1, 2, 3});
    CHECK(read(usual.data(), 2) == 3);
    const gpulab::GuardBands bands(gpulab::low_guard_byte);
    const DeviceBuffer<float> in(std::vector<float>{1, 2, 3}), between(3);
    const gpulab::PinnedBuffer<float> pinned(3);
    for (const int i : {-1, 3}) {
        CHECK(std::isnan(read(usual.data(), i)));
        CHECK(read(in.data(), i) < -1e38f);
        CHECK(read(between.data(), i) < -1e38f);
    }
    CHECK(pinned.data()[3] < -1e38f);
    CHECK_NOTHROW(in.check_guard_bands());
    CHECK_NOTHROW(between.check_guard_bands());
    CHECK_NOTHROW(pinned.check_guard_bands());
}

TEST_CASE("a stream of high priority comes before the others", "[cuda]") {
    gpulab::use(devices_or_skip(Backend::cuda).front());
    int least = 0, greatest = 0, normal = 1, high = 1;
    CUDA_CHECK(cudaDeviceGetStreamPriorityRange(&least, &greatest));
    const gpulab::Stream usual, other(gpulab::Stream::Priority::normal), first(gpulab::Stream::Priority::high);
    CUDA_CHECK(cudaStreamGetPriority(first, &high));
    CHECK(high == greatest);
    for (const gpulab::Stream* const stream : {&usual, &other}) {
        CUDA_CHECK(cudaStreamGetPriority(*stream, &normal));
        CHECK(normal == least);
    }
}

namespace {

__global__ void planted_stray_kernel(const int*, int* out) { out[64 + threadIdx.x] = 1; } // beyond 64 elements

// Past the end of 128 elements (512 bytes), where the next array may begin without a gap.
__global__ void planted_next_kernel(const int* in, int* out) { out[threadIdx.x] = in[128 + threadIdx.x]; }

__global__ void planted_race_kernel(const int*, int* out) { // neighbours read without a barrier
    __shared__ int values[64];
    values[threadIdx.x] = static_cast<int>(threadIdx.x);
    out[threadIdx.x] = values[63 - threadIdx.x];
}

__global__ void planted_divergent_barrier_kernel(const int*, int* out) { // in a branch that not every thread takes
    if (threadIdx.x % 2 == 0) __syncthreads();
    __syncthreads(); // where the others meet those at the barrier above
    out[threadIdx.x] = 1;
}

__global__ void planted_unset_kernel(const int* in, int* out) { out[threadIdx.x] = in[threadIdx.x] + 1; }

/// Runs a kernel whose mistake a tool of compute-sanitizer must find. Only under that tool.
void run_planted(void (*kernel)(const int*, int*)) {
    gpulab::use(devices_or_skip(Backend::cuda).front());
    const DeviceBuffer<int> unset(128);
    DeviceBuffer<int> out(64);
    gpulab::Stopwatch once;
    try {
        gpulab::watch_stream(once, [&](cudaStream_t s) { kernel<<<1, 64, 0, s>>>(unset.data(), out.data()); });
    } catch (const gpulab::CudaError&) { // the tool stops the kernel
    }
    SUCCEED();
}

} // namespace

TEST_CASE("a planted write outside a buffer, for memcheck", "[.planted-stray-cuda]") {
    run_planted(planted_stray_kernel);
}
TEST_CASE("a planted read of the next array, for memcheck", "[.planted-next-cuda]") {
    run_planted(planted_next_kernel);
}
TEST_CASE("a planted race in shared memory, for racecheck", "[.planted-race-cuda]") {
    run_planted(planted_race_kernel);
}
TEST_CASE("a planted barrier in a branch, for synccheck", "[.planted-branch-cuda]") {
    run_planted(planted_divergent_barrier_kernel);
}
TEST_CASE("a planted read of unset memory, for initcheck", "[.planted-unset-cuda]") {
    run_planted(planted_unset_kernel);
}
TEST_CASE("kernels in CUDA buffers of exact size are clean, for compute-sanitizer", "[.sanitizer]") {
    gpulab::use(devices_or_skip(Backend::cuda).front());
    std::vector<int> out(10);
    DeviceBuffer<int> inside(10);
    fill(inside, 0, 10, 7);
    inside.copy_to(out);
    CHECK(out == std::vector<int>(10, 7));
}
