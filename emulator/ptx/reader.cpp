#include "ptx/module_text.hpp"

namespace cuda_emulator {
namespace {

/// Reads a function from its header to its last brace, statement by statement; each becomes one instruction.
class FunctionReader {
public:
    FunctionReader(KernelBuilder& builder, const std::string& name)
        : builder_(builder), text_(builder.module.functions.at(name)),
          lexer_(std::string_view(builder.module.text).substr(text_.begin), text_.line) {
        code_.name = name;
    }

    FunctionCode read() {
        scopes_.emplace_back();
        if (!text_.kernel) code_.return_place = {builder_.new_register(Type::b32)};
        if (lexer_.take("(")) read_parameters(code_.results);
        lexer_.next(); // the name
        if (lexer_.take("(")) read_parameters(code_.parameters);
        read_directives();
        expect(lexer_, "{");
        while (!scopes_.empty()) read_statement();
        Decoder end("ret"); // where control falls off the end
        add(end, "ret", lexer_.peek().line, "}");
        if (!labels_wanted_.empty())
            throw PtxError(place() + ": no label " + std::string(labels_wanted_.front().label));
        return std::move(code_);
    }

private:
    struct Scope {
        std::unordered_map<std::string_view, Symbol> names;
        struct Numbered {
            Type type;
            std::vector<std::uint32_t> places;
        }; // %r<50>
        std::unordered_map<std::string_view, Numbered> numbered;
        std::unordered_map<std::string_view, std::uint32_t> labels;
        std::unordered_map<std::string_view, std::vector<std::string_view>> tables; // .branchtargets
        std::size_t first_wanted = 0;                                               // in labels_wanted_
    };
    struct WantedLabel {
        std::string_view label;
        std::size_t instruction, entry; // entry: which operand of it, if it is a jump table's
    };

    std::string place() const {
        return std::string(text_.kernel ? "kernel " : "device function ") + code_.name + ", PTX line " +
               std::to_string(lexer_.peek().line);
    }

    void read_parameters(std::vector<FunctionCode::Part>& parts) {
        while (!lexer_.take(")")) {
            if (!lexer_.take(".param")) throw PtxError(place() + ": parameters in registers are not emulated");
            const Declaration parameter = read_declaration(lexer_);
            Symbol symbol{Symbol::Kind::local, parameter.type, 0, parameter.size};
            if (text_.kernel) {
                Kernel& kernel = builder_.kernel;
                symbol.kind = Symbol::Kind::parameter;
                symbol.value = align_up(kernel.argument_bytes, parameter.align);
                kernel.parameters.push_back(
                    {std::string(parameter.name), symbol.value, parameter.size, parameter.align});
                kernel.argument_bytes = symbol.value + parameter.size;
            } else symbol.value = builder_.new_local(parameter.size, parameter.align);
            parts.push_back({symbol, parameter.size});
            scopes_.back().names[parameter.name] = symbol;
            lexer_.take(",");
        }
    }

    // PTX ISA 11.4: performance-tuning directives.
    void read_directives() {
        Kernel& kernel = builder_.kernel;
        const auto three = [&](unsigned(&values)[3]) {
            values[0] = static_cast<unsigned>(read_number(lexer_));
            values[1] = values[2] = 1;
            for (int i = 1; i < 3 && lexer_.take(","); ++i) values[i] = static_cast<unsigned>(read_number(lexer_));
        };
        while (lexer_.peek().kind == Token::Kind::word) {
            const std::string_view word = lexer_.next().text;
            if (word == ".maxntid") three(kernel.maxntid);
            else if (word == ".reqntid") three(kernel.reqntid);
            else if (word == ".reqnctapercluster") three(kernel.reqnctapercluster);
            else if (word == ".minnctapersm") kernel.minnctapersm = static_cast<unsigned>(read_number(lexer_));
            else if (word == ".maxnreg") kernel.maxnreg = static_cast<unsigned>(read_number(lexer_));
            else if (word == ".maxclusterrank") read_number(lexer_);
            else if (word == ".pragma") lexer_.next(), expect(lexer_, ";");
            else if (word != ".explicitcluster" && word != ".noreturn")
                throw PtxError(place() + ": unknown directive " + std::string(word));
        }
    }

    void open_scope() {
        scopes_.emplace_back();
        scopes_.back().first_wanted = labels_wanted_.size();
    }

    // Labels of the scope that are wanted in it; what is left may belong to a scope around it.
    void close_scope() {
        const Scope& scope = scopes_.back();
        std::erase_if(labels_wanted_, [&](const WantedLabel& wanted) {
            const auto found = scope.labels.find(wanted.label);
            if (found == scope.labels.end() || &wanted < labels_wanted_.data() + scope.first_wanted) return false;
            if (wanted.entry == no_entry) code_.instructions[wanted.instruction].target = found->second;
            else builder_.operands[wanted.entry].code = found->second;
            return true;
        });
        scopes_.pop_back();
    }

