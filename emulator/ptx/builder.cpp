#include "machine/memory.hpp"
#include "ptx/module_text.hpp"
#include <algorithm>

namespace cuda_emulator {

std::uint32_t KernelBuilder::new_register(Type type) {
    const std::size_t bytes = type == Type::pred ? sizeof(Mask) : 32 * std::size_t{size_of(type)};
    // Arrays of lanes begin at cache lines; predicates are packed.
    kernel.register_bytes = align_up(kernel.register_bytes, type == Type::pred ? sizeof(Mask) : 64);
    const std::size_t at = kernel.register_bytes;
    kernel.register_bytes += bytes;
    return static_cast<std::uint32_t>(at);
}

Operand KernelBuilder::constant(unsigned bytes, std::uint64_t bits, bool dynamic_shared) {
    const auto key = std::make_tuple(bytes, bits, dynamic_shared);
    if (const auto found = constants_.find(key); found != constants_.end()) return {found->second};
    const std::size_t at = kernel.constants.size() * 8;
    kernel.constants.resize(kernel.constants.size() + std::size_t{4} * bytes); // 32 lanes
    for (unsigned lane = 0; lane < 32; ++lane)
        std::memcpy(reinterpret_cast<std::byte*>(kernel.constants.data()) + at + lane * bytes, &bits,
                    std::min(bytes, 8u));
    const Operand operand{static_cast<std::uint32_t>(at) | Operand::constant_bit};
    constants_[key] = operand.code;
    if (dynamic_shared) dynamic_constants_.push_back({at, bytes});
    return operand;
}

Operand KernelBuilder::special(Special special) {
    const auto [found, fresh] = specials_.try_emplace(special);
    if (fresh) {
        found->second = {new_register(Type::b32)};
        kernel.specials.emplace_back(special, found->second.code);
    }
    return found->second;
}

std::uint32_t KernelBuilder::new_local(std::size_t bytes, std::size_t align) {
    const std::size_t at = align_up(kernel.local_bytes, align);
    kernel.local_bytes = at + bytes;
    return static_cast<std::uint32_t>(at);
}

std::uint32_t KernelBuilder::new_shared(std::size_t bytes, std::size_t align) {
    const std::size_t at = align_up(kernel.shared_bytes, align);
    kernel.shared_bytes = at + bytes;
    return static_cast<std::uint32_t>(at);
}

Symbol KernelBuilder::module_symbol(std::string_view name) {
    if (const auto found = module.variable_at.find(name); found != module.variable_at.end()) {
        const Variable& variable = module.variables[found->second];
        return {Symbol::Kind::address, Type::b64, reinterpret_cast<std::uintptr_t>(variable.address), variable.size};
    }
    if (const auto found = shared_.find(name); found != shared_.end()) return found->second;
    if (const auto found = module.shared.find(name); found != module.shared.end()) {
        const SharedVariable& variable = found->second;
        Symbol symbol{Symbol::Kind::shared, Type::b32, 0, variable.size, variable.dynamic};
        if (variable.dynamic) dynamic_align_ = std::max(dynamic_align_, variable.align);
        else symbol.value = new_shared(variable.size, variable.align);
        return shared_[std::string(name)] = symbol;
    }
    return {};
}

FunctionCode* KernelBuilder::function(const std::string& name) {
    if (const auto found = functions_.find(name); found != functions_.end()) return &found->second;
    if (!module.functions.contains(name)) return nullptr;
    if (std::ranges::find(open_, name) != open_.end())
        throw PtxError("call " + name + ": kernel " + kernel.name + " is recursive, which the emulator does not have");
    open_.push_back(name);
    FunctionCode code = read_function(*this, name);
    open_.pop_back();
    order_.push_back(name);
    return &(functions_[name] = std::move(code));
}

void KernelBuilder::link(const std::string& name) {
    function(name);
    // Functions first: the lanes with the lowest place go first, so a function's lanes come back before others go on.
    std::size_t count = 0;
    for (const std::string& part : order_) {
        functions_[part].begin = static_cast<std::uint32_t>(count);
        count += functions_[part].instructions.size();
    }
    kernel.instructions.reserve(count);
    kernel.operands = std::move(operands);
    for (const std::string& part : order_) {
        FunctionCode& code = functions_[part];
        for (const std::size_t entry : code.table_entries) kernel.operands[entry].code += code.begin;
        for (auto& [at, callee] : code.calls) code.instructions[at].target = functions_[callee].begin - code.begin;
        for (std::size_t i = 0; i < code.instructions.size(); ++i) {
            Instruction instruction = code.instructions[i];
            instruction.operands = kernel.operands.data() + code.first_operand[i];
            if (instruction.flags & Instruction::may_jump) instruction.target += code.begin;
            instruction.index = static_cast<std::uint32_t>(kernel.instructions.size());
            kernel.instructions.push_back(instruction);
        }
    }
    kernel.entry = functions_[name].begin;
    kernel.shared_bytes = align_up(kernel.shared_bytes, kernel.shared_bytes ? dynamic_align_ : 1);
    for (const auto& [at, bytes] : dynamic_constants_)
        for (unsigned lane = 0; lane < 32; ++lane) {
            auto* value = reinterpret_cast<std::byte*>(kernel.constants.data()) + at + lane * bytes;
            std::uint64_t address = 0;
            std::memcpy(&address, value, bytes);
            address += kernel.shared_bytes;
            std::memcpy(value, &address, bytes);
        }
}

} // namespace cuda_emulator
