// Runs the OpenCL kernel of a puzzle: start FILE.cl CASES ANSWERS. cases.hpp says what it reads and
// writes.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "cases.hpp"
#include "gpulab/error.hpp"
#include "gpulab/opencl/buffer.hpp"
#include "gpulab/opencl/context.hpp"

using start::json;

namespace {

cl::NDRange range(const json& sizes) {
    return sizes.size() == 1 ? cl::NDRange(sizes[0].get<std::size_t>())
                             : cl::NDRange(sizes[0].get<std::size_t>(), sizes[1].get<std::size_t>());
}

json run(const std::string& source, const json& one) {
    cl::Kernel kernel = gpulab::opencl_kernel(source, "puzzle");
    std::vector<gpulab::ClBuffer<cl_int>> buffers;
    cl_uint index = 0;
    for (const json& argument : one["arguments"])
        if (argument.is_array()) kernel.setArg(index++, buffers.emplace_back(start::values_of(argument)).data());
        else kernel.setArg(index++, argument.get<cl_int>());
    const cl::CommandQueue& queue = gpulab::opencl().queue();
    start::launch_begins();
    queue.enqueueNDRangeKernel(kernel, cl::NullRange, range(one["items"]), range(one["group"]));
    queue.finish();
    json result = start::after(buffers);
    result["local"] = kernel.getWorkGroupInfo<CL_KERNEL_LOCAL_MEM_SIZE>(gpulab::opencl().device());
    return result;
}

} // namespace

int main(int argc, char** argv) try {
    if (argc != 4) throw gpulab::UsageError("usage: start FILE.cl CASES ANSWERS");
    std::ifstream file(argv[1]);
    if (!file) throw gpulab::Error(std::string("cannot read ") + argv[1]);
    // Compilers name the file and line that a #line tells them.
    const std::string name = std::filesystem::path(argv[1]).filename().string();
    const std::string source = "#line 1 \"" + name + "\"\n" + std::string{std::istreambuf_iterator<char>(file), {}};
    std::ofstream answers(argv[3]);
    for (const json& one : json::parse(argv[2])) answers << run(source, one) << std::endl;
} catch (const gpulab::BuildError& error) { // the compiler's log, of several lines
    std::cerr << error.what() << '\n';
    return gpulab::exit_wrong_result;
} catch (...) {
    return gpulab::fail("start");
}
