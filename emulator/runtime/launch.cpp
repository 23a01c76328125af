// Kernels: attributes, occupancy, and launches.
#include <cstdio>
#include <cstring>
#include <cuda_occupancy.h>

#include "checked_run.hpp"
#include "runtime.hpp"

namespace cuda_emulator {

namespace {

constexpr std::size_t usual_shared = 48 * 1024;

/// What <<< >>> notes for the launch that follows it.
struct Configuration {
    dim3 grid, block;
    std::size_t shared = 0;
    cudaStream_t stream = nullptr;
};
thread_local std::vector<Configuration> configurations;

Dim3 dim(const dim3& d) { return {d.x, d.y, d.z}; }

unsigned most_threads(const Kernel& kernel) {
    const unsigned* const bounds = kernel.reqntid[0] ? kernel.reqntid : kernel.maxntid;
    if (bounds[0] == 0) return 1024;
    return std::min(1024u, bounds[0] * std::max(bounds[1], 1u) * std::max(bounds[2], 1u));
}

/// Dynamic shared memory that a launch may have.
std::size_t most_dynamic_shared(const Function& function, const Kernel& kernel) {
    if (function.most_dynamic_shared >= 0) return static_cast<std::size_t>(function.most_dynamic_shared);
    return usual_shared - std::min(usual_shared, kernel.shared_bytes);
}

cudaError_t code_of(Fault::Kind kind) {
    switch (kind) {
    case Fault::Kind::illegal_address: return cudaErrorIllegalAddress;
    case Fault::Kind::misaligned_address: return cudaErrorMisalignedAddress;
    case Fault::Kind::deadlock: return cudaErrorLaunchTimeout;
    case Fault::Kind::endless: return cudaErrorLaunchTimeout;
    case Fault::Kind::assertion: return cudaErrorAssert;
    case Fault::Kind::launch_bounds: return cudaErrorLaunchOutOfResources;
    case Fault::Kind::unsupported: return cudaErrorNotSupported;
    case Fault::Kind::trap: break;
    }
    return cudaErrorLaunchFailure;
}

void run_kernel(const KernelAction& action, Device& device) {
    static std::atomic<std::uint64_t> launches = 0;
    Launch launch;
    launch.kernel = &kernel_of(*action.function, device);
    launch.grid = action.grid;
    launch.block = action.block;
    launch.cluster = action.cluster;
    launch.arguments = action.arguments;
    launch.dynamic_shared_bytes = action.shared;
    launch.cooperative = action.cooperative;
    launch.grid_id = ++launches;
    launch.seed = options().order;
    launch.host_threads = static_cast<unsigned>(options().threads ? options().threads : options().order ? 1 : 0);
    launch.multiprocessors = static_cast<unsigned>(device.properties.multiProcessorCount);
    const int blocks =
        blocks_per_multiprocessor(*action.function, device, static_cast<unsigned>(action.block.count()), action.shared);
    launch.resident_blocks = launch.multiprocessors * static_cast<unsigned>(std::max(blocks, 1));
    run_checked(launch, memory());
}

void launch_kernel(Function& function, const KernelAction& given, void** arguments, cudaStream_t handle) {
    Stream& stream = stream_of(handle);
    KernelAction action = given;
    action.function = &function;
    check_launch(action, stream.device);
    require(stream.device.index == current_device().index, cudaErrorInvalidResourceHandle);
    action.arguments = pack(kernel_of(function, stream.device), arguments);
    submit(stream, std::move(action));
}

KernelAction shape(const dim3& grid, const dim3& block, std::size_t shared, bool cooperative) {
    KernelAction action;
    action.grid = dim(grid);
    action.block = dim(block);
    action.shared = shared;
    action.cooperative = cooperative;
    return action;
}

cudaError_t launch(const void* symbol, const dim3& grid, const dim3& block, void** arguments, std::size_t shared,
                   cudaStream_t stream, bool cooperative) {
    return call(
        [&] { launch_kernel(function_of(symbol), shape(grid, block, shared, cooperative), arguments, stream); });
}

/// A launch with attributes. @return the shape
KernelAction shape(const cudaLaunchConfig_t& config) {
    KernelAction action = shape(config.gridDim, config.blockDim, config.dynamicSmemBytes, false);
    for (unsigned i = 0; i < config.numAttrs; ++i) {
        const cudaLaunchAttribute& attribute = config.attrs[i];
        if (attribute.id == cudaLaunchAttributeClusterDimension)
            action.cluster = {attribute.val.clusterDim.x, attribute.val.clusterDim.y, attribute.val.clusterDim.z};
        if (attribute.id == cudaLaunchAttributeCooperative) action.cooperative = attribute.val.cooperative != 0;
    }
    return action;
}

} // namespace

int registers_of(const Kernel& kernel) {
    constexpr unsigned usual = 32;
    return static_cast<int>(kernel.maxnreg ? std::min(kernel.maxnreg, usual) : usual);
}

int blocks_per_multiprocessor(const Function& function, Device& device, unsigned threads, std::size_t dynamic_shared) {
    const Kernel& kernel = kernel_of(function, device);
    require(threads > 0);
    if (threads > most_threads(kernel) ||
        dynamic_shared + kernel.shared_bytes > device.properties.sharedMemPerBlockOptin)
        return 0;
    const cudaOccDeviceProp properties(device.properties);
    cudaOccFuncAttributes attributes;
    attributes.maxThreadsPerBlock = static_cast<int>(most_threads(kernel));
    attributes.numRegs = registers_of(kernel);
    attributes.sharedSizeBytes = kernel.shared_bytes;
    attributes.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN;
    attributes.maxDynamicSharedSizeBytes = device.properties.sharedMemPerBlockOptin - kernel.shared_bytes;
    attributes.numBlockBarriers = 1;
    const cudaOccDeviceState state;
    cudaOccResult result{};
    if (cudaOccMaxActiveBlocksPerMultiprocessor(&result, &properties, &attributes, &state, static_cast<int>(threads),
                                                dynamic_shared) != CUDA_OCC_SUCCESS)
        return 0;
    return std::min(result.activeBlocksPerMultiprocessor, device.properties.maxBlocksPerMultiProcessor);
}

void check_launch(const KernelAction& action, Device& device) {
    const Kernel& kernel = kernel_of(*action.function, device);
    const cudaDeviceProp& p = device.properties;
    const Dim3 &grid = action.grid, &block = action.block, &cluster = action.cluster;
    require(grid.count() > 0 && grid.x <= 0x7FFFFFFFu && grid.y <= 65535 && grid.z <= 65535,
            cudaErrorInvalidConfiguration);
    require(block.count() > 0 && block.x <= 1024 && block.y <= 1024 && block.z <= 64 && block.count() <= 1024,
            cudaErrorInvalidConfiguration);
    require(block.count() <= most_threads(kernel), cudaErrorLaunchOutOfResources);
    require(action.shared <= most_dynamic_shared(*action.function, kernel) &&
            action.shared + kernel.shared_bytes <= p.sharedMemPerBlockOptin);
    require(cluster.count() > 0 && grid.x % cluster.x == 0 && grid.y % cluster.y == 0 && grid.z % cluster.z == 0,
            cudaErrorInvalidConfiguration);
    require(cluster.count() <= (action.function->large_clusters ? 16u : 8u), cudaErrorInvalidClusterSize);
    if (!action.cooperative) return;
    const int blocks =
        blocks_per_multiprocessor(*action.function, device, static_cast<unsigned>(block.count()), action.shared);
    require(grid.count() <= static_cast<std::uint64_t>(blocks) * static_cast<unsigned>(p.multiProcessorCount),
            cudaErrorCooperativeLaunchTooLarge);
}

std::vector<std::byte> pack(const Kernel& kernel, void** arguments) {
    std::vector<std::byte> bytes(kernel.argument_bytes);
    for (std::size_t i = 0; i < kernel.parameters.size(); ++i) {
        const Parameter& parameter = kernel.parameters[i];
        require(arguments && arguments[i]);
        std::memcpy(bytes.data() + parameter.offset, arguments[i], parameter.size);
    }
    return bytes;
}

CommandPtr schedule(Action action, Device& device, std::vector<CommandPtr> after) {
    const int kernels = std::holds_alternative<KernelAction>(action);
    note_waiting_kernels(kernels);
    const auto work = [action = std::move(action), &device, kernels] {
        note_waiting_kernels(-kernels);
        carry_out(action, device);
    };
    return Schedule::add(work, std::move(after));
}

void carry_out(const Action& action, Device& device) {
    if (sticky_error() != cudaSuccess) return; // a fault ended all work
    try {
        if (const auto* const kernel = std::get_if<KernelAction>(&action)) run_kernel(*kernel, device);
        else if (const auto* const copy = std::get_if<CopyAction>(&action)) carry_out_copy(*copy);
        else if (const auto* const fill = std::get_if<FillAction>(&action)) carry_out_fill(*fill);
        else if (const auto* const host = std::get_if<HostAction>(&action)) host->function(host->data);
        else if (const auto* const record = std::get_if<RecordAction>(&action)) note_time(*record->record);
        else if (const auto* const gone = std::get_if<FreeAction>(&action)) release(gone->address, false);
        else if (const auto* const child = std::get_if<ChildAction>(&action))
            for (const Node* const node : child->graph->in_order())
                if (node->enabled) carry_out(node->action, device);
    } catch (const Fault& fault) {
        say_fault(fault);
        note_fault(code_of(fault.kind));
    } catch (const PtxError& error) {
        say(error.what());
        note_fault(cudaErrorNotSupported);
    } catch (const Failure& failure) {
        note_fault(failure.code);
    }
}

} // namespace cuda_emulator

