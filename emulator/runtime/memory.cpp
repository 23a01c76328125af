// Memory of devices and page-locked memory of the host: allocation, copies, fills.
// (CUDA Runtime API: Memory Management; API synchronization behavior)
#include <atomic>
#include <cstring>
#include <unordered_map>

#include "host_access.hpp"
#include "machine/texture.hpp"
#include "runtime.hpp"

namespace cuda_emulator {

namespace {

struct Owner {
    int device = 0;
    unsigned flags = 0;
    MemoryKind kind = MemoryKind::device;
    std::size_t bytes = 0;
};

struct Owners {
    std::mutex mutex;
    std::unordered_map<const void*, Owner> of;     // by the beginning of an allocation
    std::map<const char*, std::size_t> registered; // by cudaHostRegister()
};

Owners& owners() {
    static auto* const all = new Owners;
    return *all;
}

/// Up to this size a copy from pageable memory returns before it has arrived: a staging buffer has its bytes.
constexpr std::size_t staged_bytes = 64 * 1024;

bool for_device_only(const Allocation& a) {
    return a.size > 0 && a.kind != MemoryKind::pinned && a.kind != MemoryKind::managed;
}

bool is_registered(const void* address) {
    Owners& all = owners();
    const std::lock_guard lock(all.mutex);
    const auto* const at = static_cast<const char*>(address);
    auto next = all.registered.upper_bound(at);
    if (next == all.registered.begin()) return false;
    --next;
    return at < next->first + next->second;
}

std::size_t extent(std::size_t width, std::size_t height, std::size_t depth, std::size_t pitch, std::size_t slice) {
    if (width == 0 || height == 0 || depth == 0) return 0;
    return (depth - 1) * slice + (height - 1) * pitch + width;
}

/// Whether a range lies in one allocation, or in no memory that the emulator knows.
void check_range(const void* begin, std::size_t bytes) {
    if (bytes == 0) return;
    if (!memory().in_arena(reinterpret_cast<std::uintptr_t>(begin))) return;
    require(bytes <= bytes_behind(begin));
}

CopyAction rows_copy(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch, std::size_t width,
                     std::size_t height, cudaMemcpyKind kind) {
    require(width <= to_pitch && width <= from_pitch, cudaErrorInvalidPitchValue);
    CopyAction copy = flat_copy(to, from, width, kind);
    copy.height = height;
    copy.to_pitch = to_pitch;
    copy.from_pitch = from_pitch;
    return copy;
}

void submit_fill(cudaStream_t handle, FillAction fill, bool waits) {
    Stream& stream = stream_of(handle);
    check_fill(fill);
    const CommandPtr command = submit(stream, fill);
    if (waits && memory().find(fill.to).host_visible()) Schedule::finish(command);
}

FillAction flat_fill(void* to, int value, std::size_t bytes) {
    FillAction fill;
    fill.to = to;
    fill.width = bytes;
    fill.value = static_cast<unsigned char>(value);
    return fill;
}

FillAction rows_fill(void* to, std::size_t pitch, int value, std::size_t width, std::size_t height) {
    require(width <= pitch, cudaErrorInvalidPitchValue);
    FillAction fill = flat_fill(to, value, width);
    fill.height = height;
    fill.pitch = pitch;
    return fill;
}

FillAction box_fill(const cudaPitchedPtr& to, int value, const cudaExtent& extent) {
    FillAction fill = rows_fill(to.ptr, to.pitch, value, extent.width, extent.height);
    fill.depth = extent.depth;
    fill.slice = to.pitch * to.ysize;
    return fill;
}

/// Every pool is this one. Its threshold is all that is kept of its settings, and changes nothing.
std::atomic<std::uint64_t> threshold_of_pool = 0;
cudaMemPool_t only_pool() { return reinterpret_cast<cudaMemPool_t>(&threshold_of_pool); }

/// Hints change no result, but they must be about managed memory, which variables can be, too.
void check_hint(const void* begin, std::size_t bytes) {
    const MemoryKind kind = memory().find(begin).kind;
    require(bytes > 0 && bytes <= bytes_behind(begin) &&
            (kind == MemoryKind::managed || (kind == MemoryKind::variable && has_managed_variables())));
}

void malloc_async(void** address, std::size_t bytes, cudaStream_t stream) {
    const std::lock_guard lock(state());
    require(!stream_of(stream).capture, cudaErrorStreamCaptureUnsupported);
    *address = allocate(stream_of(stream).device, bytes, MemoryKind::device);
}

void* symbol_bytes(const void* symbol, std::size_t count, std::size_t offset) {
    const SymbolView view = symbol_of(symbol, current_device());
    require(offset <= view.size && count <= view.size - offset);
    return static_cast<char*>(view.address) + offset;
}

} // namespace

Memory& memory() {
    static auto* const all = new Memory(std::size_t{64} << 30);
    return *all;
}

void* allocate(Device& on, std::size_t bytes, MemoryKind kind, unsigned flags) {
    const bool here = kind != MemoryKind::pinned;
    if (here && bytes > on.properties.totalGlobalMem - std::min(on.used.load(), on.properties.totalGlobalMem))
        fail(cudaErrorMemoryAllocation);
    void* const address = memory().allocate(bytes, kind, {}, page_bytes);
    require(address != nullptr, cudaErrorMemoryAllocation);
    if (kind == MemoryKind::device && !has_managed_variables()) close_to_host(address, bytes);
    if (here) on.used += bytes;
    Owners& all = owners();
    const std::lock_guard lock(all.mutex);
    all.of[address] = {on.index, flags, kind, bytes};
    return address;
}

void release(void* address, bool on_host) {
    if (!address) return;
    Owners& all = owners();
    Owner owner;
    {
        const std::lock_guard lock(all.mutex);
        const auto found = all.of.find(address);
        require(found != all.of.end() && (found->second.kind == MemoryKind::pinned) == on_host);
        owner = found->second;
        all.of.erase(found);
    }
    if (!on_host) device_at(owner.device).used -= owner.bytes;
    open_to_host(address);
    memory().free(address);
}

std::size_t bytes_behind(const void* address) {
    const Allocation found = memory().find(address);
    return found.size == 0 ? 0 : found.end() - reinterpret_cast<std::uintptr_t>(address);
}

CopyAction flat_copy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
    CopyAction copy;
    copy.to = to;
    copy.from = from;
    copy.width = bytes;
    copy.kind = kind;
    return copy;
}

