// Runs the CUDA kernel of a puzzle: start_cuda CASES ANSWERS. cases.hpp says what it reads and writes. The
// kernel is in kernel.cu, with which this program is linked anew for each text of it (cuda_judge.py).
#include <cuda_runtime_api.h>
#include <fstream>
#include <vector>

#include "cases.hpp"
#include "gpulab/cuda/buffer.hpp"
#include "gpulab/cuda/check.hpp"
#include "gpulab/device.hpp"
#include "gpulab/error.hpp"

using start::json;

const void* puzzle_kernel(); // in kernel.cu

namespace {

unsigned size(const json& sizes, std::size_t axis) { return axis < sizes.size() ? sizes[axis].get<unsigned>() : 1; }

json run(const json& one) {
    const json& arguments = one["arguments"];
    std::vector<gpulab::DeviceBuffer<int>> buffers;
    std::vector<int*> pointers(arguments.size());
    std::vector<int> numbers(arguments.size());
    std::vector<void*> places; // where each argument of the kernel stands
    for (const json& argument : arguments) {
        const std::size_t i = places.size();
        if (argument.is_array()) {
            pointers[i] = buffers.emplace_back(start::values_of(argument)).data();
            places.push_back(&pointers[i]);
        } else {
            numbers[i] = argument.get<int>();
            places.push_back(&numbers[i]);
        }
    }
    const dim3 block(size(one["group"], 0), size(one["group"], 1));
    const dim3 grid(size(one["items"], 0) / block.x, size(one["items"], 1) / block.y); // whole blocks
    start::launch_begins();
    CUDA_CHECK(cudaLaunchKernel(puzzle_kernel(), grid, block, places.data(), 0, nullptr));
    CUDA_CHECK(cudaDeviceSynchronize());
    cudaFuncAttributes attributes{};
    CUDA_CHECK(cudaFuncGetAttributes(&attributes, puzzle_kernel()));
    json result = start::after(buffers);
    result["local"] = attributes.sharedSizeBytes;
    return result;
}

} // namespace

int main(int argc, char** argv) try {
    if (argc != 3) throw gpulab::UsageError("usage: start_cuda CASES ANSWERS");
    if (gpulab::devices(gpulab::Backend::cuda).empty())
        throw gpulab::Unsupported(gpulab::why_no_devices(gpulab::Backend::cuda));
    std::ofstream answers(argv[2]);
    for (const json& one : json::parse(argv[1])) answers << run(one) << std::endl;
} catch (...) {
    return gpulab::fail("start_cuda");
}
