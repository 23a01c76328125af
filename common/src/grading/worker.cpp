#include "gpulab/grading/worker.hpp"

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <unistd.h>

#include "gpulab/opencl/group.hpp"

namespace gpulab::grading {

namespace {

bool read_all(int file, char* to, std::size_t bytes) {
    while (bytes > 0) {
        const ssize_t got = ::read(file, to, bytes);
        if (got <= 0) return false;
        to += got;
        bytes -= static_cast<std::size_t>(got);
    }
    return true;
}

bool write_all(int file, const char* from, std::size_t bytes) {
    while (bytes > 0) {
        const ssize_t put = ::write(file, from, bytes);
        if (put <= 0) return false;
        from += put;
        bytes -= static_cast<std::size_t>(put);
    }
    return true;
}

std::string refusal(Answer kind, const std::string& message) {
    Writer out;
    out(kind, message);
    return out.bytes();
}

} // namespace

std::string Worker::answer(std::string_view message) const {
    try {
        Reader in(message);
        std::string type;
        std::int32_t repeats = 1;
        std::uint32_t group = 0;
        std::uint64_t changes = 0;
        in(type, repeats, group, changes);
        group_override = group;
        if (devices(backend_).empty()) return refusal(Answer::no_device, why_no_devices(backend_));
        use(devices(backend_).front());
        const auto run = runs_.find(type);
        if (run == runs_.end()) return refusal(Answer::unsupported, "the rung has no type '" + type + "'");
        Stopwatch watch(0, repeats);
        Writer out;
        run->second(in, watch, changes, out);
        return out.bytes();
    } catch (const WrongResult& e) {
        return refusal(Answer::wrong, e.what());
    } catch (const Unsupported& e) {
        return refusal(Answer::unsupported, e.what());
    } catch (const BuildError& e) {
        return refusal(Answer::build_error, e.what());
    } catch (const std::exception& e) {
        return refusal(Answer::error, message_of(e));
    }
}

int Worker::serve() const {
    // The rung may print: its stdout becomes stderr, and answers go where stdout was.
    const int answers = ::dup(STDOUT_FILENO);
    if (answers < 0 || ::dup2(STDERR_FILENO, STDOUT_FILENO) < 0) return exit_failure;
    std::string message;
    for (std::uint64_t length = 0; read_all(STDIN_FILENO, reinterpret_cast<char*>(&length), sizeof length);) {
        message.resize(length);
        if (!read_all(STDIN_FILENO, message.data(), length)) return exit_failure;
        const std::string reply = answer(message);
        const std::uint64_t size = reply.size();
        if (!write_all(answers, reinterpret_cast<const char*>(&size), sizeof size) ||
            !write_all(answers, reply.data(), reply.size()))
            return exit_failure;
    }
    return exit_success;
}

std::string kernel_file(const std::string& name) {
    const char* const folder = std::getenv("GPULAB_KERNELS");
    const std::string path = std::string(folder ? folder : ".") + "/" + name;
    std::ifstream file(path, std::ios::binary);
    std::string text{std::istreambuf_iterator<char>(file), {}};
    // This runs before main(), so a missing file is reported like a kernel that fails to compile.
    if (!file) return "#error there is no kernel file " + name + "\n";
    if (!text.ends_with('\n')) text += '\n'; // another text may follow
    // Compilers and oclgrind then name this file and its lines, as with a text that cmake/EmbedText.cmake has embedded.
    const std::size_t end = text.find('\n');
    const bool comment = text.starts_with("//") && text[end - 1] != '\\';
    return "#line " + std::string(comment ? "2" : "1") + " \"" + name + "\"" +
           (comment ? text.substr(end) : "\n" + text);
}

} // namespace gpulab::grading