void check_copy(const CopyAction& copy) {
    const std::size_t to = extent(copy.width, copy.height, copy.depth, copy.to_pitch, copy.to_slice),
                      from = extent(copy.width, copy.height, copy.depth, copy.from_pitch, copy.from_slice);
    if (to == 0) return;
    require(copy.to && copy.from);
    check_range(copy.to, to);
    check_range(copy.from, from);
    const Allocation target = memory().find(copy.to), source = memory().find(copy.from);
    switch (copy.kind) {
    case cudaMemcpyHostToHost: require(!for_device_only(target) && !for_device_only(source)); break;
    case cudaMemcpyHostToDevice: require(target.size > 0 && !for_device_only(source)); break;
    case cudaMemcpyDeviceToHost: require(!for_device_only(target) && source.size > 0); break;
    case cudaMemcpyDeviceToDevice: require(target.size > 0 && source.size > 0); break;
    case cudaMemcpyDefault: break;
    default: fail(cudaErrorInvalidMemcpyDirection);
    }
}

void check_fill(const FillAction& fill) {
    const std::size_t bytes = extent(fill.width * fill.element, fill.height, fill.depth, fill.pitch, fill.slice);
    require(bytes == 0 || bytes <= bytes_behind(fill.to));
}

CopyAction copy_of(const cudaMemcpy3DParms& box) {
    require(!box.srcArray && !box.dstArray, cudaErrorNotSupported);
    const auto at = [](const cudaPitchedPtr& p, const cudaPos& pos) {
        return static_cast<char*>(p.ptr) + (pos.z * p.ysize + pos.y) * p.pitch + pos.x;
    };
    CopyAction copy;
    copy.to = at(box.dstPtr, box.dstPos);
    copy.from = at(box.srcPtr, box.srcPos);
    copy.width = box.extent.width;
    copy.height = box.extent.height;
    copy.depth = box.extent.depth;
    copy.to_pitch = box.dstPtr.pitch;
    copy.from_pitch = box.srcPtr.pitch;
    copy.to_slice = box.dstPtr.pitch * box.dstPtr.ysize;
    copy.from_slice = box.srcPtr.pitch * box.srcPtr.ysize;
    copy.kind = box.kind;
    return copy;
}

