#pragma once
#include "ptx/module.hpp"
#include "ptx/types.hpp"
#include <functional>
#include <initializer_list>
#include <map>
#include <tuple>
#include <unordered_map>

namespace cuda_emulator {

/// An operand as it stands in the text (PTX ISA 6.4).
struct Argument {
    enum class Kind { name, number, vector, address, list };
    Kind kind = Kind::name;
    std::string_view text;       ///< of a name or a number
    bool negative = false;       ///< -5
    bool inverted = false;       ///< !%p1
    std::string_view second;     ///< p of d|p
    std::vector<Argument> parts; ///< of {a, b}, of (a, b), of [base, {x, y}]
    std::int64_t offset = 0;     ///< of [base + 16]
};

/// What a name stands for.
struct Symbol {
    enum class Kind { none, reg, shared, address, local, parameter } kind = Kind::none;
    Type type = Type::b32;
    std::uint64_t value = 0; ///< of a register: its place; otherwise the address in its space
    std::size_t size = 0;
    bool dynamic = false; ///< shared memory behind all static variables
};

/// A device function or the kernel itself, decoded alone: targets of branches count from its own beginning.
struct FunctionCode {
    std::string name;
    std::vector<Instruction> instructions;
    std::vector<std::size_t> first_operand; ///< of each instruction, in KernelBuilder::operands
    struct Part {
        Symbol place;
        std::size_t size = 0;
    };
    std::vector<Part> parameters, results;                  ///< of a device function: in local memory
    Operand return_place;                                   ///< of a device function: where each lane goes on after it
    std::vector<std::pair<std::size_t, std::string>> calls; ///< instruction, function called
    std::vector<std::size_t> table_entries;                 ///< operands that are targets (brx.idx)
    std::uint32_t begin = 0;                                ///< in the kernel, once linked
};

/// A kernel under construction: places for registers, constants, shared and local memory.
class KernelBuilder {
public:
    KernelBuilder(Kernel& kernel, Module::Text& module) : kernel(kernel), module(module) {}

    /// The functions that `name` calls, then itself, one after the other. Throws PtxError on recursion.
    void link(const std::string& name);
    std::uint32_t new_register(Type type);
    Operand constant(unsigned bytes, std::uint64_t bits, bool dynamic_shared = false);
    Operand special(Special special);
    /// The register that stands for CC.CF (PTX ISA 9.7.2).
    std::uint32_t carry_flag() {
        if (carry_ == Operand::none) carry_ = new_register(Type::pred);
        return carry_;
    }
    std::uint32_t new_local(std::size_t bytes, std::size_t align);
    std::uint32_t new_shared(std::size_t bytes, std::size_t align);
    /// A name that no function declares: a variable of the module.
    Symbol module_symbol(std::string_view name);
    /// A device function that is called, decoded; null if the module has none of this name.
    FunctionCode* function(const std::string& name);

    Kernel& kernel;
    Module::Text& module;
    std::vector<Operand> operands;

private:
    std::map<std::tuple<unsigned, std::uint64_t, bool>, std::uint32_t> constants_;
    std::map<Special, Operand> specials_;
    std::uint32_t carry_ = Operand::none;
    std::map<std::string, Symbol, std::less<>> shared_; ///< of the module
    std::map<std::string, FunctionCode> functions_;
    std::vector<std::string> open_;  ///< functions whose calls are being followed
    std::vector<std::string> order_; ///< functions decoded, each behind those that it calls
    std::vector<std::pair<std::size_t, unsigned>>
        dynamic_constants_; ///< place and bytes of addresses of dynamic shared memory
    std::size_t dynamic_align_ = 16;
};

/// An instruction on its way from text to Instruction. The definitions in machine/ take what they know of its modifiers
/// and bind its operands; what nobody takes is an error, so nothing is ignored in silence.
class Decoder {
public:
    std::string_view mnemonic; ///< "ld"
    std::vector<Argument> arguments;
    Instruction* instruction = nullptr;
    KernelBuilder* kernel = nullptr;
    FunctionCode* function = nullptr;

    Decoder(std::string_view opcode);

    /// Takes a modifier: true if the opcode has it.
    bool take(std::string_view modifier);
    /// Takes one of several; -1 if it has none of them, otherwise which.
    int take_one(std::initializer_list<std::string_view> modifiers);
    /// Takes the modifiers that begin so, whatever follows (hints for caches).
    void ignore(std::string_view beginning);
    /// Takes the next type, counted from the front. Throws if there is none.
    Type take_type();
    std::optional<Type> maybe_type();
    void expect_all_taken() const;
    std::string_view modifier_left() const; ///< the first that nobody took

    /// Binds an operand: adds its place to the instruction's operands.
    Operand bind(const Argument& argument, Type type);
    Operand in(std::size_t i, Type type) { return bind(at(i), type); }
    Operand out(std::size_t i, Type type);
    Operand out(const Argument& argument, Type type);
    /// As bind, for ld, st and cvt, whose registers may be wider than the type: gives the type of the register.
    Type bind_wide(const Argument& argument, Type type, bool destination);
    /// p of d|p, or a place that nobody reads.
    Operand out_second(const Argument& argument);
    /// [base + offset]: binds the base, sets Instruction::immediate.
    void address(const Argument& argument);
    void add(Operand operand);
    const Argument& at(std::size_t i) const;
    bool has(std::size_t i) const { return i < arguments.size(); }
    /// A number known now.
    std::optional<std::int64_t> number(const Argument& argument) const;
    Symbol symbol(std::string_view name) const { return lookup(name); }

    /// Ends the instruction and begins another with the same text and guard.
    void another_instruction();

    [[noreturn]] void unsupported(const std::string& why = {}) const;

    std::function<Symbol(std::string_view)> lookup;
    /// A branch to a label, or to a table of labels, which become operands.
    std::function<void(std::string_view label, bool table)> want_label;

private:
    Operand place(const Argument& argument, Type type, bool destination, Type* actual);
    std::vector<std::string_view> modifiers_;
    std::vector<bool> taken_;
};

/// What a definition does with an instruction of its name: binds operands, picks the handler.
using Definition = void (*)(Decoder&);
/// The definition of a mnemonic; null if the emulator does not have it.
Definition definition_of(std::string_view mnemonic);

/// A file of definitions calls this for each of its instructions, with the section of the PTX ISA (9.0) that it
/// follows.
struct InstructionSet {
    struct Entry {
        std::string_view section;
        Definition decode;
    };
    std::unordered_map<std::string_view, Entry> entries;
    void define(std::string_view mnemonic, std::string_view section, Definition decode) {
        entries[mnemonic] = {section, decode};
    }
};
const InstructionSet& instruction_set();

/// Bits of a constant in a type: "0f3F800000", "17", "-1", "1.5".
std::uint64_t constant_bits(const Argument& argument, Type type);

} // namespace cuda_emulator