    void read_statement() {
        const Token token = lexer_.peek();
        if (token.kind == Token::Kind::end) throw PtxError(place() + ": the text ends in the middle");
        if (lexer_.take("{")) return open_scope();
        if (lexer_.take("}")) return close_scope();
        if (lexer_.take(";")) return;
        if (token.text.starts_with('.')) return read_directive();
        std::string_view guard;
        bool inverted = false;
        if (lexer_.take("@")) {
            inverted = lexer_.take("!");
            guard = lexer_.next().text;
        }
        const std::size_t begin = lexer_.position();
        const Token opcode = lexer_.next();
        if (guard.empty() && lexer_.take(":")) {
            label_ = opcode.text;
            scopes_.back().labels[opcode.text] = static_cast<std::uint32_t>(code_.instructions.size());
            return;
        }
        std::vector<Argument> arguments;
        while (!lexer_.peek().is(";") && !lexer_.peek().is("}") && lexer_.peek().kind != Token::Kind::end) {
            arguments.push_back(read_argument());
            if (!lexer_.take(",") && !lexer_.peek().is(";")) syntax_error(lexer_, "; in " + place());
        }
        const std::string_view text = lexer_.text().substr(begin, lexer_.position() - begin);
        expect(lexer_, ";");
        Decoder decoder(opcode.text);
        decoder.arguments = std::move(arguments);
        add(decoder, opcode.text, opcode.line, text, guard, inverted);
    }

    Argument read_argument() {
        Argument argument;
        if (lexer_.take("{") || lexer_.peek().is("(")) {
            argument.kind = lexer_.take("(") ? Argument::Kind::list : Argument::Kind::vector;
            while (!lexer_.take("}") && !lexer_.take(")")) {
                argument.parts.push_back(read_argument());
                lexer_.take(",");
            }
        } else if (lexer_.take("[")) {
            argument.kind = Argument::Kind::address;
            argument.parts.push_back(read_argument());
            argument.offset = argument.parts[0].offset;
            while (lexer_.take(",")) argument.parts.push_back(read_argument());
            expect(lexer_, "]");
        } else {
            argument.inverted = lexer_.take("!");
            argument.negative = lexer_.take("-");
            const Token token = lexer_.next();
            argument.text = token.text;
            if (token.kind == Token::Kind::number) argument.kind = Argument::Kind::number;
            else if (token.kind != Token::Kind::word) syntax_error(lexer_, "an operand before, in " + place());
            if (lexer_.take("|")) argument.second = lexer_.next().text;
            if (lexer_.take("+")) argument.offset = static_cast<std::int64_t>(read_number(lexer_));
            else if (argument.kind == Argument::Kind::name && lexer_.peek().is("-"))
                argument.offset = static_cast<std::int64_t>(read_number(lexer_));
        }
        return argument;
    }

    void read_directive() {
        const std::string_view word = lexer_.next().text;
        if (word == ".loc") return read_location();
        if (word == ".reg") return read_registers();
        if (word == ".branchtargets") {
            auto& table = scopes_.back().tables[label_];
            do table.push_back(lexer_.next().text);
            while (lexer_.take(","));
        } else if (word == ".shared" || word == ".local" || word == ".param") {
            Declaration variable = read_declaration(lexer_);
            do {
                const bool shared = word == ".shared";
                const std::uint32_t at = shared ? builder_.new_shared(variable.size, variable.align)
                                                : builder_.new_local(variable.size, variable.align);
                scopes_.back().names[variable.name] = {shared ? Symbol::Kind::shared : Symbol::Kind::local,
                                                       variable.type, at, variable.size};
            } while (read_another(lexer_, variable));
        } else // .pragma, .callprototype
            while (!lexer_.peek().is(";")) lexer_.next();
        expect(lexer_, ";");
    }

    // .reg .b32 %r<50>;  .reg .pred p, q;
    void read_registers() {
        Type type = Type::b32;
        while (lexer_.peek().text.starts_with('.')) {
            const auto named = type_named(lexer_.next().text.substr(1));
            if (!named) syntax_error(lexer_, "registers without vectors");
            type = *named;
        }
        do {
            const std::string_view name = lexer_.next().text;
            if (lexer_.take("<")) {
                auto& numbered = scopes_.back().numbered[name];
                numbered.type = type;
                numbered.places.assign(read_number(lexer_), Operand::none); // each gets its place when it is first used
                builder_.kernel.virtual_registers += numbered.places.size();
                expect(lexer_, ">");
            } else scopes_.back().names[name] = {Symbol::Kind::reg, type, builder_.new_register(type), size_of(type)};
        } while (lexer_.take(","));
        expect(lexer_, ";");
    }

