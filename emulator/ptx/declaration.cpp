#include "ptx/module_text.hpp"
#include <charconv>

namespace cuda_emulator {

void syntax_error(const Lexer& lexer, const std::string& expected) {
    throw PtxError("PTX line " + std::to_string(lexer.peek().line) + ": expected " + expected + ", found \"" +
                   std::string(lexer.peek().text) + "\"");
}

void expect(Lexer& lexer, std::string_view sign) {
    if (!lexer.take(sign)) syntax_error(lexer, std::string(sign));
}

std::uint64_t read_number(Lexer& lexer) {
    const bool negative = lexer.take("-");
    if (lexer.peek().kind != Token::Kind::number) syntax_error(lexer, "a number");
    Argument number{Argument::Kind::number, lexer.next().text, negative, false, {}, {}, 0};
    return constant_bits(number, Type::b64);
}

namespace {

// x, x[4], x[2][3], x[]
void read_name(Lexer& lexer, Declaration& declaration) {
    if (lexer.peek().kind != Token::Kind::word) syntax_error(lexer, "a name");
    declaration.name = lexer.next().text;
    declaration.size = size_of(declaration.type);
    declaration.open = false;
    while (lexer.take("[")) {
        if (lexer.take("]")) declaration.open = true, declaration.size = 0;
        else {
            declaration.size *= read_number(lexer);
            expect(lexer, "]");
        }
    }
}

} // namespace

Declaration read_declaration(Lexer& lexer) {
    Declaration declaration;
    std::size_t align = 0, vector = 1;
    bool pointer = false;
    while (lexer.peek().text.starts_with('.')) {
        const std::string_view word = lexer.next().text.substr(1);
        if (word == "align") {
            const std::size_t bytes = read_number(lexer);
            if (!pointer) align = bytes; // behind .ptr it is what the pointer points to
        } else if (word == "attribute") {
            expect(lexer, "(");
            while (!lexer.take(")")) declaration.managed |= lexer.next().text == ".managed";
        } else if (word == "ptr") pointer = true;
        else if (word == "v2") vector = 2;
        else if (word == "v4") vector = 4;
        else if (const auto type = type_named(word)) declaration.type = *type;
        else if (word != "global" && word != "shared" && word != "const" && word != "local")
            syntax_error(lexer, "a type instead of ." + std::string(word));
    }
    read_name(lexer, declaration);
    declaration.size *= vector;
    declaration.align = align ? align : size_of(declaration.type) * vector;
    return declaration;
}

bool read_another(Lexer& lexer, Declaration& declaration) {
    if (!lexer.take(",")) return false;
    read_name(lexer, declaration);
    return true;
}

} // namespace cuda_emulator
