#include "checks/machine_state.hpp"

#include <algorithm>
#include <string_view>

#include "machine/block.hpp"

namespace cuda_emulator {

namespace {

/// The name of the i-th value of a store: "%r2" in "st.global.v2.u32 [%rd1], {%r1, %r2}".
std::string_view value_name(std::string_view text, unsigned i) {
    auto at = text.find(']');
    for (unsigned k = 0; k <= i && at != std::string_view::npos; ++k) at = text.find('%', at + 1);
    if (at == std::string_view::npos) return {};
    return text.substr(at, text.find_first_of(",} ;", at) - at);
}

unsigned width_of(std::string_view name) {
    if (name.starts_with("%rs") || name.starts_with("%h")) return 2;
    if (name.starts_with("%rd") || name.starts_with("%fd")) return 8;
    return name.starts_with("%r") || name.starts_with("%f") ? 4 : 0;
}

} // namespace

std::optional<std::byte> stored_byte(const WarpView& view, unsigned lane, const Access& store, unsigned i) {
    const unsigned each = store.bytes / store.elements, element = i / each;
    const Operand operand = store.instruction->operands[element]; // the values come before the address
    const unsigned width = operand.constant() ? each : width_of(value_name(store.instruction->detail->text, element));
    if (width < each) return {};
    auto& warp = const_cast<Warp&>(static_cast<const Warp&>(view));
    return warp.at<std::byte>(operand)[lane * width + i % each];
}

bool is_under_way(const WarpView& view, unsigned lane, const std::byte* to) {
    const auto& copies = static_cast<const Warp&>(view).copies;
    return std::any_of(copies.begin(), copies.end(),
                       [&](const Warp::Copy& copy) { return copy.lane == lane && copy.to == to && !copy.announced; });
}

Mask predicate_of(const WarpView& view, Operand predicate) {
    return const_cast<Warp&>(static_cast<const Warp&>(view)).predicate(predicate);
}

BlockView* block_of_cluster(const WarpView& view, std::size_t rank) {
    const auto& blocks = const_cast<Warp&>(static_cast<const Warp&>(view)).owner().cluster->blocks;
    return rank < blocks.size() ? blocks[rank].get() : nullptr;
}

} // namespace cuda_emulator
