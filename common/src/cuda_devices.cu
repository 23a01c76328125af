// The CUDA side of device.hpp and ceilings.hpp: finding devices, and what they reach with nothing else to do.
#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <thread>

#include "backends.hpp"
#include "cuda_ceilings.hpp"
#include "gpulab/cuda/buffer.hpp"
#include "gpulab/cuda/check.hpp"
#include "gpulab/cuda/occupancy.hpp"
#include "gpulab/cuda/timing.hpp"
#include "gpulab/metrics.hpp"

namespace gpulab {

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

void delay(cudaStream_t stream, int ms) {
    static constexpr auto sleep = [](void* length) {
        std::this_thread::sleep_for(std::chrono::milliseconds(reinterpret_cast<std::intptr_t>(length)));
    };
    CUDA_CHECK(cudaLaunchHostFunc(stream, sleep, reinterpret_cast<void*>(std::intptr_t{ms})));
}

namespace detail {

Found find_cuda_devices() {
    choose_cuda_runtime();
    setenv("CUDA_DEVICE_ORDER", "PCI_BUS_ID", 0); // as nvidia-smi and ./lab doctor count; else the fastest is 0
    int count = 0;
    const cudaError_t code = cudaGetDeviceCount(&count);
    if (code == cudaErrorInsufficientDriver) return {{}, "no NVIDIA driver, or one older than this CUDA runtime"};
    if (code == cudaErrorNoDevice || (code == cudaSuccess && count == 0))
        return {{}, std::getenv("CUDA_VISIBLE_DEVICES") ? "no NVIDIA GPU among CUDA_VISIBLE_DEVICES" : "no NVIDIA GPU"};
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
        device.emulated = device.name == "CUDA emulator";
        if (device.emulated) device.platform = "no GPU: results and counts, no times";
        const std::string here = std::to_string(p.major) + std::to_string(p.minor);
        if (device.emulated || built_for(GPULAB_CUDA_ARCHITECTURES, device.compute_capability)) {
            found.devices.push_back(device);
        } else {
            found.why_none = "this build is for other GPUs (" GPULAB_CUDA_ARCHITECTURES ") than " + device.name +
                             ": ./lab builds it again, or configure with -DCMAKE_CUDA_ARCHITECTURES=" + here;
        }
    }
    if (!found.devices.empty()) found.why_none.clear();
    return found;
}

void ask_cuda(const Device& device, GpuState& state) {
    const auto text = [](int major, int minor) { return std::to_string(major) + "." + std::to_string(minor); };
    std::array<char, 32> pci{};
    int driver = 0, runtime = 0;
    CUDA_CHECK(cudaDeviceGetPCIBusId(pci.data(), pci.size(), device.index));
    CUDA_CHECK(cudaDriverGetVersion(&driver));
    CUDA_CHECK(cudaRuntimeGetVersion(&runtime));
    for (const char c : std::string(pci.data())) state.pci += static_cast<char>(std::tolower(c));
    state.cuda_driver = text(driver / 1000, driver % 1000 / 10);
    state.cuda_runtime = text(runtime / 1000, runtime % 1000 / 10);
    state.cuda_toolkit = text(__CUDACC_VER_MAJOR__, __CUDACC_VER_MINOR__);
}

void use_cuda_device(const Device& device) { CUDA_CHECK(cudaSetDevice(device.index)); }

namespace {

template <class T> __global__ void fma_kernel(T* sums, T factor, T addend, int steps, bool keep) {
    constexpr int chains = cuda_chains;
    T x[chains];
#pragma unroll
    for (int j = 0; j < chains; ++j) x[j] = static_cast<T>(threadIdx.x + j);
#pragma unroll 32 // so that a hundredth of the instructions counts and jumps, not a tenth
    for (int i = 0; i < steps; ++i) {
#pragma unroll
        for (int j = 0; j < chains; ++j) x[j] = x[j] * factor + addend;
    }
    T sum = 0;
#pragma unroll
    for (int j = 0; j < chains; ++j) sum += x[j];
    // No sum is negative, but the compiler cannot know: it must compute all of them, whether they are kept or not.
    if (keep || sum == static_cast<T>(-1)) sums[keep ? blockIdx.x * blockDim.x + threadIdx.x : 0] = sum;
}

} // namespace

double cuda_copy_gb_per_s(const DeviceBuffer<char>& from, DeviceBuffer<char>& to, const StreamTimer& timing) {
    const Timing time = timing([&](cudaStream_t stream) { copy_async(from, to, stream); });
    return gb_per_s(2.0 * static_cast<double>(from.bytes()), time.median); // every byte is read and written
}

std::size_t cuda_chain_threads() { return std::size_t{16} * multiprocessor_count() * cuda_chain_block; }

template <class T> double cuda_gflop_per_s(int steps, DeviceBuffer<T>& sums, const StreamTimer& timing) {
    const std::size_t threads = cuda_chain_threads();
    const auto blocks = static_cast<unsigned>(threads / cuda_chain_block);
    const Timing time = timing([&](cudaStream_t stream) {
        fma_kernel<<<blocks, cuda_chain_block, 0, stream>>>(sums.data(), static_cast<T>(0.999), static_cast<T>(0.001),
                                                            steps, sums.size() > 1);
        CUDA_CHECK_LAUNCH();
    });
    return gflop_per_s(2.0 * cuda_chains * steps * static_cast<double>(threads), time.median);
}
template double cuda_gflop_per_s(int, DeviceBuffer<float>&, const StreamTimer&);
template double cuda_gflop_per_s(int, DeviceBuffer<double>&, const StreamTimer&);

namespace {

/// Three runs that do not count, then some that do.
StreamTimer timed(int repeats) {
    return [repeats](const std::function<void(cudaStream_t)>& body) {
        Stopwatch watch(3, repeats);
        watch_stream(watch, body);
        return watch.kernel();
    };
}

} // namespace

double measure_cuda(const Device&, Arithmetic kind) {
    const auto arithmetic = [](auto sums) { return cuda_gflop_per_s(4096, sums, timed(5)); };
    if (kind == Arithmetic::fp32) return arithmetic(DeviceBuffer<float>(1));
    if (kind == Arithmetic::fp64) return arithmetic(DeviceBuffer<double>(1));
    std::size_t free_bytes = 0, total = 0;
    CUDA_CHECK(cudaMemGetInfo(&free_bytes, &total));
    const std::size_t bytes = std::min(std::size_t{1} << 30, free_bytes / 8) / ceilings_divisor();
    const DeviceBuffer<char> from(bytes);
    DeviceBuffer<char> to(bytes);
    return cuda_copy_gb_per_s(from, to, timed(10));
}

} // namespace detail
} // namespace gpulab