    // .loc 1 449 9, function_name $L__info_string2, inlined_at 1 24 5 (PTX ISA 11.6.3)
    void read_location() {
        using Key = std::tuple<unsigned, unsigned, unsigned>;
        const auto three = [&] {
            const auto file = static_cast<unsigned>(read_number(lexer_)),
                       line = static_cast<unsigned>(read_number(lexer_));
            return Key{file, line, static_cast<unsigned>(read_number(lexer_))};
        };
        const Key key = three();
        const bool of_no_line = std::get<1>(key) == 0; // the compiler's own instruction: it belongs to the line before
        const auto file = builder_.module.files.find(std::get<0>(key));
        Location location{file == builder_.module.files.end() ? nullptr : &file->second, std::get<1>(key),
                          std::get<2>(key), nullptr};
        while (lexer_.take(",")) {
            if (lexer_.next().text != "inlined_at") lexer_.next();
            else if (const auto caller = locations_.find(three()); caller != locations_.end())
                location.inlined_at = caller->second;
        }
        if (of_no_line) return;
        builder_.kernel.locations.push_back(location);
        location_ = &builder_.kernel.locations.back();
        locations_[key] = location_;
    }

    Symbol lookup(std::string_view name) {
        const std::size_t digits = name.find_last_not_of("0123456789") + 1;
        for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
            if (const auto found = scope->names.find(name); found != scope->names.end()) return found->second;
            if (digits == name.size()) continue;
            if (const auto found = scope->numbered.find(name.substr(0, digits)); found != scope->numbered.end()) {
                std::size_t number = 0;
                for (const char c : name.substr(digits)) number = number * 10 + static_cast<std::size_t>(c - '0');
                if (number >= found->second.places.size()) break;
                std::uint32_t& place = found->second.places[number];
                if (place == Operand::none) place = builder_.new_register(found->second.type);
                return {Symbol::Kind::reg, found->second.type, place, size_of(found->second.type)};
            }
        }
        return builder_.module_symbol(name);
    }

    void add(Decoder& decoder, std::string_view opcode, unsigned line, std::string_view text,
             std::string_view guard = {}, bool inverted = false) {
        std::string tidy; // one line, single spaces
        for (const char c : text)
            if (c != ' ' && c != '\t' && c != '\n') tidy += c;
            else if (!tidy.empty() && tidy.back() != ' ') tidy += ' ';
        while (!tidy.empty() && tidy.back() == ' ') tidy.pop_back();
        builder_.kernel.details.push_back(
            {std::move(tidy), std::string(opcode), code_.name, line, location_ ? *location_ : Location{}});
        code_.instructions.emplace_back();
        code_.first_operand.push_back(builder_.operands.size());
        Instruction& instruction = code_.instructions.back();
        instruction.detail = &builder_.kernel.details.back();
        decoder.instruction = &instruction;
        decoder.kernel = &builder_;
        decoder.function = &code_;
        decoder.lookup = [this](std::string_view name) { return lookup(name); };
        decoder.want_label = [this](std::string_view name, bool table) { want_label(name, table); };
        if (!guard.empty()) {
            const Symbol symbol = lookup(guard);
            if (symbol.kind != Symbol::Kind::reg || symbol.type != Type::pred)
                decoder.unsupported("no predicate " + std::string(guard));
            instruction.guard = {static_cast<std::uint32_t>(symbol.value)};
            instruction.guard_negated = inverted;
        }
        const Definition definition = definition_of(decoder.mnemonic);
        if (!definition) decoder.unsupported();
        definition(decoder);
        decoder.expect_all_taken();
    }

    // A branch's target, or a jump table: an operand for each of its entries.
    void want_label(std::string_view name, bool table) {
        const std::size_t at = code_.instructions.size() - 1;
        if (!table) {
            code_.instructions.back().flags |= Instruction::may_jump;
            return labels_wanted_.push_back({name, at, no_entry});
        }
        for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope)
            if (const auto found = scope->tables.find(name); found != scope->tables.end())
                for (const std::string_view label : found->second) {
                    labels_wanted_.push_back({label, at, builder_.operands.size()});
                    code_.table_entries.push_back(builder_.operands.size());
                    builder_.operands.emplace_back();
                }
    }

    static constexpr std::size_t no_entry = ~std::size_t{0};
    KernelBuilder& builder_;
    const FunctionText text_;
    Lexer lexer_;
    FunctionCode code_;
    std::vector<Scope> scopes_;
    std::vector<WantedLabel> labels_wanted_;
    std::string_view label_;
    const Location* location_ = nullptr;
    std::map<std::tuple<unsigned, unsigned, unsigned>, const Location*> locations_;
};

} // namespace

FunctionCode read_function(KernelBuilder& builder, const std::string& name) {
    return FunctionReader(builder, name).read();
}

} // namespace cuda_emulator
