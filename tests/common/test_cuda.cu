#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cmath>
#include <vector>

#include "gpulab/cuda/buffer.hpp"
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

TEST_CASE("a failed CUDA call names the call, the file and the line, with or without a device") {
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

TEST_CASE("a CUDA buffer brings data there and back", "[cuda]") {
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
}

TEST_CASE("a fresh CUDA output is poisoned, an empty one is allowed", "[cuda]") {
    gpulab::use(devices_or_skip(Backend::cuda).front());
    std::vector<float> out(5, 1), none;
    DeviceBuffer<float>(5).copy_to(out);
    for (const float v : out) CHECK(std::isnan(v));
    CHECK_NOTHROW(DeviceBuffer<float>(0).copy_to(none));
    CHECK_NOTHROW(DeviceBuffer<float>(none).copy_to(none));
}

TEST_CASE("a stray write of a CUDA kernel is a wrong result, on either side", "[cuda][fails-on-purpose]") {
    gpulab::use(devices_or_skip(Backend::cuda).front());
    std::vector<int> out(10);
    DeviceBuffer<int> inside(10), after(10), before(10);
    fill(inside, 0, 10, 7);
    CHECK_NOTHROW(inside.copy_to(out));
    CHECK(out == std::vector<int>(10, 7));
    fill(after, 0, 11, 7);
    CHECK_THROWS_AS(after.copy_to(out), gpulab::WrongResult);
    fill(before, -1, 10, 7);
    CHECK_THROWS_AS(before.copy_to(out), gpulab::WrongResult);
}

TEST_CASE("damage to a CUDA buffer that was thrown is not noted again when the buffer is freed", "[cuda]") {
    if (gpulab::guard_bytes() == 0) SKIP("without guard bands there is nothing to see a stray write with");
    gpulab::use(devices_or_skip(Backend::cuda).front());
    std::vector<int> out(10);
    gpulab::take_stray_write();
    {
        DeviceBuffer<int> damaged(10);
        fill(damaged, 0, 11, 7);
        CHECK_THROWS_AS(damaged.copy_to(out), gpulab::WrongResult);
        DeviceBuffer<int> moved(std::move(damaged));
        DeviceBuffer<int> assigned(1);
        assigned = std::move(moved);
    }
    CHECK(gpulab::take_stray_write() == "");
    {
        DeviceBuffer<int> damaged(10);
        fill(damaged, 0, 11, 7);
    }
    CHECK(gpulab::take_stray_write() != "");
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

TEST_CASE("what a CUDA kernel reads outside an input is NaN, and a poisoned output has lost its result", "[cuda]") {
    if (gpulab::guard_bytes() == 0) SKIP("without guard bands there is nothing to read");
    gpulab::use(devices_or_skip(Backend::cuda).front());
    const DeviceBuffer<float> in(std::vector<float>{1, 2, 3});
    std::vector<float> out(1);
    for (const int i : {-1, 2, 3}) {
        DeviceBuffer<float> result(1);
        gpulab::Stopwatch once;
        gpulab::watch_stream(once, [&](cudaStream_t s) { read_kernel<<<1, 1, 0, s>>>(in.data(), i, result.data()); });
        result.copy_to(out);
        CHECK(std::isnan(out[0]) == (i != 2));
        gpulab::Stream stream;
        result.poison_async(stream);
        stream.synchronize();
        result.copy_to(out);
        CHECK(std::isnan(out[0]));
    }
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

TEST_CASE("what a CUDA kernel reads outside an input or an output is what GuardBands says", "[cuda]") {
    if (gpulab::guard_bytes() == 0) SKIP("without guard bands there is nothing to read");
    gpulab::use(devices_or_skip(Backend::cuda).front());
    const gpulab::GuardBands bands(gpulab::low_guard_byte);
    const DeviceBuffer<float> in(std::vector<float>{1, 2, 3});
    const DeviceBuffer<float> between(3);
    const gpulab::PinnedBuffer<float> pinned(3);
    std::vector<float> out(1);
    for (const float* const from : {in.data(), between.data()})
        for (const int i : {-1, 3}) {
            DeviceBuffer<float> result(1);
            gpulab::Stopwatch once;
            gpulab::watch_stream(once, [&](cudaStream_t s) { read_kernel<<<1, 1, 0, s>>>(from, i, result.data()); });
            result.copy_to(out);
            CHECK(out[0] < -1e38f);
        }
    CHECK(pinned.data()[3] < -1e38f);
    CHECK_NOTHROW(in.check_guard_bands());
    CHECK_NOTHROW(between.check_guard_bands());
    CHECK_NOTHROW(pinned.check_guard_bands());
}

namespace {

__global__ void planted_stray_kernel(int* out) { out[64 + threadIdx.x] = 1; } // beyond 64 elements

__global__ void planted_race_kernel(int* out) { // neighbours read without a barrier
    __shared__ int values[64];
    values[threadIdx.x] = static_cast<int>(threadIdx.x);
    out[threadIdx.x] = values[63 - threadIdx.x];
}

__global__ void planted_divergent_barrier_kernel(int* out) { // a barrier in a branch that not every thread takes
    if (threadIdx.x % 2 == 0) __syncthreads();
    __syncthreads(); // where the others meet those at the barrier above
    out[threadIdx.x] = 1;
}

__global__ void planted_unset_kernel(const int* in, int* out) { out[threadIdx.x] = in[threadIdx.x] + 1; }

/// Runs a kernel whose mistake a tool of compute-sanitizer must find. Only under that tool.
template <class Launch> void run_planted(const Launch& launch) {
    gpulab::use(devices_or_skip(Backend::cuda).front());
    const DeviceBuffer<int> unset(64), out(64);
    gpulab::Stopwatch once;
    try {
        gpulab::watch_stream(
            once, [&](cudaStream_t s) { launch(const_cast<int*>(unset.data()), const_cast<int*>(out.data()), s); });
    } catch (const gpulab::CudaError&) { // the tool stops the kernel
    }
    SUCCEED();
}

} // namespace

TEST_CASE("a planted write outside a buffer, for memcheck", "[.planted-stray-cuda]") {
    run_planted([](int*, int* out, cudaStream_t s) { planted_stray_kernel<<<1, 64, 0, s>>>(out); });
}
TEST_CASE("a planted race in shared memory, for racecheck", "[.planted-race-cuda]") {
    run_planted([](int*, int* out, cudaStream_t s) { planted_race_kernel<<<1, 64, 0, s>>>(out); });
}
TEST_CASE("a planted barrier in a branch, for synccheck", "[.planted-branch-cuda]") {
    run_planted([](int*, int* out, cudaStream_t s) { planted_divergent_barrier_kernel<<<1, 64, 0, s>>>(out); });
}
TEST_CASE("a planted read of unset memory, for initcheck", "[.planted-unset-cuda]") {
    run_planted([](int* in, int* out, cudaStream_t s) { planted_unset_kernel<<<1, 64, 0, s>>>(in, out); });
}
TEST_CASE("kernels in CUDA buffers of exact size are clean, for compute-sanitizer", "[.sanitizer]") {
    gpulab::use(devices_or_skip(Backend::cuda).front());
    std::vector<int> out(10);
    DeviceBuffer<int> inside(10);
    fill(inside, 0, 10, 7);
    inside.copy_to(out);
    CHECK(out == std::vector<int>(10, 7));
}