void submit_copy(Stream& stream, CopyAction copy, bool waits) {
    check_copy(copy);
    const Allocation target = memory().find(copy.to), source = memory().find(copy.from);
    const bool captures = [&] {
        const std::lock_guard lock(state());
        return stream.capture != nullptr;
    }();
    if (captures) {
        require(!waits, cudaErrorStreamCaptureUnsupported);
        submit(stream, std::move(copy));
        return;
    }
    const bool to_pageable = target.size == 0 && !is_registered(copy.to);
    const bool from_pageable = source.size == 0 && !is_registered(copy.from);
    const std::size_t bytes = extent(copy.width, copy.height, copy.depth, copy.from_pitch, copy.from_slice);
    bool done = to_pageable || (waits && !(for_device_only(target) && for_device_only(source)));
    if (from_pageable && for_device_only(target)) {
        done = bytes > staged_bytes;
        if (!done && bytes > 0) {
            const auto* const begin = static_cast<const std::byte*>(copy.from);
            copy.staged = std::make_shared<std::vector<std::byte>>(begin, begin + bytes);
            copy.from = copy.staged->data();
        }
    }
    const CommandPtr command = submit(stream, std::move(copy));
    if (done) Schedule::finish(command);
}

void carry_out_copy(const CopyAction& copy) {
    Memory& arena = memory();
    const auto address = [](const void* p) { return reinterpret_cast<std::uintptr_t>(p); };
    const bool to_arena = arena.in_arena(address(copy.to)), from_arena = arena.in_arena(address(copy.from));
    const bool source_known = from_arena && !arena.find(copy.from).host_visible();
    for (std::size_t z = 0; z < copy.depth; ++z)
        for (std::size_t y = 0; y < copy.height; ++y) {
            char* const to = static_cast<char*>(copy.to) + z * copy.to_slice + y * copy.to_pitch;
            const char* const from = static_cast<const char*>(copy.from) + z * copy.from_slice + y * copy.from_pitch;
            std::memmove(to, from, copy.width);
            if (!to_arena || copy.width == 0) continue;
            if (source_known) std::memmove(arena.written(address(to)), arena.written(address(from)), copy.width);
            else arena.mark_written(address(to), copy.width);
        }
}

void carry_out_fill(const FillAction& fill) {
    Memory& arena = memory();
    for (std::size_t z = 0; z < fill.depth; ++z)
        for (std::size_t y = 0; y < fill.height; ++y) {
            char* const to = static_cast<char*>(fill.to) + z * fill.slice + y * fill.pitch;
            const std::size_t bytes = fill.width * fill.element;
            if (fill.element == 1) std::memset(to, static_cast<int>(fill.value), bytes);
            else
                for (std::size_t x = 0; x < fill.width; ++x)
                    std::memcpy(to + x * fill.element, &fill.value, fill.element);
            if (bytes > 0) arena.mark_written(reinterpret_cast<std::uintptr_t>(to), bytes);
        }
}

} // namespace cuda_emulator

using namespace cuda_emulator;

