// The devices: how many, what they are, and which one a thread uses.
#include <cstdio>
#include <cstring>
#include <unistd.h>

#include "runtime.hpp"

namespace cuda_emulator {

namespace {

constexpr std::size_t kib = 1024;

/// Of what the host has, a device gets a half, 16 GiB at most.
std::size_t memory_bytes() {
    const auto host =
        static_cast<std::size_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<std::size_t>(sysconf(_SC_PAGE_SIZE));
    return std::min(host / 2, std::size_t{16} << 30);
}

thread_local int current = 0;

/// The value of an attribute; most are fields of the properties.
std::optional<int> attribute(const cudaDeviceProp& p, cudaDeviceAttr which) {
    const auto n = [](auto value) { return std::optional<int>(static_cast<int>(value)); };
    switch (which) {
    case cudaDevAttrMaxThreadsPerBlock: return n(p.maxThreadsPerBlock);
    case cudaDevAttrMaxBlockDimX: return n(p.maxThreadsDim[0]);
    case cudaDevAttrMaxBlockDimY: return n(p.maxThreadsDim[1]);
    case cudaDevAttrMaxBlockDimZ: return n(p.maxThreadsDim[2]);
    case cudaDevAttrMaxGridDimX: return n(p.maxGridSize[0]);
    case cudaDevAttrMaxGridDimY: return n(p.maxGridSize[1]);
    case cudaDevAttrMaxGridDimZ: return n(p.maxGridSize[2]);
    case cudaDevAttrMaxSharedMemoryPerBlock: return n(p.sharedMemPerBlock);
    case cudaDevAttrMaxSharedMemoryPerBlockOptin: return n(p.sharedMemPerBlockOptin);
    case cudaDevAttrMaxSharedMemoryPerMultiprocessor: return n(p.sharedMemPerMultiprocessor);
    case cudaDevAttrReservedSharedMemoryPerBlock: return n(p.reservedSharedMemPerBlock);
    case cudaDevAttrTotalConstantMemory: return n(p.totalConstMem);
    case cudaDevAttrWarpSize: return n(p.warpSize);
    case cudaDevAttrMaxPitch: return n(p.memPitch);
    case cudaDevAttrMaxRegistersPerBlock: return n(p.regsPerBlock);
    case cudaDevAttrMaxRegistersPerMultiprocessor: return n(p.regsPerMultiprocessor);
    case cudaDevAttrClockRate: return n(1'000'000);
    case cudaDevAttrMemoryClockRate: return n(1'000'000);
    case cudaDevAttrGlobalMemoryBusWidth: return n(p.memoryBusWidth);
    case cudaDevAttrTextureAlignment: return n(p.textureAlignment);
    case cudaDevAttrTexturePitchAlignment: return n(p.texturePitchAlignment);
    case cudaDevAttrSurfaceAlignment: return n(p.surfaceAlignment);
    case cudaDevAttrMaxTexture1DWidth: return n(p.maxTexture1D);
    case cudaDevAttrMultiProcessorCount: return n(p.multiProcessorCount);
    case cudaDevAttrMaxThreadsPerMultiProcessor: return n(p.maxThreadsPerMultiProcessor);
    case cudaDevAttrMaxBlocksPerMultiprocessor: return n(p.maxBlocksPerMultiProcessor);
    case cudaDevAttrL2CacheSize: return n(p.l2CacheSize);
    case cudaDevAttrMaxPersistingL2CacheSize: return n(p.persistingL2CacheMaxSize);
    case cudaDevAttrComputeCapabilityMajor: return n(p.major);
    case cudaDevAttrComputeCapabilityMinor: return n(p.minor);
    case cudaDevAttrCanMapHostMemory: return n(p.canMapHostMemory);
    case cudaDevAttrIntegrated: return n(p.integrated);
    case cudaDevAttrConcurrentKernels: return n(p.concurrentKernels);
    case cudaDevAttrAsyncEngineCount: return n(p.asyncEngineCount);
    case cudaDevAttrUnifiedAddressing: return n(p.unifiedAddressing);
    case cudaDevAttrStreamPrioritiesSupported: return n(p.streamPrioritiesSupported);
    case cudaDevAttrGlobalL1CacheSupported: return n(p.globalL1CacheSupported);
    case cudaDevAttrLocalL1CacheSupported: return n(p.localL1CacheSupported);
    case cudaDevAttrManagedMemory: return n(p.managedMemory);
    case cudaDevAttrConcurrentManagedAccess: return n(p.concurrentManagedAccess);
    case cudaDevAttrCooperativeLaunch: return n(p.cooperativeLaunch);
    case cudaDevAttrMemoryPoolsSupported: return n(p.memoryPoolsSupported);
    case cudaDevAttrHostRegisterSupported: return n(p.hostRegisterSupported);
    case cudaDevAttrPciBusId: return n(p.pciBusID);
    case cudaDevAttrPciDeviceId: return n(p.pciDeviceID);
    case cudaDevAttrPciDomainId: return n(p.pciDomainID);
    case cudaDevAttrClusterLaunch: return n(p.clusterLaunch);
    case cudaDevAttrEccEnabled: return n(p.ECCEnabled);
    case cudaDevAttrComputeMode: return n(cudaComputeModeDefault);
    case cudaDevAttrSingleToDoublePrecisionPerfRatio: return n(2);
    case cudaDevAttrKernelExecTimeout:
    case cudaDevAttrTccDriver:
    case cudaDevAttrIsMultiGpuBoard:
    case cudaDevAttrHostNativeAtomicSupported:
    case cudaDevAttrPageableMemoryAccess:
    case cudaDevAttrComputePreemptionSupported:
    case cudaDevAttrCanUseHostPointerForRegisteredMem:
    case cudaDevAttrPageableMemoryAccessUsesHostPageTables:
    case cudaDevAttrDirectManagedMemAccessFromHost:
    case cudaDevAttrMultiGpuBoardGroupID:
    case cudaDevAttrGPUDirectRDMASupported:
    case cudaDevAttrSparseCudaArraySupported: return n(0);
    default: return std::nullopt;
    }
}

} // namespace

/// A device with few multiprocessors, so that grids that fill it are small. Its compute capability is that of the
/// newest PTX here, 8.0 to 9.0: a program that was compiled for less would hold kernels that are empty for a newer
/// device.
Device::Device(int number) : index(number) {
    cudaDeviceProp& p = properties;
    std::strcpy(p.name, "CUDA emulator");
    std::memcpy(p.uuid.bytes, "CUDA emulator  ", 15);
    p.uuid.bytes[15] = static_cast<char>(number);
    const int ptx = newest_ptx(90), capability = ptx == 0 ? 90 : std::max(ptx, 80);
    p.major = capability / 10;
    p.minor = capability % 10;
    p.multiProcessorCount = 4;
    p.totalGlobalMem = memory_bytes();
    p.totalConstMem = 64 * kib;
    p.sharedMemPerBlock = 48 * kib;
    p.sharedMemPerMultiprocessor = capability == 90 ? 228 * kib : capability == 80 ? 164 * kib : 100 * kib;
    p.sharedMemPerBlockOptin = p.sharedMemPerMultiprocessor - kib;
    p.reservedSharedMemPerBlock = kib;
    p.regsPerBlock = p.regsPerMultiprocessor = 64 * kib;
    p.warpSize = 32;
    p.maxThreadsPerBlock = p.maxThreadsDim[0] = p.maxThreadsDim[1] = 1024;
    p.maxThreadsDim[2] = 64;
    p.maxGridSize[0] = 0x7FFFFFFF;
    p.maxGridSize[1] = p.maxGridSize[2] = 65535;
    p.maxThreadsPerMultiProcessor = 2048;
    p.maxBlocksPerMultiProcessor = 32;
    p.memPitch = 0x7FFFFFFF;
    p.textureAlignment = 512;
    p.texturePitchAlignment = 32;
    p.surfaceAlignment = 512;
    p.maxTexture1D = 131072;
    p.memoryBusWidth = 64;
    p.l2CacheSize = 1024 * kib;
    p.canMapHostMemory = p.concurrentKernels = p.unifiedAddressing = p.streamPrioritiesSupported = 1;
    p.globalL1CacheSupported = p.localL1CacheSupported = p.managedMemory = p.cooperativeLaunch = 1;
    p.memoryPoolsSupported = p.hostRegisterSupported = p.concurrentManagedAccess = 1;
    p.clusterLaunch = capability >= 90;
    p.asyncEngineCount = 2;
    p.pciBusID = number + 1;
    p.hostNumaId = -1;
    legacy = std::make_unique<Stream>(*this, cudaStreamDefault, 0);
}

std::vector<std::unique_ptr<Device>>& devices() {
    static auto* const all = [] {
        auto* const made = new std::vector<std::unique_ptr<Device>>;
        for (int i = 0; i < options().devices; ++i) made->push_back(std::make_unique<Device>(i));
        return made;
    }();
    return *all;
}

Device& device_at(int index) {
    require(!devices().empty(), cudaErrorNoDevice);
    require(index >= 0 && index < static_cast<int>(devices().size()), cudaErrorInvalidDevice);
    return *devices()[static_cast<std::size_t>(index)];
}

Device& current_device() { return device_at(current); }

void synchronize(Device& device) {
    std::vector<CommandPtr> tails;
    {
        const std::lock_guard lock(state());
        require(!device.legacy->capture, cudaErrorStreamCaptureUnsupported);
        tails = std::move(device.left);
        device.left.clear();
        tails.push_back(device.legacy->tail);
        for (const Stream* const stream : device.streams) {
            require(!stream->capture, cudaErrorStreamCaptureUnsupported);
            tails.push_back(stream->tail);
        }
    }
    for (const CommandPtr& tail : tails) Schedule::finish(tail);
}

} // namespace cuda_emulator

