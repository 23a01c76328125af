#include "checks/joined_loads.hpp"

#include <algorithm>
#include <bit>
#include <map>
#include <set>
#include <string_view>
#include <unordered_map>

namespace cuda_emulator {

namespace {

constexpr unsigned most = 16; // known zero bits that matter

bool begins(const Instruction& i, std::string_view word) { return i.detail && i.detail->opcode.starts_with(word); }

/// For each register the number of zero bits at the end of all values that it ever has.
class TrailingZeros {
public:
    explicit TrailingZeros(const Kernel& kernel) : kernel_(kernel) {
        std::map<std::uint32_t, std::vector<const Instruction*>> definitions;
        for (const Instruction& i : kernel.instructions)
            if (i.operands && i.detail && i.operands[0].exists() && !i.operands[0].constant() && !begins(i, "st") &&
                !begins(i, "bra"))
                definitions[i.operands[0].code].push_back(&i);
        for (const auto& [reg, all] : definitions) zeros_[reg] = most;
        for (bool changed = true; changed;) { // from all that may be down to what is
            changed = false;
            for (const auto& [reg, all] : definitions) {
                unsigned least = most;
                for (const Instruction* i : all) least = std::min(least, result_of(*i));
                if (least < zeros_[reg]) zeros_[reg] = least, changed = true;
            }
        }
    }

    unsigned of(Operand operand) const {
        if (operand.constant()) {
            const std::size_t word = operand.offset() / sizeof(std::uint64_t);
            if (word >= kernel_.constants.size()) return 0;
            const auto value = static_cast<std::uint32_t>(kernel_.constants[word] >> operand.offset() % 8 * 8);
            return value == 0 ? most : std::min<unsigned>(most, static_cast<unsigned>(std::countr_zero(value)));
        }
        const auto found = zeros_.find(operand.code);
        return found == zeros_.end() ? 0 : found->second;
    }

private:
    unsigned result_of(const Instruction& i) const {
        const Operand* const o = i.operands;
        const auto sum = [](unsigned a, unsigned b) { return std::min(most, a + b); };
        if (begins(i, "mov.u") || begins(i, "mov.b32") || begins(i, "mov.b64") || begins(i, "cvt.u") ||
            begins(i, "cvt.s") || begins(i, "cvta"))
            return i.detail->text.find('{') == std::string::npos ? of(o[1]) : 0;
        if (begins(i, "add.s") || begins(i, "add.u") || begins(i, "sub.s") || begins(i, "or.b") || begins(i, "xor.b"))
            return std::min(of(o[1]), of(o[2]));
        if (begins(i, "and.b")) return std::max(of(o[1]), of(o[2]));
        if (begins(i, "mul.lo") || begins(i, "mul.wide")) return sum(of(o[1]), of(o[2]));
        if (begins(i, "mad.lo") || begins(i, "mad.wide")) return std::min(sum(of(o[1]), of(o[2])), of(o[3]));
        if (begins(i, "shl.b") && o[2].constant() && o[2].offset() / 8 < kernel_.constants.size())
            return sum(of(o[1]),
                       static_cast<std::uint32_t>(kernel_.constants[o[2].offset() / 8] >> o[2].offset() % 8 * 8));
        if (begins(i, "selp.")) return std::min(of(o[1]), of(o[2]));
        return 0;
    }

    const Kernel& kernel_;
    std::unordered_map<std::uint32_t, unsigned> zeros_;
};

/// Bytes of a scalar load of shared memory that ptxas may join, or 0.
unsigned joinable(const Instruction& i) {
    if (i.guard.exists() || !begins(i, "ld.shared.")) return 0;
    const std::string_view type = std::string_view(i.detail->opcode).substr(10);
    if (type == "f32" || type == "u32" || type == "s32" || type == "b32") return 4;
    return type == "f64" || type == "u64" || type == "s64" || type == "b64" ? 8 : 0;
}

} // namespace

std::vector<unsigned> joined_loads(const Kernel& kernel) {
    const auto& all = kernel.instructions;
    if (std::none_of(all.begin(), all.end(), [](const Instruction& i) { return joinable(i); })) return {};
    std::set<std::uint32_t> leaders;
    for (const Instruction& i : all)
        if (begins(i, "bra") || begins(i, "brx")) leaders.insert(i.target), leaders.insert(i.index + 1);
    const TrailingZeros zeros(kernel);
    std::vector<unsigned> result(all.size(), 1);
    bool any = false;

    std::map<std::pair<std::uint32_t, unsigned>, std::map<std::int64_t, std::uint32_t>>
        open; // base and width: offset: load
    const auto close = [&] {
        for (const auto& [key, loads] : open) {
            const auto [base, width] = key;
            std::set<std::int64_t> taken;
            for (const unsigned whole : {16u, 8u}) {
                if (whole <= width || (1u << zeros.of(Operand{base})) < whole) continue;
                for (const auto& [offset, first] : loads) {
                    if (offset % whole != 0) continue;
                    std::vector<std::uint32_t> parts;
                    for (unsigned k = 0; k < whole; k += width) {
                        const auto part = loads.find(offset + k);
                        if (part != loads.end() && !taken.contains(offset + k)) parts.push_back(part->second);
                    }
                    if (parts.size() != whole / width) continue;
                    for (unsigned k = 0; k < whole; k += width) taken.insert(offset + k);
                    // The load of the lowest address stands for all, though another may run before.
                    for (const std::uint32_t part : parts) result[part] = 0;
                    result[first] = whole / width;
                    any = true;
                }
            }
        }
        open.clear();
    };
    for (const Instruction& i : all) {
        if (leaders.contains(i.index) || begins(i, "st") || begins(i, "bar") || begins(i, "atom") || begins(i, "red") ||
            begins(i, "call") || begins(i, "membar") || begins(i, "fence") || begins(i, "ret") || begins(i, "cp.") ||
            begins(i, "mbarrier"))
            close();
        if (const unsigned width = joinable(i)) open[{i.operands[1].code, width}].try_emplace(i.immediate, i.index);
        if (i.operands && i.operands[0].exists()) // another value in the base: what follows has another address
            for (const unsigned width : {4u, 8u}) {
                const auto base = open.find({i.operands[0].code, width});
                if (base != open.end()) {
                    close();
                    break;
                }
            }
    }
    close();
    return any ? result : std::vector<unsigned>{};
}

} // namespace cuda_emulator
