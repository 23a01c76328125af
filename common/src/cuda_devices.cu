// The CUDA side of device.hpp and ceilings.hpp: finding devices, and what they reach with nothing else to do.
#include <algorithm>
#include <cstdint>
#include <string>
#include <thread>

#include "backends.hpp"
#include "gpulab/cuda/buffer.hpp"
#include "gpulab/cuda/check.hpp"
#include "gpulab/cuda/occupancy.hpp"
#include "gpulab/cuda/timing.hpp"
#include "gpulab/metrics.hpp"

namespace gpulab {

CudaError::CudaError(cudaError_t code, const char* call, const char* file, int line)
    : Error(std::string(call) + ": " + cudaGetErrorName(code) + ", " + cudaGetErrorString(code) + " (" + file + ":" +
            std::to_string(line) + ")"),
      code_(code) {}

namespace {
std::size_t twice_the_l2() {
    int device = 0, l2 = 0;
    CUDA_CHECK(cudaGetDevice(&device));
    CUDA_CHECK(cudaDeviceGetAttribute(&l2, cudaDevAttrL2CacheSize, device));
    return 2 * static_cast<std::size_t>(std::max(l2, 1 << 20));
}
} // namespace

L2Flusher::L2Flusher() : scratch_(twice_the_l2()) {}

void L2Flusher::flush(cudaStream_t stream) {
    CUDA_CHECK(cudaMemsetAsync(scratch_.data(), 0, scratch_.bytes(), stream));
}

void delay(cudaStream_t stream, std::chrono::milliseconds length) {
    static constexpr auto sleep = [](void* ms) {
        std::this_thread::sleep_for(std::chrono::milliseconds(reinterpret_cast<std::intptr_t>(ms)));
    };
    CUDA_CHECK(cudaLaunchHostFunc(stream, sleep, reinterpret_cast<void*>(std::intptr_t{length.count()})));
}

namespace detail {

Found find_cuda_devices() {
    int count = 0;
    const cudaError_t code = cudaGetDeviceCount(&count);
    if (code == cudaErrorInsufficientDriver) return {{}, "no NVIDIA driver, or one older than this CUDA runtime"};
    if (code == cudaErrorNoDevice || (code == cudaSuccess && count == 0)) return {{}, "no NVIDIA GPU"};
    if (code != cudaSuccess) return {{}, std::string("CUDA cannot start: ") + cudaGetErrorString(code)};
    Found found;
    for (int i = 0; i < count; ++i) {
        cudaDeviceProp p{};
        CUDA_CHECK(cudaGetDeviceProperties(&p, i));
        Device device;
        device.backend = Backend::cuda;
        device.index = i;
        device.name = p.name;
        device.memory_bytes = p.totalGlobalMem;
        device.l2_bytes = static_cast<std::uint64_t>(p.l2CacheSize);
        device.compute_units = p.multiProcessorCount;
        device.compute_capability = 10 * p.major + p.minor;
        device.cooperative_launch = p.cooperativeLaunch != 0;
        found.devices.push_back(device);
    }
    return found;
}

void use_cuda_device(const Device& device) { CUDA_CHECK(cudaSetDevice(device.index)); }

double measure_cuda_copy(const Device&) {
    std::size_t free_bytes = 0, total = 0;
    CUDA_CHECK(cudaMemGetInfo(&free_bytes, &total));
    const std::size_t bytes = std::min(std::size_t{1} << 30, free_bytes / 8);
    DeviceBuffer<char> from(bytes), to(bytes);
    Stopwatch watch(3, 10);
    watch_stream(watch, [&](cudaStream_t stream) {
        CUDA_CHECK(cudaMemcpyAsync(to.data(), from.data(), bytes, cudaMemcpyDeviceToDevice, stream));
    });
    return gb_per_s(2.0 * static_cast<double>(bytes), watch.kernel().median);
}

namespace {

/// Eight independent chains of fused multiply-adds per thread, all in registers.
template <class T> __global__ void fma_kernel(T* out, T factor, T addend, int steps) {
    T x[8];
#pragma unroll
    for (int j = 0; j < 8; ++j) x[j] = static_cast<T>(threadIdx.x + j);
    for (int i = 0; i < steps; ++i) {
#pragma unroll
        for (int j = 0; j < 8; ++j) x[j] = x[j] * factor + addend;
    }
    T sum = 0;
#pragma unroll
    for (int j = 0; j < 8; ++j) sum += x[j];
    if (sum == static_cast<T>(-1)) out[0] = sum; // never true, but the compiler cannot know
}

template <class T> double cuda_gflop_per_s() {
    constexpr int threads = 256, steps = 4096;
    const unsigned blocks = 16 * multiprocessor_count();
    DeviceBuffer<T> out(1);
    Stopwatch watch(3, 5);
    watch_stream(watch, [&](cudaStream_t stream) {
        fma_kernel<<<blocks, threads, 0, stream>>>(out.data(), static_cast<T>(0.999), static_cast<T>(0.001), steps);
    });
    return gflop_per_s(2.0 * 8 * steps * threads * blocks, watch.kernel().median);
}

} // namespace

double measure_cuda_arithmetic(const Device&, Arithmetic kind) {
    return kind == Arithmetic::fp64 ? cuda_gflop_per_s<double>() : cuda_gflop_per_s<float>();
}

} // namespace detail
} // namespace gpulab