using namespace cuda_emulator;

extern "C" {

unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, std::size_t shared, CUstream_st* stream) {
    configurations.push_back({grid, block, shared, stream});
    return 0;
}

cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, std::size_t* shared, void* stream) {
    if (configurations.empty()) return set_last(cudaErrorMissingConfiguration);
    const Configuration c = configurations.back();
    configurations.pop_back();
    *grid = c.grid;
    *block = c.block;
    *shared = c.shared;
    *static_cast<cudaStream_t*>(stream) = c.stream;
    return cudaSuccess;
}

cudaError_t cudaLaunchKernel(const void* symbol, dim3 grid, dim3 block, void** arguments, std::size_t shared,
                             cudaStream_t stream) {
    return launch(symbol, grid, block, arguments, shared, stream, false);
}

cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void** arguments, std::size_t shared,
                               cudaStream_t stream) {
    return launch(kernel, grid, block, arguments, shared, stream, false);
}

cudaError_t cudaLaunchCooperativeKernel(const void* symbol, dim3 grid, dim3 block, void** arguments, std::size_t shared,
                                        cudaStream_t stream) {
    return launch(symbol, grid, block, arguments, shared, stream, true);
}

cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void* symbol, void** arguments) {
    return call([&] {
        require(config != nullptr);
        launch_kernel(function_of(symbol), shape(*config), arguments, config->stream);
    });
}

cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void* symbol) {
    return call([&] {
        const Function& function = function_of(symbol);
        Device& device = current_device();
        const Kernel& kernel = kernel_of(function, device);
        *attributes = {};
        attributes->sharedSizeBytes = kernel.shared_bytes;
        attributes->constSizeBytes = kernel.constant_bytes;
        attributes->localSizeBytes = kernel.local_bytes;
        attributes->maxThreadsPerBlock = static_cast<int>(most_threads(kernel));
        attributes->numRegs = registers_of(kernel);
        attributes->ptxVersion = attributes->binaryVersion = ptx_target(function, device);
        attributes->maxDynamicSharedSizeBytes = static_cast<int>(most_dynamic_shared(function, kernel));
        attributes->preferredShmemCarveout = function.carveout;
    });
}

cudaError_t cudaFuncSetAttribute(const void* symbol, cudaFuncAttribute which, int value) {
    return call([&] {
        Function& function = function_of(symbol);
        const Kernel& kernel = kernel_of(function, current_device());
        const std::lock_guard lock(state());
        switch (which) {
        case cudaFuncAttributeMaxDynamicSharedMemorySize:
            require(value >= 0 && static_cast<std::size_t>(value) + kernel.shared_bytes <=
                                      current_device().properties.sharedMemPerBlockOptin);
            function.most_dynamic_shared = value;
            break;
        case cudaFuncAttributePreferredSharedMemoryCarveout:
            require(value >= -1 && value <= 100);
            function.carveout = value;
            break;
        case cudaFuncAttributeNonPortableClusterSizeAllowed: function.large_clusters = value != 0; break;
        default: fail(cudaErrorInvalidValue);
        }
    });
}

cudaError_t cudaFuncSetCacheConfig(const void* symbol, cudaFuncCache) {
    return call([&] { function_of(symbol); });
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* symbol, int threads,
                                                          std::size_t dynamic_shared) {
    return call([&] {
        require(threads > 0);
        *blocks = blocks_per_multiprocessor(function_of(symbol), current_device(), static_cast<unsigned>(threads),
                                            dynamic_shared);
    });
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, const void* symbol, int threads,
                                                                   std::size_t dynamic_shared, unsigned) {
    return cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, symbol, threads, dynamic_shared);
}

cudaError_t cudaOccupancyAvailableDynamicSMemPerBlock(std::size_t* bytes, const void* symbol, int blocks, int) {
    return call([&] {
        require(blocks > 0);
        const cudaDeviceProp& p = current_device().properties;
        const std::size_t share = p.sharedMemPerMultiprocessor / static_cast<unsigned>(blocks);
        const std::size_t taken =
            p.reservedSharedMemPerBlock + kernel_of(function_of(symbol), current_device()).shared_bytes;
        *bytes = share > taken ? std::min(share - taken, p.sharedMemPerBlockOptin) : 0;
    });
}

cudaError_t cudaOccupancyMaxPotentialClusterSize(int* size, const void* symbol, const cudaLaunchConfig_t*) {
    return call([&] { *size = function_of(symbol).large_clusters ? 16 : 8; });
}

cudaError_t cudaOccupancyMaxActiveClusters(int* clusters, const void* symbol, const cudaLaunchConfig_t* config) {
    return call([&] {
        Function& function = function_of(symbol);
        Device& device = current_device();
        const KernelAction action = shape(*config);
        const int blocks =
            blocks_per_multiprocessor(function, device, static_cast<unsigned>(action.block.count()), action.shared);
        *clusters = blocks * device.properties.multiProcessorCount / static_cast<int>(action.cluster.count());
    });
}

} // extern "C"
