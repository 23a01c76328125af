// Study memories on an OpenCL device. The counterpart of textures, images, is optional in OpenCL: the study leaves it
// out.
#include <string>

#include "gpulab/opencl/timing.hpp"
#include "memories.cl.hpp"
#include "studies.hpp"

namespace saxpy {

void opencl_look_up(Memory memory, unsigned apart, const Mixed& table, Mixed& out, Stopwatch& watch) {
    if (memory == Memory::texture) throw gpulab::Unsupported("the study has no kernel with images");
    const char* const name = memory == Memory::constant ? "constant_table"
                             : memory == Memory::shared ? "local_table"
                                                        : "global_table";
    cl::Kernel kernel = gpulab::opencl_kernel(
        memories_cl, name, "-DSIZE=" + std::to_string(table_size) + "u -DREADS=" + std::to_string(table_reads) + "u");
    const gpulab::ClBuffer<std::uint32_t> words(table);
    gpulab::ClBuffer<std::uint32_t> result(out.size());
    gpulab::set_args(kernel, words.data(), cl_uint{apart}, result.data(), cl_ulong{out.size()});
    gpulab::watch_kernel(watch, kernel, gpulab::global_size(out.size(), 256), 256, gpulab::poisoning(result));
    result.copy_to(out);
}

} // namespace saxpy
