#pragma once
#include <cstddef>
#include <string_view>

namespace cuda_emulator {

/// A word of PTX: an identifier with its dots (ld.global.f32, %tid.x, $L__BB0_2), a number, a "string" or one sign.
struct Token {
    enum class Kind { end, word, number, string, sign };
    Kind kind = Kind::end;
    std::string_view text;
    unsigned line = 0; ///< in the PTX
    bool is(std::string_view what) const { return text == what && kind != Kind::string; }
};

/// Splits PTX into words (PTX ISA 4.3, 4.4). Comments and spaces go.
class Lexer {
public:
    explicit Lexer(std::string_view text, unsigned line = 1) : text_(text), line_(line) { advance(); }

    const Token& peek() const { return token_; }
    Token next() {
        const Token token = token_;
        advance();
        return token;
    }
    /// Takes the next word if it is this one.
    bool take(std::string_view what) {
        if (!token_.is(what)) return false;
        advance();
        return true;
    }
    std::size_t position() const { return start_; } ///< of the next word in the text
    std::string_view text() const { return text_; }
    /// Goes to behind the } that belongs to the { at which the lexer stands.
    void skip_braces();

private:
    void advance();
    void skip_space();

    std::string_view text_;
    std::size_t at_ = 0, start_ = 0;
    unsigned line_;
    Token token_;
};

} // namespace cuda_emulator
