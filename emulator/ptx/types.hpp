#pragma once
#include <cstdint>
#include <optional>
#include <string_view>

namespace cuda_emulator {

/// Fundamental types (PTX ISA 5.2).
enum class Type : std::uint8_t {
    u8,
    u16,
    u32,
    u64,
    s8,
    s16,
    s32,
    s64,
    b8,
    b16,
    b32,
    b64,
    b128,
    f16,
    f16x2,
    bf16,
    bf16x2,
    tf32,
    f32,
    f64,
    pred
};

/// "f32" -> Type::f32; nothing if it is no type.
std::optional<Type> type_named(std::string_view name);
const char* name_of(Type type);

/// Bytes of a value. A predicate has none of its own: a register of predicates is one Mask for the warp.
constexpr unsigned size_of(Type type) {
    switch (type) {
    case Type::u8:
    case Type::s8:
    case Type::b8: return 1;
    case Type::u16:
    case Type::s16:
    case Type::b16:
    case Type::f16:
    case Type::bf16: return 2;
    case Type::u64:
    case Type::s64:
    case Type::b64:
    case Type::f64: return 8;
    case Type::b128: return 16;
    default: return 4;
    }
}
constexpr bool is_signed(Type type) { return type >= Type::s8 && type <= Type::s64; }
constexpr bool is_integer(Type type) { return type <= Type::b128; }

} // namespace cuda_emulator
