#include "ptx/module.hpp"
#include "machine/memory.hpp"
#include "ptx/module_text.hpp"
#include <charconv>

namespace cuda_emulator {

Module::Text::~Text() {
    for (const Variable& variable : variables) memory->free(variable.address);
}

void Module::Text::read() {
    Lexer lexer(text);
    bool external = false;
    while (lexer.peek().kind != Token::Kind::end) {
        const Token token = lexer.next();
        const std::string_view word = token.text;
        if (word == ".visible" || word == ".weak" || word == ".common") continue;
        if (word == ".extern") {
            external = true;
            continue;
        }
        if (word == ".version" || word == ".address_size") lexer.next();
        else if (word == ".target") {
            const std::string_view name = lexer.next().text; // sm_90a
            if (name.starts_with("sm_")) std::from_chars(name.data() + 3, name.data() + name.size(), target);
            while (lexer.take(",")) lexer.next();
        } else if (word == ".file") {
            const unsigned number = static_cast<unsigned>(read_number(lexer));
            files[number] = lexer.next().text;
            while (lexer.take(",")) lexer.next();
        } else if (word == ".section") {
            lexer.next();
            lexer.skip_braces();
        } else if (word == ".entry" || word == ".func") read_function(lexer, word == ".entry");
        else if (word == ".global" || word == ".const" || word == ".shared") {
            const bool shared = word == ".shared", constant = word == ".const";
            Declaration variable = read_declaration(lexer);
            do {
                if (shared) this->shared[variable.name] = {variable.size, variable.align, variable.open};
                else if (!external) {
                    void* address =
                        memory->allocate(variable.size, constant ? MemoryKind::constant : MemoryKind::variable,
                                         std::string(variable.name));
                    std::memset(address, 0, variable.size);
                    memory->mark_written(reinterpret_cast<std::uintptr_t>(address), variable.size);
                    variable_at[variable.name] = variables.size();
                    variables.push_back({std::string(variable.name), address, variable.size, constant});
                    if (constant) constant_bytes += variable.size;
                    if (lexer.take("=")) initialise(variables.back(), variable.type, lexer);
                }
            } while (read_another(lexer, variable));
            expect(lexer, ";");
        } else // .alias, .pragma, .texref and what else concerns no kernel of ours
            while (lexer.peek().kind != Token::Kind::end && !lexer.take(";")) lexer.next();
        external = false;
    }
}

void Module::Text::read_function(Lexer& lexer, bool kernel) {
    const FunctionText place{lexer.position(), lexer.peek().line, kernel};
    const auto skip_list = [&] {
        while (lexer.peek().kind != Token::Kind::end && !lexer.take(")")) lexer.next();
    };
    if (lexer.take("(")) skip_list(); // the result
    const std::string_view name = lexer.next().text;
    if (lexer.take("(")) skip_list();
    while (!lexer.peek().is("{") && !lexer.peek().is(";") && lexer.peek().kind != Token::Kind::end) lexer.next();
    if (lexer.take(";")) return; // a declaration
    functions[name] = place;
    if (kernel) kernel_names.emplace_back(name);
    lexer.skip_braces();
}

void Module::Text::initialise(const Variable& variable, Type type, Lexer& lexer) {
    auto* at = static_cast<std::byte*>(variable.address);
    const unsigned bytes = size_of(type);
    const auto put = [&](std::uint64_t bits) {
        std::memcpy(at, &bits, bytes);
        at += bytes;
    };
    int depth = 0;
    do {
        if (lexer.take("{")) ++depth;
        else if (lexer.take("}")) --depth;
        else if (lexer.take(",")) continue;
        else if (lexer.peek().kind == Token::Kind::word) { // the address of a variable: x, generic(x), x+4
            const bool generic = lexer.take("generic") && lexer.take("(");
            const auto found = variable_at.find(lexer.peek().text);
            if (found == variable_at.end())
                syntax_error(lexer,
                             "a variable defined before (tables of functions, as of virtual ones, are not supported)");
            lexer.next();
            if (generic) expect(lexer, ")");
            const std::uint64_t offset = lexer.take("+") ? read_number(lexer) : 0;
            put(reinterpret_cast<std::uintptr_t>(variables[found->second].address) + offset);
        } else {
            const bool negative = lexer.take("-");
            put(constant_bits({Argument::Kind::number, lexer.next().text, negative, false, {}, {}, 0}, type));
        }
        if (at > static_cast<std::byte*>(variable.address) + variable.size)
            syntax_error(lexer, "fewer values for " + variable.name);
    } while (depth > 0);
}

Module::Module(std::string text, Memory& memory) : text_(std::make_unique<Text>()) {
    text_->text = std::move(text);
    text_->memory = &memory;
    text_->read();
}
Module::~Module() = default;

std::vector<std::string> Module::kernels() const { return text_->kernel_names; }
const std::vector<Variable>& Module::variables() const { return text_->variables; }
int Module::target() const { return text_->target; }

const Variable* Module::variable(const std::string& name) const {
    const auto found = text_->variable_at.find(name);
    return found == text_->variable_at.end() ? nullptr : &text_->variables[found->second];
}

const Kernel& Module::kernel(const std::string& name) const {
    const std::lock_guard lock(text_->mutex);
    auto& kernel = text_->kernels[name];
    if (!kernel) {
        const auto found = text_->functions.find(name);
        if (found == text_->functions.end() || !found->second.kernel) throw PtxError("the PTX has no kernel " + name);
        auto fresh = std::make_unique<Kernel>();
        fresh->name = name;
        fresh->constant_bytes = text_->constant_bytes;
        KernelBuilder(*fresh, *text_).link(name);
        kernel = std::move(fresh);
    }
    return *kernel;
}

} // namespace cuda_emulator