extern "C" {

cudaError_t cudaMalloc(void** address, std::size_t bytes) {
    return call([&] {
        require(address != nullptr);
        *address = bytes == 0 ? nullptr : allocate(current_device(), bytes, MemoryKind::device);
    });
}

cudaError_t cudaFree(void* address) {
    return call([&] {
        current_device();
        if (!address) return;
        Schedule::finish_all(); // nothing may use it any more
        release(address, false);
    });
}

cudaError_t cudaMallocPitch(void** address, std::size_t* pitch, std::size_t width, std::size_t height) {
    return call([&] {
        *pitch = (width + 511) / 512 * 512;
        *address = *pitch * height == 0 ? nullptr : allocate(current_device(), *pitch * height, MemoryKind::device);
    });
}

cudaError_t cudaMalloc3D(cudaPitchedPtr* made, cudaExtent extent) {
    return call([&] {
        const std::size_t pitch = (extent.width + 511) / 512 * 512, bytes = pitch * extent.height * extent.depth;
        void* const address = bytes == 0 ? nullptr : allocate(current_device(), bytes, MemoryKind::device);
        *made = {address, pitch, extent.width, extent.height};
    });
}

cudaError_t cudaMallocManaged(void** address, std::size_t bytes, unsigned flags) {
    return call([&] {
        require(bytes > 0 && (flags == cudaMemAttachGlobal || flags == cudaMemAttachHost));
        *address = allocate(current_device(), bytes, MemoryKind::managed, flags);
    });
}

cudaError_t cudaHostAlloc(void** address, std::size_t bytes, unsigned flags) {
    return call([&] {
        require(!(flags & ~7u));
        *address = bytes == 0 ? nullptr : allocate(current_device(), bytes, MemoryKind::pinned, flags);
    });
}

cudaError_t cudaMallocHost(void** address, std::size_t bytes) {
    return cudaHostAlloc(address, bytes, cudaHostAllocDefault);
}

cudaError_t cudaFreeHost(void* address) {
    return call([&] {
        if (!address) return;
        Schedule::finish_all();
        release(address, true);
    });
}

cudaError_t cudaHostGetDevicePointer(void** there, void* here, unsigned) {
    return call([&] {
        const Allocation found = memory().find(here);
        if (found.size == 0 && is_registered(here)) {
            say("memory of cudaHostRegister() cannot be mapped: allocate it with cudaHostAlloc()");
            fail(cudaErrorNotSupported);
        }
        require(found.kind == MemoryKind::pinned && found.size > 0);
        *there = here;
    });
}

cudaError_t cudaHostGetFlags(unsigned* flags, void* address) {
    return call([&] {
        Owners& all = owners();
        const std::lock_guard lock(all.mutex);
        const auto found = all.of.find(address);
        require(found != all.of.end() && found->second.kind == MemoryKind::pinned);
        *flags = found->second.flags | cudaHostAllocMapped;
    });
}

cudaError_t cudaHostRegister(void* address, std::size_t bytes, unsigned) {
    return call([&] {
        require(address && bytes > 0);
        Owners& all = owners();
        const std::lock_guard lock(all.mutex);
        require(all.registered.emplace(static_cast<const char*>(address), bytes).second,
                cudaErrorHostMemoryAlreadyRegistered);
    });
}

cudaError_t cudaHostUnregister(void* address) {
    return call([&] {
        Schedule::finish_all();
        Owners& all = owners();
        const std::lock_guard lock(all.mutex);
        require(all.registered.erase(static_cast<const char*>(address)) == 1, cudaErrorHostMemoryNotRegistered);
    });
}

cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total) {
    return call([&] {
        const Device& device = current_device();
        *total = device.properties.totalGlobalMem;
        *free = *total - device.used;
    });
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* address) {
    return call([&] {
        *attributes = {};
        const Allocation found = memory().find(address);
        auto* const p = const_cast<void*>(address);
        attributes->device = current_device().index;
        attributes->type = is_registered(address) ? cudaMemoryTypeHost : cudaMemoryTypeUnregistered;
        if (attributes->type == cudaMemoryTypeHost) attributes->hostPointer = p;
        if (found.size == 0) return;
        Owners& all = owners();
        const std::lock_guard lock(all.mutex);
        const auto owner = all.of.find(reinterpret_cast<const void*>(found.begin));
        if (owner != all.of.end()) attributes->device = owner->second.device;
        attributes->type = found.kind == MemoryKind::pinned    ? cudaMemoryTypeHost
                           : found.kind == MemoryKind::managed ? cudaMemoryTypeManaged
                                                               : cudaMemoryTypeDevice;
        attributes->devicePointer = p;
        attributes->hostPointer = found.host_visible() ? p : nullptr;
    });
}

// Copies: the plain calls use the default stream, and wait where the host could see that they did not.

cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
    return call([&] { submit_copy(stream_of(nullptr), flat_copy(to, from, bytes, kind), true); });
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
    return call([&] { submit_copy(stream_of(stream), flat_copy(to, from, bytes, kind), false); });
}

