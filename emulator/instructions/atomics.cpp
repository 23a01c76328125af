#include "instructions/half.hpp"
#include "instructions/memory.hpp"
#include <atomic>
#include <limits>

// PTX ISA 9.7.13.5 atom, 9.7.13.7 red. Blocks run on several host threads, so these are atomic on the host; the lanes
// of a warp go one after the other, the lowest first.

namespace cuda_emulator {
namespace {

constexpr auto op_add = [](auto old, auto b) { return old + b; };
constexpr auto op_min = [](auto old, auto b) { return b < old ? b : old; };
constexpr auto op_max = [](auto old, auto b) { return b > old ? b : old; };
constexpr auto op_and = [](auto old, auto b) { return old & b; };
constexpr auto op_or = [](auto old, auto b) { return old | b; };
constexpr auto op_xor = [](auto old, auto b) { return old ^ b; };
constexpr auto op_exch = [](auto, auto b) { return b; };
constexpr auto op_inc = [](auto old, auto b) { return old >= b ? decltype(old){0} : old + 1; };
constexpr auto op_dec = [](auto old, auto b) { return old == 0 || old > b ? b : old - 1; };

template <unsigned bytes> using Bits = std::conditional_t<bytes == 2, u16, std::conditional_t<bytes == 4, u32, u64>>;

/// old = *at; *at = f(old): in one step.
template <class T, class F> T update(Warp& warp, std::byte* at, F f) {
    using B = Bits<sizeof(T)>;
    B* const place = reinterpret_cast<B*>(at);
    B old = __atomic_load_n(place, __ATOMIC_RELAXED);
    while (true) {
        const B fresh = std::bit_cast<B>(static_cast<T>(f(std::bit_cast<T>(old))));
        if (!__atomic_compare_exchange_n(place, &old, fresh, false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED)) continue;
        if (fresh != old) warp.wrote();
        return std::bit_cast<T>(old);
    }
}

// Operands: d unless it is a reduction, address, b.
template <class F, class T, bool returns> void atomic(Warp& warp, const Instruction& instruction, Mask mask) {
    const MemoryModifiers how = MemoryModifiers::of(instruction);
    const Operand* operand = instruction.operands + returns;
    Warp::Pointers at;
    const auto lock = warp.in_order();
    warp.resolve(instruction, mask, operand[0],
                 how.access(returns ? AccessKind::atomic : AccessKind::reduction, sizeof(T), instruction), how.generic,
                 at);
    const T* const b = warp.at<T>(operand[1]);
    const auto first = static_cast<unsigned>(std::countr_zero(mask));
    T seen{};
    for (Mask left = mask; left; left &= left - 1) {
        const auto lane = static_cast<unsigned>(std::countr_zero(left));
        const T value = b[lane], old = update<T>(warp, at.lane[lane], [=](T x) { return F{}(x, value); });
        if (lane == first) seen = old;
        if constexpr (returns) warp.at<T>(instruction.operands[0])[lane] = old;
    }
    if constexpr (returns) warp.polled(instruction, at.lane[first], std::bit_cast<Bits<sizeof(T)>>(seen));
}

template <class T> void compare_and_swap(Warp& warp, const Instruction& instruction, Mask mask) {
    const MemoryModifiers how = MemoryModifiers::of(instruction);
    Warp::Pointers at;
    const auto lock = warp.in_order();
    warp.resolve(instruction, mask, instruction.operands[1], how.access(AccessKind::atomic, sizeof(T), instruction),
                 how.generic, at);
    T *const d = warp.at<T>(instruction.operands[0]), *const b = warp.at<T>(instruction.operands[2]),
             *const c = warp.at<T>(instruction.operands[3]);
    const auto first = static_cast<unsigned>(std::countr_zero(mask));
    for (Mask left = mask; left; left &= left - 1) {
        const auto lane = static_cast<unsigned>(std::countr_zero(left));
        T expected = b[lane];
        if (__atomic_compare_exchange_n(reinterpret_cast<T*>(at.lane[lane]), &expected, c[lane], false,
                                        __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST) &&
            expected != c[lane])
            warp.wrote();
        d[lane] = expected;
    }
    if constexpr (sizeof(T) <= 8) warp.polled(instruction, at.lane[first], d[first]);
}

// N numbers side by side, each updated alone (.v2, .v4; .f16x2 and .bf16x2, whose halves are separate too).
template <class T, unsigned N, bool returns> void add_elements(Warp& warp, const Instruction& instruction, Mask mask) {
    const MemoryModifiers how = MemoryModifiers::of(instruction);
    const Operand* operand = instruction.operands + (returns ? N : 0);
    Warp::Pointers at;
    const auto lock = warp.in_order();
    warp.resolve(instruction, mask, operand[0],
                 how.access(returns ? AccessKind::atomic : AccessKind::reduction, N * sizeof(T), instruction),
                 how.generic, at);
    for (Mask left = mask; left; left &= left - 1) {
        const auto lane = static_cast<unsigned>(std::countr_zero(left));
        for (unsigned i = 0; i < N; ++i) {
            const T value = warp.at<T>(operand[1 + i])[lane],
                    old = update<T>(warp, at.lane[lane] + i * sizeof(T), [=](T x) { return x + value; });
            if constexpr (returns) warp.at<T>(instruction.operands[i])[lane] = old;
        }
    }
}

template <class N, bool returns> void add_narrow_pair(Warp& warp, const Instruction& instruction, Mask mask) {
    const MemoryModifiers how = MemoryModifiers::of(instruction);
    const Operand* operand = instruction.operands + returns;
    Warp::Pointers at;
    const auto lock = warp.in_order();
    warp.resolve(instruction, mask, operand[0],
                 how.access(returns ? AccessKind::atomic : AccessKind::reduction, 4, instruction), how.generic, at);
    const auto sum = [](u32 a, u32 b) {
        return N::of(add_to_odd(N{static_cast<u16>(a)}.value(), N{static_cast<u16>(b)}.value())).bits;
    };
    for (Mask left = mask; left; left &= left - 1) {
        const auto lane = static_cast<unsigned>(std::countr_zero(left));
        const u32 value = warp.at<u32>(operand[1])[lane];
        const u32 old = update<u32>(warp, at.lane[lane],
                                    [=](u32 x) { return u32{sum(x, value)} | u32{sum(x >> 16, value >> 16)} << 16; });
        if constexpr (returns) warp.at<u32>(instruction.operands[0])[lane] = old;
    }
}

template <class... T, class F> void pick(Decoder& decoder, Type type, bool returns, F) {
    (void)((holds<T>(type) ? (decoder.instruction->execute = returns ? &atomic<F, T, true> : &atomic<F, T, false>, true)
                           : false) ||
           ...);
}

void decode_atomic(Decoder& decoder, bool returns) {
    MemoryModifiers how = take_memory_modifiers(decoder);
    if (how.order == Order::weak) how.order = Order::relaxed;
    if (how.scope == Scope::none) how.scope = Scope::gpu;
    decoder.ignore("L1::");
    decoder.ignore("L2::");
    decoder.take("noftz");
    const int op = decoder.take_one({"add", "min", "max", "and", "or", "xor", "exch", "inc", "dec", "cas"});
    const int vector = decoder.take_one({"v2", "v4"});
    how.elements = vector < 0 ? 1 : 2u << vector;
    const Type type = decoder.take_type();
    std::size_t next = 0;
    const auto bind_data = [&](bool destination) {
        const Argument& data = decoder.at(next++);
        if (vector < 0) return void(destination ? decoder.out(data, type) : decoder.bind(data, type));
        for (const Argument& part : data.parts) destination ? decoder.out(part, type) : decoder.bind(part, type);
    };
    if (returns) bind_data(true);
    decoder.address(decoder.at(next++));
    bind_data(false);
    if (op == 9) decoder.in(next, type);
    Instruction& instruction = *decoder.instruction;
    instruction.modifiers = how.pack();
    if (vector >= 0) {
        if (type != Type::f32 || op != 0) decoder.unsupported();
        if (vector == 0) instruction.execute = returns ? &add_elements<float, 2, true> : &add_elements<float, 2, false>;
        else instruction.execute = returns ? &add_elements<float, 4, true> : &add_elements<float, 4, false>;
        return;
    }
    if (type == Type::f16x2 && op == 0)
        instruction.execute = returns ? &add_narrow_pair<Half, true> : &add_narrow_pair<Half, false>;
    else if (type == Type::bf16x2 && op == 0)
        instruction.execute = returns ? &add_narrow_pair<Bfloat, true> : &add_narrow_pair<Bfloat, false>;
    else switch (op) {
        case 0: return pick<u32, s32, u64, s64, float, double>(decoder, type, returns, op_add);
        case 1: return pick<u32, s32, u64, s64>(decoder, type, returns, op_min);
        case 2: return pick<u32, s32, u64, s64>(decoder, type, returns, op_max);
        case 3: return pick<u32, u64>(decoder, type, returns, op_and);
        case 4: return pick<u32, u64>(decoder, type, returns, op_or);
        case 5: return pick<u32, u64>(decoder, type, returns, op_xor);
        case 6: return pick<u32, s32, u64, s64>(decoder, type, returns, op_exch);
        case 7: return pick<u32>(decoder, type, returns, op_inc);
        case 8: return pick<u32>(decoder, type, returns, op_dec);
        case 9:
            if (!returns) decoder.unsupported();
            instruction.execute = size_of(type) == 2   ? &compare_and_swap<u16>
                                  : size_of(type) == 4 ? &compare_and_swap<u32>
                                  : size_of(type) == 8 ? &compare_and_swap<u64>
                                                       : nullptr;
            return;
        default: decoder.unsupported();
        }
}

} // namespace

void define_atomics(InstructionSet& set) {
    set.define("atom", "9.7.13.5", [](Decoder& decoder) { decode_atomic(decoder, true); });
    set.define("red", "9.7.13.7", [](Decoder& decoder) { decode_atomic(decoder, false); });
}

} // namespace cuda_emulator
