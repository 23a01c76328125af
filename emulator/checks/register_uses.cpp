#include "checks/register_uses.hpp"

#include <algorithm>
#include <cctype>
#include <utility>

namespace cuda_emulator {

namespace {

/// The registers that a text names, in its order: "%f1", "%rd4".
std::vector<std::string_view> registers(std::string_view text) {
    std::vector<std::string_view> found;
    for (auto at = text.find('%'); at != std::string_view::npos; at = text.find('%', at + 1)) {
        auto end = at + 1;
        while (end < text.size() &&
               (std::isalnum(static_cast<unsigned char>(text[end])) || text[end] == '_' || text[end] == '.'))
            ++end;
        found.push_back(text.substr(at, end - at));
    }
    return found;
}

} // namespace

RegisterUses uses_of(const Instruction& instruction) {
    RegisterUses uses;
    if (!instruction.detail) return uses;
    const std::string_view opcode = instruction.detail->opcode;
    std::string_view operands = instruction.detail->text;
    operands.remove_prefix(std::min(operands.size(), operands.find_first_of(" \t")));
    const bool stores = opcode.starts_with("st.") || opcode.starts_with("red.");
    using Kind = RegisterUses::Kind;
    const std::pair<std::string_view, Kind> kinds[] = {
        {"st.", Kind::stores},           {"mov.", Kind::copies},        {"selp.", Kind::selects},
        {"shfl.", Kind::shuffles},       {"setp.", Kind::decides},      {"vote.", Kind::decides},
        {"match.", Kind::decides},       {"redux.", Kind::decides},     {"ld.", Kind::decides},
        {"atom.", Kind::changes_memory}, {"red.", Kind::changes_memory}};
    for (const auto& [word, kind] : kinds)
        if (opcode.starts_with(word)) uses.kind = kind;
    std::size_t end = 0; // of what is written
    if (!stores && !opcode.starts_with("bra") && !opcode.starts_with("bar")) {
        const auto brace = operands.find('{'), comma = operands.find(',');
        end = std::min(operands.size(), brace < comma ? operands.find('}') : comma);
    }
    uses.writes = registers(operands.substr(0, end));
    uses.reads = registers(operands.substr(end));
    const auto open = operands.find('[', end);
    if (open != std::string_view::npos)
        uses.addresses = registers(operands.substr(open, operands.find(']', open) - open));
    return uses;
}

} // namespace cuda_emulator
