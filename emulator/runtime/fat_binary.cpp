// NVIDIA does not document the container; the fields below were read off what nvcc 12.4 to 13.0 writes.
#include "fat_binary.hpp"

#include <cstring>
#include <dlfcn.h>
#include <stdexcept>

namespace cuda_emulator {

namespace {

struct Wrapper { // fatbinary_section.h: __fatBinC_Wrapper_t
    std::uint32_t magic, version;
    const void* data;
    void* filename_or_fatbins;
};
constexpr std::uint32_t wrapper_magic = 0x466243b1;

struct Container {
    std::uint32_t magic;
    std::uint16_t version, header_size;
    std::uint64_t size; // of all entries
};
constexpr std::uint32_t container_magic = 0xba55ed50;

struct Entry {
    std::uint16_t kind, version; // kind 1: PTX, 2: an ELF file with SASS
    std::uint32_t header_size;
    std::uint64_t size;            // of the contents, rounded up
    std::uint32_t compressed_size; // 0 where they are not compressed
    std::uint32_t options_offset;
    std::uint16_t minor, major;
    std::uint32_t capability;
    std::uint32_t name_offset, name_size;
    std::uint64_t flags;
    std::uint64_t reserved;
    std::uint64_t whole_size; // of PTX, where it is compressed
};
static_assert(sizeof(Entry) == 64);
constexpr std::uint64_t flag_lz4 = 0x2000;

std::string decompress_zstd(std::span<const std::uint8_t> in, std::size_t size) {
    using Decompress = std::size_t (*)(void*, std::size_t, const void*, std::size_t);
    using IsError = unsigned (*)(std::size_t);
    // Loaded when it is needed: almost every system has the library, few have its headers.
    static void* const library = dlopen("libzstd.so.1", RTLD_NOW | RTLD_LOCAL);
    static const auto decompress = library ? reinterpret_cast<Decompress>(dlsym(library, "ZSTD_decompress")) : nullptr;
    static const auto is_error = library ? reinterpret_cast<IsError>(dlsym(library, "ZSTD_isError")) : nullptr;
    if (!decompress || !is_error)
        throw std::runtime_error(
            "the PTX is compressed and libzstd.so.1 is not installed: compile with nvcc --no-compress");
    std::string out(size, '\0');
    const std::size_t got = decompress(out.data(), out.size(), in.data(), in.size());
    if (is_error(got) || got != size) throw std::runtime_error("the compressed PTX is damaged");
    return out;
}

} // namespace

std::string decompress_lz4(std::span<const std::uint8_t> in, std::size_t size) {
    const auto damaged = [] { return std::runtime_error("the compressed PTX is damaged"); };
    std::string out;
    out.reserve(size);
    std::size_t at = 0;
    const auto byte = [&] {
        if (at == in.size()) throw damaged();
        return in[at++];
    };
    const auto length = [&](std::size_t nibble) { // 15 goes on in further bytes, up to one that is not 255
        if (nibble == 15) {
            std::uint8_t more = 255;
            while (more == 255) nibble += more = byte();
        }
        return nibble;
    };
    while (at < in.size()) {
        const std::uint8_t token = byte();
        const std::size_t literals = length(token >> 4);
        if (literals > in.size() - at || literals > size - out.size()) throw damaged();
        out.append(reinterpret_cast<const char*>(in.data()) + at, literals);
        at += literals;
        if (at == in.size()) break; // the last sequence has no match
        const std::size_t low = byte(), distance = low | std::size_t{byte()} << 8;
        const std::size_t match = length(token & 15) + 4;
        if (distance == 0 || distance > out.size() || match > size - out.size()) throw damaged();
        for (std::size_t i = 0; i < match; ++i) out += out[out.size() - distance]; // it may overlap what it makes
    }
    if (out.size() != size) throw damaged();
    return out;
}

std::string PtxImage::text() const {
    std::string text;
    if (packing == Packing::lz4) text = decompress_lz4(bytes, whole_size);
    else if (packing == Packing::zstd) text = decompress_zstd(bytes, whole_size);
    else text.assign(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    return text.substr(0, text.find('\0')); // zeros fill it up
}

const PtxImage* FatBinary::best_for(int capability) const {
    const PtxImage* best = nullptr;
    for (const PtxImage& image : ptx)
        if (image.capability <= capability && (!best || image.capability >= best->capability)) best = &image;
    return best;
}

FatBinary read_container(const void* data) {
    if (static_cast<const Wrapper*>(data)->magic == wrapper_magic) return read_fat_binary(data);
    Container container;
    std::memcpy(&container, data, sizeof container);
    if (container.magic != container_magic) throw std::runtime_error("this is no fat binary of nvcc");
    FatBinary found;
    const auto* at = static_cast<const std::uint8_t*>(data) + container.header_size;
    const auto* const end = at + container.size;
    while (at + sizeof(Entry) <= end) {
        Entry entry;
        std::memcpy(&entry, at, sizeof entry);
        if (entry.header_size < sizeof(Entry)) throw std::runtime_error("the fat binary is damaged");
        if (found.source.empty() && entry.name_size > 0 && entry.name_offset + entry.name_size <= entry.header_size)
            found.source.assign(reinterpret_cast<const char*>(at) + entry.name_offset, entry.name_size);
        if (entry.kind == 1) {
            PtxImage image;
            image.capability = static_cast<int>(entry.capability);
            image.packing = entry.compressed_size == 0 ? PtxImage::Packing::none
                            : entry.flags & flag_lz4   ? PtxImage::Packing::lz4
                                                       : PtxImage::Packing::zstd;
            image.bytes = {at + entry.header_size, entry.compressed_size ? entry.compressed_size : entry.size};
            image.whole_size = entry.compressed_size ? entry.whole_size : entry.size;
            found.ptx.push_back(image);
        } else if (entry.kind == 2) {
            found.machine_code.push_back(static_cast<int>(entry.capability));
        }
        at += entry.header_size + entry.size;
    }
    return found;
}

FatBinary read_fat_binary(const void* wrapper) {
    Wrapper w;
    std::memcpy(&w, wrapper, sizeof w);
    if (w.magic != wrapper_magic) throw std::runtime_error("this is no fat binary of nvcc");
    return read_container(w.data);
}

} // namespace cuda_emulator