cudaError_t cudaMemcpyPeer(void* to, int, const void* from, int, std::size_t bytes) {
    return call([&] { submit_copy(stream_of(nullptr), flat_copy(to, from, bytes, cudaMemcpyDefault), true); });
}

cudaError_t cudaMemcpyPeerAsync(void* to, int, const void* from, int, std::size_t bytes, cudaStream_t stream) {
    return call([&] { submit_copy(stream_of(stream), flat_copy(to, from, bytes, cudaMemcpyDefault), false); });
}

cudaError_t cudaMemcpy2D(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch, std::size_t width,
                         std::size_t height, cudaMemcpyKind kind) {
    return call(
        [&] { submit_copy(stream_of(nullptr), rows_copy(to, to_pitch, from, from_pitch, width, height, kind), true); });
}

cudaError_t cudaMemcpy2DAsync(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch,
                              std::size_t width, std::size_t height, cudaMemcpyKind kind, cudaStream_t stream) {
    return call(
        [&] { submit_copy(stream_of(stream), rows_copy(to, to_pitch, from, from_pitch, width, height, kind), false); });
}

cudaError_t cudaMemcpy3D(const cudaMemcpy3DParms* box) {
    return call([&] { submit_copy(stream_of(nullptr), copy_of(*box), true); });
}

cudaError_t cudaMemcpy3DAsync(const cudaMemcpy3DParms* box, cudaStream_t stream) {
    return call([&] { submit_copy(stream_of(stream), copy_of(*box), false); });
}

cudaError_t cudaMemcpyToSymbol(const void* symbol, const void* from, std::size_t count, std::size_t offset,
                               cudaMemcpyKind kind) {
    return call([&] {
        submit_copy(stream_of(nullptr), flat_copy(symbol_bytes(symbol, count, offset), from, count, kind), true);
    });
}

cudaError_t cudaMemcpyToSymbolAsync(const void* symbol, const void* from, std::size_t count, std::size_t offset,
                                    cudaMemcpyKind kind, cudaStream_t stream) {
    return call([&] {
        submit_copy(stream_of(stream), flat_copy(symbol_bytes(symbol, count, offset), from, count, kind), false);
    });
}

cudaError_t cudaMemcpyFromSymbol(void* to, const void* symbol, std::size_t count, std::size_t offset,
                                 cudaMemcpyKind kind) {
    return call([&] {
        submit_copy(stream_of(nullptr), flat_copy(to, symbol_bytes(symbol, count, offset), count, kind), true);
    });
}

cudaError_t cudaMemcpyFromSymbolAsync(void* to, const void* symbol, std::size_t count, std::size_t offset,
                                      cudaMemcpyKind kind, cudaStream_t stream) {
    return call([&] {
        submit_copy(stream_of(stream), flat_copy(to, symbol_bytes(symbol, count, offset), count, kind), false);
    });
}

cudaError_t cudaMemset(void* to, int value, std::size_t bytes) {
    return call([&] { submit_fill(nullptr, flat_fill(to, value, bytes), true); });
}

cudaError_t cudaMemsetAsync(void* to, int value, std::size_t bytes, cudaStream_t stream) {
    return call([&] { submit_fill(stream, flat_fill(to, value, bytes), false); });
}

cudaError_t cudaMemset2D(void* to, std::size_t pitch, int value, std::size_t width, std::size_t height) {
    return call([&] { submit_fill(nullptr, rows_fill(to, pitch, value, width, height), true); });
}

cudaError_t cudaMemset2DAsync(void* to, std::size_t pitch, int value, std::size_t width, std::size_t height,
                              cudaStream_t stream) {
    return call([&] { submit_fill(stream, rows_fill(to, pitch, value, width, height), false); });
}

cudaError_t cudaMemset3D(cudaPitchedPtr to, int value, cudaExtent extent) {
    return call([&] { submit_fill(nullptr, box_fill(to, value, extent), true); });
}

cudaError_t cudaMemset3DAsync(cudaPitchedPtr to, int value, cudaExtent extent, cudaStream_t stream) {
    return call([&] { submit_fill(stream, box_fill(to, value, extent), false); });
}

// Allocation in the order of a stream. Memory is there at once; it goes when the stream gets there.

cudaError_t cudaMallocAsync(void** address, std::size_t bytes, cudaStream_t stream) {
    return call([&] { malloc_async(address, bytes, stream); });
}

