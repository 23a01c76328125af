#include "ptx/lexer.hpp"

namespace cuda_emulator {
namespace {

bool starts_word(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$' || c == '%' || c == '.';
}
bool is_digit(char c) { return c >= '0' && c <= '9'; }

} // namespace

void Lexer::skip_space() {
    while (at_ < text_.size()) {
        const char c = text_[at_];
        if (c == '\n') ++line_;
        if (c == ' ' || c == '\t' || c == '\r' || c == '\n') ++at_;
        else if (text_.substr(at_, 2) == "//") {
            at_ = text_.find('\n', at_);
            if (at_ == std::string_view::npos) at_ = text_.size();
        } else if (text_.substr(at_, 2) == "/*") {
            const std::size_t end = text_.find("*/", at_ + 2);
            for (const char d : text_.substr(at_, end - at_)) line_ += d == '\n';
            at_ = end == std::string_view::npos ? text_.size() : end + 2;
        } else return;
    }
}

void Lexer::advance() {
    skip_space();
    start_ = at_;
    token_ = {Token::Kind::end, {}, line_};
    if (at_ >= text_.size()) return;
    const char c = text_[at_];
    if (c == '"') {
        const std::size_t end = text_.find('"', at_ + 1);
        token_.kind = Token::Kind::string;
        token_.text = text_.substr(at_ + 1, end - at_ - 1);
        at_ = end == std::string_view::npos ? text_.size() : end + 1;
        return;
    }
    std::size_t end = at_ + 1;
    if (is_digit(c)) {
        token_.kind = Token::Kind::number;
        while (end < text_.size() && (is_digit(text_[end]) || starts_word(text_[end]))) ++end;
    } else if (starts_word(c)) {
        token_.kind = Token::Kind::word;
        while (end < text_.size() && (is_digit(text_[end]) || starts_word(text_[end]) || text_.substr(end, 2) == "::"))
            end += text_[end] == ':' ? 2 : 1;
    } else token_.kind = Token::Kind::sign;
    token_.text = text_.substr(at_, end - at_);
    at_ = end;
}

void Lexer::skip_braces() {
    // By hand: a module has megabytes of bodies, of which a launch needs one.
    std::size_t at = start_;
    for (int depth = 0; at < text_.size(); ++at) {
        const char c = text_[at];
        if (c == '{') ++depth;
        else if (c == '\n') ++line_;
        else if (c == '"') at = text_.find('"', at + 1);
        else if (c == '/' && text_.substr(at, 2) == "//") at = text_.find('\n', at) - 1;
        else if (c == '}' && --depth == 0) break;
        if (at >= text_.size()) break;
    }
    at_ = at < text_.size() ? at + 1 : text_.size();
    advance();
}

} // namespace cuda_emulator