using namespace cuda_emulator;

extern "C" {

cudaError_t cudaGetDeviceCount(int* count) {
    return call([&] {
        *count = static_cast<int>(devices().size());
        require(*count > 0, cudaErrorNoDevice);
    });
}

cudaError_t cudaSetDevice(int index) {
    return call([&] { current = device_at(index).index; });
}

cudaError_t cudaGetDevice(int* index) {
    return call([&] { *index = current_device().index; });
}

cudaError_t cudaInitDevice(int index, unsigned, unsigned) {
    return call([&] { device_at(index); });
}

cudaError_t cudaSetDeviceFlags(unsigned flags) {
    return call([&] { current_device().flags = flags; });
}

cudaError_t cudaGetDeviceFlags(unsigned* flags) {
    return call([&] { *flags = current_device().flags; });
}

#undef cudaGetDeviceProperties // toolkits of version 12 rename it
#if CUDART_VERSION < 13000
cudaError_t cudaGetDeviceProperties_v2(cudaDeviceProp* properties, int index) {
#else
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int index) {
#endif
    return call([&] { *properties = device_at(index).properties; });
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr which, int index) {
    return call([&] {
        const std::optional<int> known = attribute(device_at(index).properties, which);
        require(value && known);
        *value = *known;
    });
}

cudaError_t cudaChooseDevice(int* index, const cudaDeviceProp*) {
    return call([&] { *index = device_at(0).index; });
}

cudaError_t cudaDeviceGetPCIBusId(char* id, int length, int index) {
    return call([&] {
        const cudaDeviceProp& p = device_at(index).properties;
        std::snprintf(id, static_cast<std::size_t>(length), "%04x:%02x:%02x.0", static_cast<unsigned>(p.pciDomainID),
                      static_cast<unsigned>(p.pciBusID), static_cast<unsigned>(p.pciDeviceID));
    });
}

cudaError_t cudaDeviceGetByPCIBusId(int* index, const char* id) {
    return call([&] {
        unsigned domain = 0, bus = 0, slot = 0;
        require(std::sscanf(id, "%x:%x:%x", &domain, &bus, &slot) == 3);
        *index = device_at(static_cast<int>(bus) - 1).index;
    });
}

cudaError_t cudaDeviceSynchronize() {
    return call([] { synchronize(current_device()); });
}

cudaError_t cudaDeviceReset() {
    Schedule::finish_all();
    clear_fault();
    return cudaSuccess;
}

cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
    return call([&] {
        current_device();
        if (least) *least = 0;
        if (greatest) *greatest = -5;
    });
}

