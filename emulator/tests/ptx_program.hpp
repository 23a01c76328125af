#pragma once
#include "machine/launch.hpp"
#include "machine/memory.hpp"
#include "ptx/module.hpp"
#include <bit>
#include <cstring>
#include <string>
#include <vector>

/// A kernel "k" whose PTX a test writes: parameters are 64-bit, its body reads them as %p0, %p1, …
class PtxProgram {
public:
    PtxProgram(const std::string& body, unsigned parameters = 1, const std::string& before = {},
               const std::string& directives = {}) {
        std::string list, loads;
        for (unsigned i = 0; i < parameters; ++i) {
            list += (i ? ", " : "") + (".param .u64 a" + std::to_string(i));
            loads += "ld.param.u64 %a" + std::to_string(i) + ", [a" + std::to_string(i) + "];\n";
        }
        module_ = std::make_unique<cuda_emulator::Module>(
            ".version 8.0\n.target sm_80\n.address_size 64\n" + before + "\n.visible .entry k(" + list + ")\n" +
                directives +
                "\n{\n.reg .pred %p<16>;\n.reg .b16 %h<16>;\n.reg .b32 %r<64>;\n.reg .b64 %rd<32>;\n.reg .f32 "
                "%f<32>;\n.reg .f64 %fd<32>;\n.reg .b64 %a<8>;\n" +
                loads + body + "\nret;\n}\n",
            memory);
    }

    const cuda_emulator::Kernel& kernel() { return module_->kernel("k"); }

    template <class T> T* array(std::size_t elements, T value = {}) {
        T* const result = static_cast<T*>(memory.allocate(elements * sizeof(T), cuda_emulator::MemoryKind::device));
        std::fill_n(result, elements, value);
        memory.mark_written(reinterpret_cast<std::uintptr_t>(result), elements * sizeof(T));
        return result;
    }

    template <class... A> void run(cuda_emulator::Dim3 grid, cuda_emulator::Dim3 block, A... arguments) {
        launch.kernel = &kernel();
        launch.grid = grid;
        launch.block = block;
        const std::uint64_t words[] = {std::bit_cast<std::uint64_t>(arguments)..., 0};
        launch.arguments.resize(sizeof(words));
        std::memcpy(launch.arguments.data(), words, sizeof(words));
        result = cuda_emulator::run(launch, memory, observer);
    }

    cuda_emulator::Memory memory{std::size_t{64} << 20};
    cuda_emulator::Launch launch;
    cuda_emulator::LaunchResult result;
    cuda_emulator::Observer* observer = nullptr;

private:
    std::unique_ptr<cuda_emulator::Module> module_;
};

/// %rd1 = the address of the thread's 32-bit element of array a0; %r1 its number in the grid.
inline const std::string own_element = R"(
mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mov.u32 %r4, %tid.x;
mad.lo.s32 %r1, %r2, %r3, %r4;
mul.wide.u32 %rd1, %r1, 4; add.s64 %rd1, %a0, %rd1;
)";
