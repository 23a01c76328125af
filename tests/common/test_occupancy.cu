// The occupancy that ./lab explain computes (tools/explain/occupancy.py), against NVIDIA's own formula and the
// runtime's.
#include <catch2/catch_test_macros.hpp>
#include <cuda_occupancy.h>
#include <map>
#include <sstream>
#include <string>
#include <tuple>
#include <vector>

#include "gpulab/cuda/check.hpp"
#include "gpulab_testing/program.hpp"
#include "gpulab_testing/testing.hpp"

using gpulab::Backend;
using gpulab::testing::devices_or_skip;

namespace {

using Launch = std::tuple<int, int, int>; // registers per thread, threads per block, bytes of shared memory

std::string list(const std::vector<int>& numbers) {
    std::ostringstream text;
    for (const int n : numbers) text << (text.tellp() > 0 ? "," : "") << n;
    return text.str();
}

std::string version(int major, int minor) { return std::to_string(major) + "." + std::to_string(minor); }

/// What is wrong with the blocks of the script, or "".
std::string fault(const std::string& device, const Launch& launch, int blocks, int expected) {
    if (blocks == expected) return "";
    const auto [registers, threads, shared] = launch;
    return device + ", registers, threads and bytes " + list({registers, threads, shared}) + ": " +
           std::to_string(blocks) + " blocks instead of " + std::to_string(expected);
}

/// The blocks per multiprocessor that the script prints for each combination. Skips the test where it cannot run.
std::map<Launch, int> blocks_of_script(const std::string& device, const std::vector<int>& registers,
                                       const std::vector<int>& threads, const std::vector<int>& shared) {
    const std::string python = GPULAB_PYTHON;
    if (python.empty()) SKIP("no Python");
    const gpulab::testing::Outcome told = gpulab::testing::Program("explain", python)(
        "-B \"" OCCUPANCY "\" " + device + " --registers " + list(registers) + " --block " + list(threads) +
        " --shared " + list(shared));
    if (told.err.find("no device") != std::string::npos) SKIP("the table has no compute capability " + device);
    REQUIRE(told.err == "");
    std::map<Launch, int> result;
    std::istringstream lines(told.out);
    for (int r, t, s, blocks; lines >> r >> t >> s >> blocks;) result[{r, t, s}] = blocks;
    REQUIRE(result.size() == registers.size() * threads.size() * shared.size());
    return result;
}

/// A kernel whose threads hold `values` numbers at the barrier, in as many registers or more.
template <int values> __global__ void holding_kernel(float* data) {
    float held[values];
#pragma unroll
    for (int k = 0; k < values; ++k) held[k] = data[k * blockDim.x + threadIdx.x];
    __syncthreads();
#pragma unroll
    for (int k = 0; k < values; ++k) data[(values - 1 - k) * blockDim.x + threadIdx.x] = held[k];
}

const std::vector<int> blocks_to_try = {1, 32, 33, 64, 96, 128, 160, 256, 320, 384, 512, 768, 1024};
const std::vector<int> shared_to_try = {0, 1, 1024, 4096, 8192, 16384, 40000, 49152, 66000, 100000, 200000};

int attribute(cudaDeviceAttr name) {
    int device = 0, value = 0;
    CUDA_CHECK(cudaGetDevice(&device));
    CUDA_CHECK(cudaDeviceGetAttribute(&value, name, device));
    return value;
}

} // namespace

TEST_CASE("the occupancy of ./lab explain is that of NVIDIA's header, on every device of its table") {
    struct Device {
        int major, minor, threads, shared_kib, max_shared_kib; // of a multiprocessor, the last of a block
    };
    std::vector<int> registers;
    for (int r = 0; r <= 255; r += r < 64 ? 1 : 5) registers.push_back(r);
    for (const Device& d : {Device{7, 5, 1024, 64, 64},
                            {8, 0, 2048, 164, 163},
                            {8, 6, 1536, 100, 99},
                            {8, 9, 1536, 100, 99},
                            {9, 0, 2048, 228, 227}}) {
        cudaOccDeviceProp properties;
        properties.computeMajor = d.major;
        properties.computeMinor = d.minor;
        properties.maxThreadsPerBlock = 1024;
        properties.maxThreadsPerMultiprocessor = d.threads;
        properties.regsPerBlock = properties.regsPerMultiprocessor = 65536;
        properties.warpSize = 32;
        properties.sharedMemPerBlock = 48 * 1024;
        properties.sharedMemPerMultiprocessor = d.shared_kib * std::size_t{1024};
        properties.sharedMemPerBlockOptin = d.max_shared_kib * std::size_t{1024};
        properties.reservedSharedMemPerBlock = d.major >= 8 ? 1024 : 0;
        properties.numSms = 1;
        const std::string device = version(d.major, d.minor);
        std::string wrong;
        for (const auto& [launch, blocks] : blocks_of_script(device, registers, blocks_to_try, shared_to_try)) {
            const auto [r, threads, shared] = launch;
            cudaOccFuncAttributes kernel;
            kernel.maxThreadsPerBlock = 1024;
            kernel.numRegs = r;
            kernel.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN;
            kernel.maxDynamicSharedSizeBytes = shared;
            kernel.numBlockBarriers = 1;
            const cudaOccDeviceState state;
            cudaOccResult expected{};
            if (cudaOccMaxActiveBlocksPerMultiprocessor(&expected, &properties, &kernel, &state, threads, shared))
                FAIL("the header refuses " + list({r, threads, shared}));
            if (wrong.empty()) wrong = fault(device, launch, blocks, expected.activeBlocksPerMultiprocessor);
        }
        CHECK(wrong == "");
    }
}

TEST_CASE("the occupancy of ./lab explain is the runtime's, on this device", "[cuda]") {
    gpulab::use(devices_or_skip(Backend::cuda).front());
    const std::string device =
        version(attribute(cudaDevAttrComputeCapabilityMajor), attribute(cudaDevAttrComputeCapabilityMinor));
    const int max_shared = attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin);
    int compared = 0;
    for (auto* kernel : {holding_kernel<1>, holding_kernel<16>, holding_kernel<24>, holding_kernel<40>,
                         holding_kernel<64>, holding_kernel<100>, holding_kernel<150>, holding_kernel<220>}) {
        cudaFuncAttributes known;
        CUDA_CHECK(cudaFuncGetAttributes(&known, kernel));
        CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, max_shared));
        for (const auto& [launch, blocks] : blocks_of_script(device, {known.numRegs}, blocks_to_try, shared_to_try)) {
            const int threads = std::get<1>(launch), shared = std::get<2>(launch);
            if (threads > known.maxThreadsPerBlock || shared > max_shared) continue; // it cannot be launched
            int expected = -1;
            CUDA_CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&expected, kernel, threads, shared));
            CHECK(fault(device, launch, blocks, expected) == "");
            ++compared;
        }
    }
    CHECK(compared > 300);
}
