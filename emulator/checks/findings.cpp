#include "checks/findings.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cxxabi.h>
#include <fstream>
#include <memory>

namespace cuda_emulator {

namespace {

bool of_toolkit(const std::string& file) {
    if (file.starts_with("/usr/")) return true;
    for (const char* part : {"/targets/", "/cccl/", "/cooperative_groups", "/nvidia/", "/crt/"})
        if (file.find(part) != std::string::npos) return true;
    const std::string name = file.substr(file.rfind('/') + 1);
    for (const char* end : {"_intrinsics.hpp", "_functions.hpp", "_functions.h", "_rt.h", "_runtime.h"})
        if (name.ends_with(end)) return true;
    return false;
}

std::string line_of(const std::string& file, unsigned number) {
    std::ifstream in(file);
    std::string line;
    for (unsigned n = 0; n < number; ++n)
        if (!std::getline(in, line)) return "";
    const auto begin = line.find_first_not_of(" \t");
    return begin == std::string::npos ? "" : line.substr(begin);
}

std::string place(const Dim3& p) {
    return "(" + std::to_string(p.x) + "," + std::to_string(p.y) + "," + std::to_string(p.z) + ")";
}

/// Who and where, in Oclgrind's lines.
std::string in_words(const char* title, const Party& party) {
    std::string text =
        std::string("\t") + title + " Thread" + place(party.thread) + " Block" + place(party.block) + "\n";
    text += "\t  " + party.instruction->detail->text + "\n";
    const Location& at = own_location(*party.instruction);
    if (!at.file) return text + "\tDebugging information not available (nvcc -lineinfo).\n";
    text +=
        "\tAt line " + std::to_string(at.line) + " (column " + std::to_string(at.column) + ") of " + *at.file + ":\n";
    return text + "\t  " + line_of(*at.file, at.line) + "\n";
}

std::string key(const Party& party) {
    if (!party.instruction) return "";
    const Location& at = own_location(*party.instruction);
    return at.file ? *at.file + ":" + std::to_string(at.line)
                   : party.instruction->detail->function + "+" + std::to_string(party.instruction->index);
}

} // namespace

const Location& own_location(const Instruction& instruction) {
    const Location* const first = &instruction.detail->location;
    for (const Location* at = first; at && at->file; at = at->inlined_at)
        if (!of_toolkit(*at->file)) return *at;
    return *first;
}

std::string short_name(const std::string& mangled) {
    int status = 0;
    const std::unique_ptr<char, void (*)(void*)> told(abi::__cxa_demangle(mangled.c_str(), nullptr, nullptr, &status),
                                                      std::free);
    std::string name = told ? told.get() : mangled;
    const std::string anonymous = "(anonymous namespace)::";
    for (auto at = name.find(anonymous); at != std::string::npos; at = name.find(anonymous))
        name.erase(at, anonymous.size());
    // Parameters and namespaces are what stands outside of <>.
    int depth = 0;
    std::string kept;
    for (const char c : name) {
        if (c == '(' && depth == 0) break;
        depth += (c == '<') - (c == '>');
        kept += c;
        if (kept.ends_with("::")) { // drop the namespace in front, inside of <> too
            auto begin = kept.size() - 2;
            while (begin > 0 && (std::isalnum(static_cast<unsigned char>(kept[begin - 1])) || kept[begin - 1] == '_'))
                --begin;
            kept.erase(begin);
        }
    }
    const auto space = kept.substr(0, kept.find('<')).rfind(' '); // of the return type
    return space == std::string::npos ? kept : kept.substr(space + 1);
}

std::string in_words(const Finding& f) {
    std::string text = "\n" + f.what + "\n\tKernel: " + short_name(f.kernel) + "\n";
    if (!f.note.empty()) text += "\t" + f.note + "\n";
    if (!f.second.instruction) return text + in_words("Entity:", f.first);
    return text + "\t\n" + in_words("First entity: ", f.first) + "\t\n" + in_words("Second entity:", f.second);
}

void Findings::add(const Finding& f) {
    std::string a = key(f.first), b = key(f.second);
    if (b < a) std::swap(a, b);
    const std::lock_guard guard(lock_);
    if (!told_.insert(f.kind + "|" + a + "|" + b).second) return;
    if (sink_) sink_(in_words(f));
    else std::fputs(in_words(f).c_str(), stderr);
}

std::size_t Findings::count() const {
    const std::lock_guard guard(lock_);
    return told_.size();
}

} // namespace cuda_emulator
