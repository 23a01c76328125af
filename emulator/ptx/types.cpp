#include "ptx/types.hpp"

namespace cuda_emulator {
namespace {

constexpr const char* names[] = {"u8",  "u16",  "u32", "u64",   "s8",   "s16",    "s32",  "s64", "b8",  "b16", "b32",
                                 "b64", "b128", "f16", "f16x2", "bf16", "bf16x2", "tf32", "f32", "f64", "pred"};

} // namespace

std::optional<Type> type_named(std::string_view name) {
    for (std::size_t i = 0; i < std::size(names); ++i)
        if (name == names[i]) return static_cast<Type>(i);
    return std::nullopt;
}

const char* name_of(Type type) { return names[static_cast<std::size_t>(type)]; }

} // namespace cuda_emulator