cudaError_t cudaMallocFromPoolAsync(void** address, std::size_t bytes, cudaMemPool_t, cudaStream_t stream) {
    return call([&] { malloc_async(address, bytes, stream); });
}

cudaError_t cudaFreeAsync(void* address, cudaStream_t stream) {
    return call([&] {
        if (address) submit(stream_of(stream), FreeAction{address});
    });
}

cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t* pool, int index) {
    return call([&] { device_at(index), *pool = only_pool(); });
}
cudaError_t cudaDeviceGetMemPool(cudaMemPool_t* pool, int index) { return cudaDeviceGetDefaultMemPool(pool, index); }
cudaError_t cudaDeviceSetMemPool(int index, cudaMemPool_t) {
    return call([&] { device_at(index); });
}
cudaError_t cudaMemPoolCreate(cudaMemPool_t* pool, const cudaMemPoolProps*) {
    return call([&] { *pool = only_pool(); });
}
cudaError_t cudaMemPoolDestroy(cudaMemPool_t) {
    return call([] {});
}
cudaError_t cudaMemPoolTrimTo(cudaMemPool_t, std::size_t) {
    return call([] {});
}
cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t, cudaMemPoolAttr attribute, void* value) {
    return call([&] {
        require(value != nullptr);
        if (attribute == cudaMemPoolAttrReleaseThreshold) threshold_of_pool = *static_cast<std::uint64_t*>(value);
    });
}
cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t, cudaMemPoolAttr attribute, void* value) {
    return call([&] {
        require(value != nullptr);
        require(attribute == cudaMemPoolAttrReleaseThreshold, cudaErrorNotSupported);
        *static_cast<std::uint64_t*>(value) = threshold_of_pool;
    });
}
cudaError_t cudaMemPoolSetAccess(cudaMemPool_t, const cudaMemAccessDesc*, std::size_t) {
    return call([] {});
}

#if CUDART_VERSION < 13000
cudaError_t cudaMemPrefetchAsync(const void* memory, std::size_t bytes, int, cudaStream_t stream) {
#else
cudaError_t cudaMemPrefetchAsync(const void* memory, std::size_t bytes, cudaMemLocation, unsigned,
                                 cudaStream_t stream) {
#endif
    return call([&] { stream_of(stream), check_hint(memory, bytes); });
}
#if CUDART_VERSION < 13000
cudaError_t cudaMemAdvise(const void* memory, std::size_t bytes, cudaMemoryAdvise, int) {
#else
cudaError_t cudaMemAdvise(const void* memory, std::size_t bytes, cudaMemoryAdvise, cudaMemLocation) {
#endif
    return call([&] { check_hint(memory, bytes); });
}

// A texture of linear memory, which tex1Dfetch reads: the object is the address of what the machine wants to know of
// it.
cudaError_t cudaCreateTextureObject(cudaTextureObject_t* made, const cudaResourceDesc* memory_of,
                                    const cudaTextureDesc* how, const cudaResourceViewDesc*) {
    return call([&] {
        require(made && memory_of && how);
        require(memory_of->resType == cudaResourceTypeLinear && memory_of->res.linear.desc.x >= 8 &&
                    how->readMode == cudaReadModeElementType,
                cudaErrorNotSupported);
        const auto& linear = memory_of->res.linear;
        const cudaChannelFormatDesc& format = linear.desc;
        auto* const texture = new Texture;
        texture->address = reinterpret_cast<std::uintptr_t>(linear.devPtr);
        texture->channels = (format.x > 0) + (format.y > 0) + (format.z > 0) + (format.w > 0);
        texture->bytes_per_channel = static_cast<unsigned>(format.x) / 8;
        texture->elements = linear.sizeInBytes / (texture->channels * texture->bytes_per_channel);
        texture->is_signed = format.f == cudaChannelFormatKindSigned;
        texture->is_float = format.f == cudaChannelFormatKindFloat;
        *made = reinterpret_cast<cudaTextureObject_t>(texture);
    });
}
cudaError_t cudaDestroyTextureObject(cudaTextureObject_t texture) {
    return call([&] { delete reinterpret_cast<Texture*>(texture); });
}

} // extern "C"
