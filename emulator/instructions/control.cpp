#include "instructions/define.hpp"
#include "instructions/device_calls.hpp"

// PTX ISA 9.7.12 Control flow, 9.7.19 Miscellaneous.

namespace cuda_emulator {
namespace {

void bra(Warp& warp, const Instruction& instruction, Mask mask) { warp.branch(instruction, mask, instruction.target); }

// A function's lanes may have come from several places: each knows where it goes on.
void call(Warp& warp, const Instruction& instruction, Mask mask) {
    u32* const back = warp.at<u32>(instruction.operands[0]);
    for_lanes(mask, [&](unsigned lane) { back[lane] = instruction.index + 1; });
    warp.branch(instruction, mask, instruction.target);
}

void return_from(Warp& warp, const Instruction& instruction, Mask mask) {
    warp.scatter(mask, warp.at<u32>(instruction.operands[0]));
}

void exit(Warp& warp, const Instruction&, Mask mask) { warp.exit(mask); }

// A parameter between caller and function: bytes of local memory. operands: from, to (both as constants).
void copy_local(Warp& warp, const Instruction& instruction, Mask mask) {
    const u64 from = warp.at<u64>(instruction.operands[0])[0], to = warp.at<u64>(instruction.operands[1])[0];
    for_lanes(mask, [&](unsigned lane) {
        std::memcpy(warp.local(lane) + to, warp.local(lane) + from, static_cast<std::size_t>(instruction.immediate));
    });
}

void brx(Warp& warp, const Instruction& instruction, Mask mask) {
    const u32* const index = warp.at<u32>(instruction.operands[0]);
    u32 targets[32];
    for_lanes(mask, [&](unsigned lane) {
        if (index[lane] >= static_cast<u64>(instruction.immediate))
            warp.fault(Fault::Kind::trap, "jumps outside its table", instruction, lane);
        targets[lane] = instruction.operands[1 + index[lane]].code;
    });
    warp.scatter(mask, targets);
}

// Function arguments are copied by instructions of their own before the call, results behind it.
void decode_call(Decoder& decoder) {
    decoder.take("uni");
    const std::vector<Argument>& arguments = decoder.arguments;
    const bool has_result = !arguments.empty() && arguments[0].kind == Argument::Kind::list;
    const std::size_t at = has_result;
    if (at >= arguments.size()) decoder.unsupported();
    const std::string name(arguments[at].text);
    const std::vector<Argument> none;
    const std::vector<Argument>& given = at + 1 < arguments.size() ? arguments[at + 1].parts : none;
    const std::vector<Argument>& results = has_result ? arguments[0].parts : none;
    const auto place = [&](const Argument& argument) {
        const Symbol symbol = decoder.symbol(argument.text);
        if (symbol.kind != Symbol::Kind::local) decoder.unsupported("an argument that is no .param");
        return symbol.value;
    };
    if (const Handler builtin = device_call(name)) {
        for (const auto* list : {&given, &results})
            for (const Argument& argument : *list) decoder.add(decoder.kernel->constant(8, place(argument)));
        decoder.instruction->execute = builtin;
        return;
    }
    FunctionCode* const function = decoder.kernel->function(name);
    if (!function)
        decoder.unsupported(arguments[at].text.starts_with('%') ? "a call through a pointer"
                                                                : "the module does not define " + name);
    if (given.size() != function->parameters.size() || results.size() != function->results.size())
        decoder.unsupported("number of arguments");
    decoder.function->first_operand.back() =
        decoder.kernel->operands.size(); // the function's own operands came in between
    const auto copy = [&](u64 from, u64 to, std::size_t bytes) {
        decoder.add(decoder.kernel->constant(8, from));
        decoder.add(decoder.kernel->constant(8, to));
        decoder.instruction->immediate = static_cast<s64>(bytes);
        decoder.instruction->execute = &copy_local;
        decoder.another_instruction();
    };
    for (std::size_t i = 0; i < given.size(); ++i)
        copy(place(given[i]), function->parameters[i].place.value, function->parameters[i].size);
    decoder.add(function->return_place);
    decoder.instruction->flags |= Instruction::may_jump;
    decoder.instruction->execute = &call;
    decoder.function->calls.emplace_back(decoder.function->instructions.size() - 1, name);
    for (std::size_t i = 0; i < results.size(); ++i) {
        decoder.another_instruction();
        decoder.add(decoder.kernel->constant(8, function->results[i].place.value));
        decoder.add(decoder.kernel->constant(8, place(results[i])));
        decoder.instruction->immediate = static_cast<s64>(function->results[i].size);
        decoder.instruction->execute = &copy_local;
    }
}

} // namespace

void define_control(InstructionSet& set) {
    set.define("bra", "9.7.12.3", [](Decoder& decoder) {
        decoder.take("uni");
        decoder.want_label(decoder.at(0).text, false);
        decoder.instruction->execute = &bra;
    });
    set.define("brx", "9.7.12.4", [](Decoder& decoder) {
        decoder.take("idx");
        decoder.take("uni");
        decoder.in(0, Type::u32);
        const std::size_t before = decoder.kernel->operands.size();
        decoder.want_label(decoder.at(1).text, true);
        decoder.instruction->immediate = static_cast<s64>(decoder.kernel->operands.size() - before);
        if (!decoder.instruction->immediate) decoder.unsupported("no table");
        decoder.instruction->execute = &brx;
    });
    set.define("call", "9.7.12.5", decode_call);
    set.define("ret", "9.7.12.6", [](Decoder& decoder) {
        decoder.take("uni");
        const bool in_function = decoder.function->return_place.exists();
        if (in_function) decoder.add(decoder.function->return_place);
        decoder.instruction->execute = in_function ? &return_from : &exit;
    });
    set.define("exit", "9.7.12.7", [](Decoder& decoder) { decoder.instruction->execute = &exit; });
    set.define("trap", "9.7.19.4", [](Decoder& decoder) {
        decoder.instruction->execute = [](Warp& warp, const Instruction& instruction, Mask mask) {
            warp.fault(Fault::Kind::trap, "reaches a trap", instruction, static_cast<unsigned>(std::countr_zero(mask)));
        };
    });
    set.define("brkpt", "9.7.19.1",
               [](Decoder& decoder) { decoder.instruction->execute = [](Warp&, const Instruction&, Mask) {}; });
    set.define("pmevent", "9.7.19.3", [](Decoder& decoder) {
        decoder.ignore("");
        decoder.instruction->execute = [](Warp&, const Instruction&, Mask) {};
    });
    set.define("nanosleep", "9.7.19.2", [](Decoder& decoder) { // others go first
        decoder.in(0, decoder.take_type());
        decoder.instruction->execute = [](Warp& warp, const Instruction&, Mask) { warp.pause(); };
    });
}

} // namespace cuda_emulator
