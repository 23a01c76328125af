// Runs the kernel of a puzzle: start FILE.cl CASES. A case is a JSON object:
//
//     {"items": [8], "group": [8], "arguments": [[3, 1, 4], [null, null], 10]}
//
// An array is a buffer of int, in which null stands for an element that nobody has written; a number is an int. For
// each case it prints one line: the buffers after the launch, or outside of which buffer the kernel wrote. judge.py
// judges these.
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "gpulab/error.hpp"
#include "gpulab/opencl/buffer.hpp"
#include "gpulab/opencl/context.hpp"
#include "gpulab/poison.hpp"

using nlohmann::json;

namespace {

constexpr cl_int unwritten = gpulab::poison_value<cl_int>();

std::vector<cl_int> values_of(const json& array) {
    std::vector<cl_int> values;
    for (const json& one : array) values.push_back(one.is_null() ? unwritten : one.get<cl_int>());
    return values;
}

json array_of(const std::vector<cl_int>& values) {
    json array = json::array();
    for (const cl_int one : values) array.push_back(one == unwritten ? json() : json(one));
    return array;
}

cl::NDRange range(const json& sizes) {
    return sizes.size() == 1 ? cl::NDRange(sizes[0].get<std::size_t>())
                             : cl::NDRange(sizes[0].get<std::size_t>(), sizes[1].get<std::size_t>());
}

json run(const std::string& source, const json& one) {
    cl::Kernel kernel = gpulab::opencl_kernel(source, "puzzle");
    std::vector<gpulab::ClBuffer<cl_int>> buffers;
    cl_uint index = 0;
    for (const json& argument : one["arguments"])
        if (argument.is_array()) kernel.setArg(index++, buffers.emplace_back(values_of(argument)).data());
        else kernel.setArg(index++, argument.get<cl_int>());
    const cl::CommandQueue& queue = gpulab::opencl().queue();
    queue.enqueueNDRangeKernel(kernel, cl::NullRange, range(one["items"]), range(one["group"]));
    queue.finish();
    json after = json::array();
    try {
        for (const auto& buffer : buffers) {
            std::vector<cl_int> values(buffer.size());
            buffer.copy_to(values);
            after.push_back(array_of(values));
        }
    } catch (const gpulab::WrongResult&) { // it wrote outside of the next buffer
        return {{"stray", after.size()}};
    }
    return {{"buffers", after}};
}

} // namespace

int main(int argc, char** argv) try {
    if (argc != 3) throw gpulab::UsageError("usage: start FILE.cl CASES");
    std::ifstream file(argv[1]);
    if (!file) throw gpulab::Error(std::string("cannot read ") + argv[1]);
    // Compilers name the file and line that a #line tells them.
    const std::string name = std::filesystem::path(argv[1]).filename().string();
    const std::string source = "#line 1 \"" + name + "\"\n" + std::string{std::istreambuf_iterator<char>(file), {}};
    for (const json& one : json::parse(argv[2])) std::cout << run(source, one) << std::endl;
} catch (const gpulab::BuildError& error) { // the compiler's log, of several lines
    std::cerr << error.what() << '\n';
    return gpulab::exit_wrong_result;
} catch (...) {
    return gpulab::fail("start");
}
