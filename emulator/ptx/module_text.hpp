#pragma once
#include "ptx/decoder.hpp"
#include "ptx/lexer.hpp"
#include <mutex>

namespace cuda_emulator {

/// Where a kernel or device function stands in the text: behind the word .entry or .func.
struct FunctionText {
    std::size_t begin = 0;
    unsigned line = 0;
    bool kernel = false;
};

/// A .shared variable outside all functions: it gets its place in the kernels that use it.
struct SharedVariable {
    std::size_t size = 0, align = 1;
    bool dynamic = false; ///< extern __shared__ x[]
};

struct Module::Text {
    std::string text;
    Memory* memory = nullptr;
    int target = 0;
    std::unordered_map<std::string_view, FunctionText> functions;
    std::unordered_map<std::string_view, SharedVariable> shared;
    std::unordered_map<std::string_view, std::size_t> variable_at; ///< in variables
    std::vector<std::string> kernel_names;
    std::vector<Variable> variables;
    std::map<unsigned, std::string> files;
    std::size_t constant_bytes = 0;
    mutable std::mutex mutex;
    mutable std::map<std::string, std::unique_ptr<Kernel>> kernels;

    void read();
    ~Text();

private:
    void read_variable(Lexer& lexer, bool external);
    void read_function(Lexer& lexer, bool kernel);
    void initialise(const Variable& variable, Type type, Lexer& lexer);
};

/// A variable's or parameter's declaration behind .global, .shared, .local, .const or .param.
struct Declaration {
    Type type = Type::b8;
    std::size_t align = 1, size = 0;
    bool managed = false, open = false; ///< open: x[]
    std::string_view name;
};
Declaration read_declaration(Lexer& lexer);
/// , another, another: the next name of a list in the declaration's type. False at its end.
bool read_another(Lexer& lexer, Declaration& declaration);

/// Decodes one function; its code's targets count from its own beginning.
FunctionCode read_function(KernelBuilder& builder, const std::string& name);

[[noreturn]] void syntax_error(const Lexer& lexer, const std::string& expected);
std::uint64_t read_number(Lexer& lexer);
void expect(Lexer& lexer, std::string_view sign);

inline std::size_t align_up(std::size_t value, std::size_t align) { return (value + align - 1) / align * align; }

} // namespace cuda_emulator
