#include "ptx/decoder.hpp"
#include "ptx/module_text.hpp"
#include <bit>
#include <charconv>
#include <cstdlib>

namespace cuda_emulator {

std::uint64_t constant_bits(const Argument& argument, Type type) {
    std::string_view text = argument.text;
    std::uint64_t bits = 0;
    const auto parse = [&](std::string_view digits, int base) {
        std::from_chars(digits.data(), digits.data() + digits.size(), bits, base);
    };
    const auto as_float = [&](double value) { // a floating-point constant in the type that wants it
        if (argument.negative) value = -value;
        return type == Type::f32 || size_of(type) == 4 ? std::bit_cast<std::uint32_t>(static_cast<float>(value))
                                                       : std::bit_cast<std::uint64_t>(value);
    };
    if (text == "WARP_SZ") return 32;
    if (text.starts_with("0f") || text.starts_with("0F")) { // PTX ISA 4.5.2
        parse(text.substr(2), 16);
        return size_of(type) == 8 && !is_integer(type)
                   ? as_float(std::bit_cast<float>(static_cast<std::uint32_t>(bits)))
                   : bits ^ (argument.negative ? 0x80000000u : 0u);
    }
    if (text.starts_with("0d") || text.starts_with("0D")) {
        parse(text.substr(2), 16);
        return size_of(type) == 4 ? as_float(std::bit_cast<double>(bits))
                                  : bits ^ (argument.negative ? std::uint64_t{1} << 63 : 0);
    }
    if (text.find('.') != std::string_view::npos) return as_float(std::strtod(std::string(text).c_str(), nullptr));
    if (text.starts_with("0x") || text.starts_with("0X")) parse(text.substr(2), 16);
    else if (text.starts_with("0b") || text.starts_with("0B")) parse(text.substr(2), 2);
    else parse(text, text.size() > 1 && text[0] == '0' ? 8 : 10);
    if (!is_integer(type) && type != Type::pred) return as_float(static_cast<double>(bits));
    return argument.negative ? 0 - bits : bits;
}

Decoder::Decoder(std::string_view opcode) {
    std::size_t dot = opcode.find('.');
    mnemonic = opcode.substr(0, dot);
    while (dot != std::string_view::npos) {
        const std::size_t next = opcode.find('.', dot + 1);
        modifiers_.push_back(opcode.substr(dot + 1, next == std::string_view::npos ? next : next - dot - 1));
        dot = next;
    }
    taken_.resize(modifiers_.size());
}

bool Decoder::take(std::string_view modifier) {
    for (std::size_t i = 0; i < modifiers_.size(); ++i)
        if (!taken_[i] && modifiers_[i] == modifier) return taken_[i] = true;
    return false;
}

int Decoder::take_one(std::initializer_list<std::string_view> modifiers) {
    int which = 0;
    for (const std::string_view modifier : modifiers) {
        if (take(modifier)) return which;
        ++which;
    }
    return -1;
}

void Decoder::ignore(std::string_view beginning) {
    for (std::size_t i = 0; i < modifiers_.size(); ++i)
        if (modifiers_[i].starts_with(beginning)) taken_[i] = true;
}

std::optional<Type> Decoder::maybe_type() {
    for (std::size_t i = 0; i < modifiers_.size(); ++i)
        if (const auto type = type_named(modifiers_[i]); type && !taken_[i]) return taken_[i] = true, type;
    return std::nullopt;
}

Type Decoder::take_type() {
    const auto type = maybe_type();
    if (!type) unsupported("no type");
    return *type;
}

std::string_view Decoder::modifier_left() const {
    for (std::size_t i = 0; i < modifiers_.size(); ++i)
        if (!taken_[i]) return modifiers_[i];
    return {};
}

void Decoder::expect_all_taken() const {
    if (const std::string_view left = modifier_left(); !left.empty()) unsupported("." + std::string(left));
    if (!instruction->execute) unsupported();
}

const Argument& Decoder::at(std::size_t i) const {
    if (i >= arguments.size()) unsupported("too few operands");
    return arguments[i];
}

void Decoder::add(Operand operand) { kernel->operands.push_back(operand); }

std::optional<std::int64_t> Decoder::number(const Argument& argument) const {
    if (argument.kind != Argument::Kind::number) return std::nullopt;
    return static_cast<std::int64_t>(constant_bits(argument, Type::b64));
}

namespace {

constexpr std::pair<std::string_view, Special> special_names[] = {
    {"%tid.x", Special::tid_x},
    {"%tid.y", Special::tid_y},
    {"%tid.z", Special::tid_z},
    {"%ntid.x", Special::ntid_x},
    {"%ntid.y", Special::ntid_y},
    {"%ntid.z", Special::ntid_z},
    {"%ctaid.x", Special::ctaid_x},
    {"%ctaid.y", Special::ctaid_y},
    {"%ctaid.z", Special::ctaid_z},
    {"%nctaid.x", Special::nctaid_x},
    {"%nctaid.y", Special::nctaid_y},
    {"%nctaid.z", Special::nctaid_z},
    {"%laneid", Special::laneid},
    {"%warpid", Special::warpid},
    {"%nwarpid", Special::nwarpid},
    {"%smid", Special::smid},
    {"%nsmid", Special::nsmid},
    {"%gridid", Special::gridid},
    {"%lanemask_eq", Special::lanemask_eq},
    {"%lanemask_le", Special::lanemask_le},
    {"%lanemask_lt", Special::lanemask_lt},
    {"%lanemask_ge", Special::lanemask_ge},
    {"%lanemask_gt", Special::lanemask_gt},
    {"%clusterid.x", Special::clusterid_x},
    {"%clusterid.y", Special::clusterid_y},
    {"%clusterid.z", Special::clusterid_z},
    {"%nclusterid.x", Special::nclusterid_x},
    {"%nclusterid.y", Special::nclusterid_y},
    {"%nclusterid.z", Special::nclusterid_z},
    {"%cluster_ctaid.x", Special::cluster_ctaid_x},
    {"%cluster_ctaid.y", Special::cluster_ctaid_y},
    {"%cluster_ctaid.z", Special::cluster_ctaid_z},
    {"%cluster_nctaid.x", Special::cluster_nctaid_x},
    {"%cluster_nctaid.y", Special::cluster_nctaid_y},
    {"%cluster_nctaid.z", Special::cluster_nctaid_z},
    {"%cluster_ctarank", Special::cluster_ctarank},
    {"%cluster_nctarank", Special::cluster_nctarank},
    {"%is_explicit_cluster", Special::is_explicit_cluster},
    {"%total_smem_size", Special::total_smem_size},
    {"%dynamic_smem_size", Special::dynamic_smem_size},
    {"%aggr_smem_size", Special::aggr_smem_size},
    {"%envreg1", Special::envreg1},
    {"%envreg2", Special::envreg2},
};

} // namespace

Operand Decoder::place(const Argument& argument, Type type, bool destination, Type* actual) {
    if (actual) *actual = type;
    if (argument.kind == Argument::Kind::number || argument.text == "WARP_SZ") {
        if (destination) unsupported("a number as destination");
        std::uint64_t bits = constant_bits(argument, type);
        if (type == Type::pred) return kernel->constant(4, bits ? all_lanes : 0);
        if (size_of(type) < 2 && actual) *actual = is_signed(type) ? Type::s16 : Type::u16;
        const unsigned bytes = size_of(actual ? *actual : type);
        if (bytes < 8) bits &= (std::uint64_t{1} << 8 * bytes) - 1;
        return kernel->constant(bytes, bits);
    }
    if (argument.kind != Argument::Kind::name) unsupported("operand");
    if (argument.text == "_" && destination) return {kernel->new_register(type)};
    for (const auto& [name, special] : special_names)
        if (argument.text == name && !destination && size_of(type) >= 4) {
            if (actual) *actual = Type::u32;
            else if (size_of(type) != 4) unsupported(std::string(name) + " has 32 bits");
            return kernel->special(special);
        }
    const Symbol symbol = lookup(argument.text);
    if (symbol.kind == Symbol::Kind::none) unsupported("unknown name " + std::string(argument.text));
    if (symbol.kind == Symbol::Kind::reg) {
        if ((symbol.type == Type::pred) != (type == Type::pred)) unsupported("operand " + std::string(argument.text));
        if (actual && size_of(symbol.type) >= size_of(type)) *actual = symbol.type;
        else if (size_of(symbol.type) != size_of(type))
            unsupported("operand " + std::string(argument.text) + " is a ." + name_of(symbol.type));
        return {static_cast<std::uint32_t>(symbol.value)};
    }
    if (destination) unsupported("destination " + std::string(argument.text));
    return kernel->constant(size_of(type), symbol.value + static_cast<std::uint64_t>(argument.offset), symbol.dynamic);
}

Operand Decoder::bind(const Argument& argument, Type type) {
    if (argument.inverted && type != Type::pred) unsupported("!");
    const Operand operand = place(argument, type, false, nullptr);
    add(operand);
    return operand;
}

Operand Decoder::out(const Argument& argument, Type type) {
    const Operand operand = place(argument, type, true, nullptr);
    add(operand);
    return operand;
}

Operand Decoder::out(std::size_t i, Type type) { return out(at(i), type); }

Type Decoder::bind_wide(const Argument& argument, Type type, bool destination) {
    Type actual = type;
    add(place(argument, type, destination, &actual));
    return actual;
}

Operand Decoder::out_second(const Argument& argument) {
    Argument second = argument;
    second.text = argument.second.empty() ? "_" : argument.second;
    return out(second, Type::pred);
}

void Decoder::address(const Argument& argument) {
    if (argument.kind != Argument::Kind::address) unsupported("no address");
    const Argument& base = argument.parts[0];
    instruction->immediate = argument.offset;
    if (base.kind == Argument::Kind::number) {
        instruction->immediate = 0;
        add(kernel->constant(8, constant_bits(base, Type::b64)));
        return;
    }
    const Symbol symbol = lookup(base.text);
    if (symbol.kind == Symbol::Kind::reg) {
        instruction->flags |= size_of(symbol.type) == 4 ? Instruction::address32 : 0;
        if (size_of(symbol.type) < 4) unsupported("address in " + std::string(base.text));
        add({static_cast<std::uint32_t>(symbol.value)});
    } else if (symbol.kind == Symbol::Kind::none) unsupported("unknown name " + std::string(base.text));
    else {
        if (symbol.kind == Symbol::Kind::local) instruction->flags |= Instruction::in_local;
        add(kernel->constant(8, symbol.value, symbol.dynamic));
    }
}

void Decoder::another_instruction() {
    Instruction next;
    next.detail = instruction->detail;
    next.guard = instruction->guard;
    next.guard_negated = instruction->guard_negated;
    function->instructions.push_back(next);
    function->first_operand.push_back(kernel->operands.size());
    instruction = &function->instructions.back();
}

void Decoder::unsupported(const std::string& why) const {
    const Detail& detail = *instruction->detail;
    std::string text = detail.opcode + ": " + (why.empty() ? "not emulated" : "not emulated (" + why + ")") + ", in " +
                       kernel->kernel.name;
    if (const Location& at = detail.location.outermost(); at.file)
        text += ", " + *at.file + ":" + std::to_string(at.line);
    throw PtxError(text + ", PTX line " + std::to_string(detail.ptx_line));
}

Definition definition_of(std::string_view mnemonic) {
    const auto found = instruction_set().entries.find(mnemonic);
    return found == instruction_set().entries.end() ? nullptr : found->second.decode;
}

} // namespace cuda_emulator
