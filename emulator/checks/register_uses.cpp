#include "checks/register_uses.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace cuda_emulator {

namespace {

/// The registers that a text names, in its order: "%f1", "%rd4".
std::vector<std::string_view> registers(std::string_view text) {
    std::vector<std::string_view> found;
    for (auto at = text.find('%'); at != std::string_view::npos; at = text.find('%', at + 1)) {
        auto end = at + 1;
        while (end < text.size() && (std::isalnum(static_cast<unsigned char>(text[end])) || text[end] == '_' || text[end] == '.')) ++end;
        found.push_back(text.substr(at, end - at));
    }
    return found;
}

/// How many of the registers of an instruction are destinations.
std::size_t destinations(const Detail& detail) {
    if (detail.opcode.starts_with("st") || detail.opcode.starts_with("red") || detail.opcode.starts_with("bra")) return 0;
    const auto begin = detail.text.find_first_of(" \t");
    if (begin == std::string::npos) return 0;
    std::string_view operands = std::string_view(detail.text).substr(begin);
    const auto brace = operands.find('{'), comma = operands.find(',');
    const auto end = brace < comma ? operands.find('}') : comma;
    return registers(operands.substr(0, end)).size();
}

bool used(const Kernel& kernel, std::string_view name, const std::string& function) {
    return std::any_of(kernel.instructions.begin(), kernel.instructions.end(), [&](const Instruction& i) {
        if (!i.detail || i.detail->function != function || i.detail->opcode.starts_with("st")) return false;
        const auto found = registers(i.detail->text);
        return std::find(found.begin() + static_cast<std::ptrdiff_t>(std::min(destinations(*i.detail), found.size())), found.end(), name) != found.end();
    });
}

} // namespace

bool uses_unset(const Kernel& kernel, const Instruction& load, const std::uint8_t* written, unsigned bytes, unsigned elements) {
    const auto names = registers(load.detail->text);
    const unsigned each = bytes / std::max(1u, elements);
    for (unsigned e = 0; e < elements && e < names.size(); ++e)
        if (std::any_of(written + e * each, written + (e + 1) * each, [](std::uint8_t w) { return w == 0; }) &&
            used(kernel, names[e], load.detail->function))
            return true;
    return false;
}

} // namespace cuda_emulator