cudaError_t cudaDeviceCanAccessPeer(int* can, int index, int peer) {
    return call([&] { *can = device_at(index).index != device_at(peer).index; });
}

cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned flags) {
    return call([&] {
        Device& device = current_device();
        require(device_at(peer).index != device.index, cudaErrorInvalidDevice);
        require(flags == 0);
        const std::lock_guard lock(state());
        require(device.peers.insert(peer).second, cudaErrorPeerAccessAlreadyEnabled);
    });
}

cudaError_t cudaDeviceDisablePeerAccess(int peer) {
    return call([&] {
        const std::lock_guard lock(state());
        require(current_device().peers.erase(peer) == 1, cudaErrorPeerAccessNotEnabled);
    });
}

cudaError_t cudaDeviceGetP2PAttribute(int* value, cudaDeviceP2PAttr which, int from, int to) {
    return call([&] {
        require(device_at(from).index != device_at(to).index, cudaErrorInvalidDevice);
        *value = which == cudaDevP2PAttrPerformanceRank ? 0 : which != cudaDevP2PAttrCudaArrayAccessSupported;
    });
}

// There are no caches and no stacks to set up: these keep nothing, and their counterparts give usual values.
cudaError_t cudaDeviceSetCacheConfig(cudaFuncCache) {
    return call([] {});
}
cudaError_t cudaDeviceGetCacheConfig(cudaFuncCache* config) {
    return call([&] { *config = cudaFuncCachePreferNone; });
}
cudaError_t cudaDeviceSetLimit(cudaLimit, std::size_t) {
    return call([] {});
}
cudaError_t cudaDeviceGetLimit(std::size_t* value, cudaLimit limit) {
    return call([&] {
        *value = limit == cudaLimitStackSize ? kib : limit == cudaLimitPrintfFifoSize ? kib * kib : 8 * kib * kib;
    });
}

cudaError_t cudaDriverGetVersion(int* version) {
    return call([&] { *version = CUDART_VERSION; });
}
cudaError_t cudaRuntimeGetVersion(int* version) {
    return call([&] { *version = CUDART_VERSION; });
}

cudaError_t cudaProfilerStart() {
    return call([] {});
}
cudaError_t cudaProfilerStop() {
    return call([] {});
}

} // extern "C"
