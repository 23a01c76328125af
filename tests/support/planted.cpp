#include "planted.hpp"

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

namespace gpulab::testing::detail {

void note_check() {
    if (const char* const file = std::getenv("GPULAB_TEST_CHECKS")) std::ofstream(file, std::ios::app) << '.';
}

bool ends_with_first_fault() { return std::getenv("GPULAB_TEST_CHECKS") != nullptr; }

bool enough_checks() {
    static int done = 0;
    const char* const most = std::getenv("GPULAB_TEST_MOST_CHECKS");
    return most && done++ >= std::atoi(most);
}

} // namespace gpulab::testing::detail

#if defined(GPULAB_WITH_OPENCL)
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <dlfcn.h>

namespace {

/// The text of a program. Where it holds the kernels of the file that GPULAB_TEST_PLANT=FILE=COPY names, those of the
/// copy stand in their place, and COPY.planted is there afterwards.
std::string planted(std::string text) {
    const char* const requested = std::getenv("GPULAB_TEST_PLANT");
    if (!requested) return text;
    const std::string both = requested, file = both.substr(0, both.find('=')), copy = both.substr(file.size() + 1);
    // cmake/EmbedText.cmake writes a #line before the text of each file, mostly in place of its first line.
    const std::size_t name = text.find("\"" + file + "\"\n");
    if (name == std::string::npos) return text;
    const std::size_t begin = text.find('\n', name) + 1, next = text.find("\n#line ", begin);
    const std::size_t end = next == std::string::npos ? text.size() : next + 1;
    std::ifstream in(copy, std::ios::binary);
    std::string changed{std::istreambuf_iterator<char>(in), {}};
    if (text[name - 2] == '2') changed.erase(0, changed.find('\n') + 1);
    text.replace(begin, end - begin, changed);
    std::ofstream(copy + ".planted") << file;
    return text;
}

} // namespace

/// Takes the place of the driver's function in every test program, because a program's own symbols come first.
extern "C" CL_API_ENTRY cl_program CL_API_CALL clCreateProgramWithSource(cl_context context, cl_uint count,
                                                                         const char** strings, const size_t* lengths,
                                                                         cl_int* code) {
    using Function = decltype(&clCreateProgramWithSource);
    const auto drivers = reinterpret_cast<Function>(dlsym(RTLD_NEXT, "clCreateProgramWithSource"));
    std::string text;
    for (cl_uint i = 0; i < count; ++i)
        text += lengths && lengths[i] > 0 ? std::string(strings[i], lengths[i]) : std::string(strings[i]);
    text = planted(std::move(text));
    const char* whole = text.c_str();
    return drivers(context, 1, &whole, nullptr, code);
}
#endif
