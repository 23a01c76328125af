#pragma once
#include "machine/block.hpp"
#include "ptx/decoder.hpp"
#include <tuple>
#include <type_traits>

// What definitions of instructions are made of. A definition names the instruction and the section of the PTX ISA (9.0)
// that it follows, and picks a handler for its types. Most handlers are a function of one lane, repeated for the lanes.

namespace cuda_emulator {

using u8 = std::uint8_t;
using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;
using s8 = std::int8_t;
using s16 = std::int16_t;
using s32 = std::int32_t;
using s64 = std::int64_t;

/// Whether values of a PTX type are held in T.
template <class T> constexpr bool holds(Type type) {
    if constexpr (std::is_floating_point_v<T>) return type == (sizeof(T) == 4 ? Type::f32 : Type::f64);
    else return is_integer(type) && size_of(type) == sizeof(T) && is_signed(type) == std::is_signed_v<T>;
}

/// d[lane] = f(a[lane], b[lane], …)
template <class F, class D, class... S> void lane_wise(Warp& warp, const Instruction& instruction, Mask mask) {
    [&]<std::size_t... I>(std::index_sequence<I...>) {
        D* const d = warp.at<D>(instruction.operands[0]);
        const std::tuple<const S*...> s{warp.at<S>(instruction.operands[I + 1])...};
        for_lanes(mask, [=](unsigned lane) { d[lane] = F{}(std::get<I>(s)[lane]...); });
    }
    (std::index_sequence_for<S...>{});
}

/// Binds d, a, b, … of these types.
inline void bind(Decoder& decoder, Type result, std::initializer_list<Type> sources) {
    if (decoder.arguments.size() != sources.size() + 1) decoder.unsupported("number of operands");
    decoder.out(0, result);
    std::size_t i = 0;
    for (const Type type : sources) decoder.in(++i, type);
}

/// d = f(a, …): one to three sources, all of the instruction's type, which must be one of T.
template <class... T, class F> bool same_type(Decoder& decoder, Type type, F) {
    return ([&] {
        if (!holds<T>(type)) return false;
        if constexpr (std::is_invocable_v<F, T>)
            bind(decoder, type, {type}), decoder.instruction->execute = &lane_wise<F, T, T>;
        else if constexpr (std::is_invocable_v<F, T, T>)
            bind(decoder, type, {type, type}), decoder.instruction->execute = &lane_wise<F, T, T, T>;
        else bind(decoder, type, {type, type, type}), decoder.instruction->execute = &lane_wise<F, T, T, T, T>;
        return true;
    }() || ...);
}

/// As same_type, but with types of one's own: operands of D and S.
template <class D, class... S, class F>
void own_types(Decoder& decoder, Type result, std::initializer_list<Type> sources, F) {
    bind(decoder, result, sources);
    decoder.instruction->execute = &lane_wise<F, D, S...>;
}

/// Instructions whose name integers, floating-point numbers and half-precision numbers share.
using ByType = void (*)(Decoder&, Type);
inline void by_type(Decoder& decoder, ByType integer, ByType floating, ByType half) {
    const Type type = decoder.take_type();
    const bool narrow = type == Type::f16 || type == Type::f16x2 || type == Type::bf16 || type == Type::bf16x2;
    const ByType picked = is_integer(type) ? integer : narrow ? half : floating;
    if (!picked) decoder.unsupported();
    picked(decoder, type);
}
void floating_add(Decoder&, Type), floating_sub(Decoder&, Type), floating_mul(Decoder&, Type),
    floating_div(Decoder&, Type);
void floating_fma(Decoder&, Type), floating_abs(Decoder&, Type), floating_neg(Decoder&, Type),
    floating_min_max(Decoder&, Type, bool greatest);
void half_add(Decoder&, Type), half_sub(Decoder&, Type), half_mul(Decoder&, Type), half_fma(Decoder&, Type);
void half_abs(Decoder&, Type), half_neg(Decoder&, Type), half_min_max(Decoder&, Type, bool greatest);

// The files of definitions.
void define_integer(InstructionSet&);
void define_bits(InstructionSet&);
void define_floating(InstructionSet&);
void define_comparison(InstructionSet&);
void define_conversion(InstructionSet&);
void define_movement(InstructionSet&);
void define_memory(InstructionSet&);
void define_atomics(InstructionSet&);
void define_control(InstructionSet&);
void define_synchronisation(InstructionSet&);
void define_warp(InstructionSet&);
void define_asynchronous(InstructionSet&);
void define_transactions(InstructionSet&);
void define_matrix(InstructionSet&);

void decode_bulk_copy(Decoder&);    ///< cp.async.bulk
void decode_announcement(Decoder&); ///< cp.async.mbarrier.arrive
void arrive_at(Warp& warp, std::byte* barrier);
/// Copies of cp.async arrive. @param count of each lane: those of the warp's first so many
void finish_copies(Warp& warp, const std::array<std::size_t, 32>& count);
void decode_store_async(Decoder&); ///< st.async

} // namespace cuda_emulator
