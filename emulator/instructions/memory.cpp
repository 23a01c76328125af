#include "instructions/memory.hpp"
#include <atomic>

// PTX ISA 9.7.9.8 ld, 9.7.9.9 ld.global.nc, 9.7.9.12 st, 9.7.9.15 prefetch and the like.

namespace cuda_emulator {

MemoryModifiers take_memory_modifiers(Decoder& decoder) {
    MemoryModifiers how;
    constexpr Order orders[] = {Order::weak,    Order::is_volatile, Order::relaxed, Order::relaxed,
                                Order::acquire, Order::release,     Order::acq_rel};
    if (const int order = decoder.take_one({"weak", "volatile", "relaxed", "mmio", "acquire", "release", "acq_rel"});
        order >= 0)
        how.order = orders[order];
    if (const int scope = decoder.take_one({"cta", "cluster", "gpu", "sys"}); scope >= 0)
        how.scope = static_cast<Scope>(scope + 1);
    if (how.order == Order::is_volatile) how.scope = Scope::system;
    constexpr Space spaces[] = {Space::global,   Space::shared,    Space::shared,    Space::shared,   Space::local,
                                Space::constant, Space::parameter, Space::parameter, Space::parameter};
    const int space = decoder.take_one({"global", "shared", "shared::cta", "shared::cluster", "local", "const", "param",
                                        "param::entry", "param::func"});
    how.generic = space < 0;
    if (space >= 0) how.space = spaces[space];
    return how;
}

namespace {

// How caches treat it is of no consequence here.
void ignore_cache_hints(Decoder& decoder) {
    decoder.take_one({"ca", "cg", "cs", "lu", "cv", "wb", "wt"});
    decoder.take("nc");
    decoder.take("unified");
    decoder.ignore("L1::");
    decoder.ignore("L2::");
}

template <unsigned bytes> struct Unit;
template <> struct Unit<1> { using type = u8; };
template <> struct Unit<2> { using type = u16; };
template <> struct Unit<4> { using type = u32; };
template <> struct Unit<8> { using type = u64; };
template <> struct Unit<16> { typedef long long type __attribute__((vector_size(16))); }; // in one piece, as GPUs do it
template <> struct Unit<32> { typedef long long type __attribute__((vector_size(32))); };

// N elements of T from memory to N registers of R, which may be wider.
template <class T, class R, unsigned N> void load(Warp& warp, const Instruction& instruction, Mask mask) {
    const MemoryModifiers how = MemoryModifiers::of(instruction);
    Warp::Pointers from;
    warp.resolve(instruction, mask, instruction.operands[N], how.access(AccessKind::load, N * sizeof(T), instruction),
                 how.generic, from);
    R* d[N];
    for (unsigned i = 0; i < N; ++i) d[i] = warp.at<R>(instruction.operands[i]);
    for_lanes(mask, [&](unsigned lane) {
        using Raw = typename Unit<N * sizeof(T)>::type;
        const Raw raw = *reinterpret_cast<const volatile Raw*>(from.lane[lane]);
        T elements[N];
        std::memcpy(elements, &raw, sizeof raw);
        for (unsigned i = 0; i < N; ++i) d[i][lane] = static_cast<R>(elements[i]);
    });
    if (how.order == Order::weak) return;
    std::atomic_thread_fence(std::memory_order_acquire);
    const auto first = static_cast<unsigned>(std::countr_zero(mask));
    warp.polled(instruction, from.lane[first], static_cast<u64>(d[0][first]));
}

template <class T, class R, unsigned N> void store(Warp& warp, const Instruction& instruction, Mask mask) {
    const MemoryModifiers how = MemoryModifiers::of(instruction);
    Warp::Pointers to;
    warp.resolve(instruction, mask, instruction.operands[N], how.access(AccessKind::store, N * sizeof(T), instruction),
                 how.generic, to);
    const R* s[N];
    for (unsigned i = 0; i < N; ++i) s[i] = warp.at<R>(instruction.operands[i]);
    if (how.order != Order::weak) std::atomic_thread_fence(std::memory_order_release);
    for_lanes(mask, [&](unsigned lane) {
        using Raw = typename Unit<N * sizeof(T)>::type;
        T elements[N];
        for (unsigned i = 0; i < N; ++i) elements[i] = static_cast<T>(s[i][lane]);
        Raw raw;
        std::memcpy(&raw, elements, sizeof raw);
        *reinterpret_cast<volatile Raw*>(to.lane[lane]) = raw;
    });
}

// A parameter of the kernel: the same for all lanes.
template <class T, class R, unsigned N> void load_parameter(Warp& warp, const Instruction& instruction, Mask mask) {
    const u64* const base = warp.at<u64>(instruction.operands[N]);
    for (unsigned i = 0; i < N; ++i) {
        R* const d = warp.at<R>(instruction.operands[i]);
        const std::byte* const from = warp.owner().grid.arguments + instruction.immediate + i * sizeof(T);
        const auto element = [=](unsigned lane) {
            T value;
            std::memcpy(&value, from + base[lane], sizeof(T));
            return static_cast<R>(value);
        };
        if (instruction.operands[N].constant())
            for_lanes(mask, [=, value = element(0)](unsigned lane) { d[lane] = value; });
        else for_lanes(mask, [=](unsigned lane) { d[lane] = element(lane); });
    }
}

enum class Way { load, store, parameter };

template <class T, class R> Handler by_count(Way way, unsigned elements) {
    const auto pick = [&]<unsigned N>() -> Handler {
        return way == Way::load ? &load<T, R, N> : way == Way::store ? &store<T, R, N> : &load_parameter<T, R, N>;
    };
    if (elements == 1) return pick.template operator()<1>();
    if (elements == 2) return pick.template operator()<2>();
    if constexpr (sizeof(T) <= 8)
        if (elements == 4) return pick.template operator()<4>();
    if constexpr (sizeof(T) <= 4)
        if (elements == 8) return pick.template operator()<8>();
    return nullptr;
}

// Registers may be wider than the type in memory (PTX ISA 9.4.1): loads extend, stores take the lower bits.
Handler pick_handler(Way way, Type memory, Type registers, unsigned elements) {
    const auto with = [&]<class T>() -> Handler {
        const unsigned width = size_of(registers);
        if constexpr (sizeof(T) <= 2)
            if (width == 2) return by_count<T, u16>(way, elements);
        if constexpr (sizeof(T) <= 4)
            if (width == 4) return by_count<T, u32>(way, elements);
        if (width == 8) return by_count<T, u64>(way, elements);
        return nullptr;
    };
    switch (size_of(memory)) {
    case 1: return is_signed(memory) ? with.template operator()<s8>() : with.template operator()<u8>();
    case 2: return is_signed(memory) ? with.template operator()<s16>() : with.template operator()<u16>();
    case 4: return is_signed(memory) ? with.template operator()<s32>() : with.template operator()<u32>();
    case 8: return with.template operator()<u64>();
    default: return nullptr;
    }
}

void decode_access(Decoder& decoder, bool is_load) {
    MemoryModifiers how = take_memory_modifiers(decoder);
    ignore_cache_hints(decoder);
    const int vector = decoder.take_one({"v2", "v4", "v8"});
    how.elements = vector < 0 ? 1 : 2u << vector;
    const Type type = decoder.take_type();
    const Argument &data = decoder.at(is_load ? 0 : 1), &address = decoder.at(is_load ? 1 : 0);
    Type registers = type;
    if (vector < 0) registers = decoder.bind_wide(data, type, is_load);
    else {
        if (data.parts.size() != how.elements) decoder.unsupported("elements");
        for (const Argument& part : data.parts) {
            const Type one = decoder.bind_wide(part, type, is_load);
            registers = size_of(one) > size_of(registers) ? one : registers;
        }
    }
    decoder.address(address);
    Way way = is_load ? Way::load : Way::store;
    if (how.space == Space::parameter) {
        const bool own = decoder.instruction->flags & Instruction::in_local; // of a device function
        if (!own && !is_load) decoder.unsupported("a kernel's parameters are constant");
        if (own) how.space = Space::local;
        else way = Way::parameter;
    }
    decoder.instruction->modifiers = how.pack();
    decoder.instruction->execute = pick_handler(way, type, registers, how.elements);
}

} // namespace

void define_memory(InstructionSet& set) {
    set.define("ld", "9.7.9.8, 9.7.9.9", [](Decoder& decoder) { decode_access(decoder, true); });
    set.define("ldu", "9.7.9.10", [](Decoder& decoder) { decode_access(decoder, true); });
    set.define("st", "9.7.9.12, 9.7.9.14", [](Decoder& decoder) {
        if (decoder.take("async")) decode_store_async(decoder);
        else decode_access(decoder, false);
    });
    // Hints, which change no value.
    const auto hint = [](Decoder& decoder) {
        take_memory_modifiers(decoder);
        decoder.ignore("");
        decoder.instruction->execute = [](Warp&, const Instruction&, Mask) {};
    };
    set.define("prefetch", "9.7.9.15", hint);
    set.define("prefetchu", "9.7.9.15", hint);
    set.define("applypriority", "9.7.9.16", hint);
    set.define("createpolicy", "9.7.9.18", [](Decoder& decoder) {
        decoder.ignore("");
        decoder.out(0, Type::b64);
        decoder.instruction->execute = [](Warp& warp, const Instruction& instruction, Mask mask) {
            for_lanes(mask, [&](unsigned lane) { warp.at<u64>(instruction.operands[0])[lane] = 0; });
        };
    });
}

} // namespace cuda_emulator
