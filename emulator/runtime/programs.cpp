// What nvcc puts into a program beside main(): fat binaries, kernels and variables, registered before main() begins.
// (crt/host_runtime.h; names with two underscores are nvcc's)
#include <cstring>
#include <unordered_map>

#include "fat_binary.hpp"
#include "host_access.hpp"
#include "runtime.hpp"

namespace cuda_emulator {

struct Program {
    const void* wrapper = nullptr;
    std::map<int, std::unique_ptr<Module>> modules; // by device; made when the first kernel or variable is needed
    std::vector<std::pair<std::string, void**>> managed;
    std::map<std::string, std::unique_ptr<Function>> functions;
};

namespace {

struct HostVariable {
    Program* program;
    std::string name;
};

struct Registry {
    std::unordered_map<const void*, Function*> functions; // by the address of the host function
    std::set<const void*> handles;
    std::atomic<bool> has_managed = false;
    std::vector<const void*> wrappers;                       // of all programs
    std::unordered_map<const void*, HostVariable> variables; // by the address of the shadow on the host
};

Registry& registry() {
    static auto* const all = new Registry;
    return *all;
}

/// The module on a device. @throws Failure where the program holds no PTX that the device runs
Module& module_of(Program& program, Device& device) {
    const std::lock_guard lock(state());
    std::unique_ptr<Module>& module = program.modules[device.index];
    if (module) return *module;
    try {
        const FatBinary binary = read_fat_binary(program.wrapper);
        const int capability = 10 * device.properties.major + device.properties.minor;
        const PtxImage* const image = binary.best_for(capability);
        if (!image) {
            refuse((binary.source.empty() ? "a file" : binary.source) +
                   (binary.ptx.empty() ? " holds machine code only" : " holds PTX for newer devices only") +
                   ": compile it with nvcc -arch=compute_80, or add -gencode arch=compute_80,code=compute_80");
            fail(cudaErrorNoKernelImageForDevice);
        }
        const DeviceMemoryOpen open; // variables may lie in the rest of a page
        module = std::make_unique<Module>(image->text(), memory());
    } catch (const PtxError&) {
        throw;
    } catch (const std::runtime_error& error) {
        refuse(error.what());
        fail(cudaErrorInvalidKernelImage);
    }
    return *module;
}

} // namespace

int newest_ptx(int most) {
    const std::lock_guard lock(state());
    int newest = 0;
    for (const void* const wrapper : registry().wrappers) {
        try {
            for (const PtxImage& image : read_fat_binary(wrapper).ptx)
                if (image.capability <= most) newest = std::max(newest, image.capability);
        } catch (const std::runtime_error&) { // whoever needs it hears of that
        }
    }
    return newest;
}

bool has_managed_variables() { return registry().has_managed; }

Function& function_of(const void* symbol) {
    const std::lock_guard lock(state());
    const auto found = registry().functions.find(symbol);
    if (found != registry().functions.end()) return *found->second;
    require(registry().handles.contains(symbol), cudaErrorInvalidDeviceFunction);
    return *static_cast<Function*>(const_cast<void*>(symbol));
}

const Kernel& kernel_of(const Function& function, Device& device) {
    return module_of(*function.program, device).kernel(function.name);
}

int ptx_target(const Function& function, Device& device) { return module_of(*function.program, device).target(); }

SymbolView symbol_of(const void* symbol, Device& device) {
    HostVariable host;
    {
        const std::lock_guard lock(state());
        const auto found = registry().variables.find(symbol);
        require(found != registry().variables.end(), cudaErrorInvalidSymbol);
        host = found->second;
    }
    const Variable* const variable = module_of(*host.program, device).variable(host.name);
    require(variable != nullptr, cudaErrorInvalidSymbol); // nvcc drops what no kernel uses
    return {variable->address, variable->size};
}

} // namespace cuda_emulator

using namespace cuda_emulator;

extern "C" {

void** __cudaRegisterFatBinary(void* wrapper) {
    auto* const program = new Program;
    program->wrapper = wrapper;
    const std::lock_guard lock(state());
    registry().wrappers.push_back(wrapper);
    return reinterpret_cast<void**>(program);
}

void __cudaRegisterFatBinaryEnd(void**) {}

/// At the end of the program, when destructors may still call the runtime: nothing is given back.
void __cudaUnregisterFatBinary(void**) {}

void __cudaRegisterFunction(void** handle, const char* host, char*, const char* name, int, uint3*, uint3*, dim3*, dim3*,
                            int*) {
    auto* const program = reinterpret_cast<Program*>(handle);
    const std::lock_guard lock(state());
    std::unique_ptr<Function>& function = program->functions[name];
    if (!function) {
        function = std::make_unique<Function>();
        function->program = program;
        function->name = name;
    }
    registry().functions[host] = function.get();
    registry().handles.insert(function.get());
}

void __cudaRegisterVar(void** handle, char* host, char*, const char* name, int, std::size_t, int, int) {
    const std::lock_guard lock(state());
    registry().variables[host] = {reinterpret_cast<Program*>(handle), name};
}

void __cudaRegisterManagedVar(void** handle, void** host, char*, const char* name, int, std::size_t, int, int) {
    auto* const program = reinterpret_cast<Program*>(handle);
    const std::lock_guard lock(state());
    registry().variables[host] = {program, name};
    program->managed.emplace_back(name, host);
    registry().has_managed = true;
}

/// Before the first use of a managed variable on the host, in every function that has one.
char __cudaInitModule(void** handle) {
    auto& program = *reinterpret_cast<Program*>(handle);
    call([&] {
        const std::lock_guard lock(state());
        for (const auto& [name, host] : program.managed)
            if (const Variable* const variable = module_of(program, current_device()).variable(name))
                *host = variable->address;
        program.managed.clear();
    });
    return 1;
}

cudaError_t __cudaGetKernel(cudaKernel_t* kernel, const void* host) {
    return call([&] { *kernel = reinterpret_cast<cudaKernel_t>(&function_of(host)); });
}

cudaError_t cudaGetKernel(cudaKernel_t* kernel, const void* host) { return __cudaGetKernel(kernel, host); }

cudaError_t cudaGetFuncBySymbol(cudaFunction_t* function, const void* host) {
    return call([&] { *function = reinterpret_cast<cudaFunction_t>(&function_of(host)); });
}

cudaError_t cudaFuncGetName(const char** name, const void* function) {
    return call([&] { *name = function_of(function).name.c_str(); });
}

cudaError_t cudaGetSymbolAddress(void** address, const void* symbol) {
    return call([&] { *address = symbol_of(symbol, current_device()).address; });
}

cudaError_t cudaGetSymbolSize(std::size_t* size, const void* symbol) {
    return call([&] { *size = symbol_of(symbol, current_device()).size; });
}

/// Functions of the driver, such as cuTensorMapEncodeTiled: there is none.
cudaError_t cudaGetDriverEntryPointByVersion(const char*, void** function, unsigned, unsigned long long,
                                             cudaDriverEntryPointQueryResult* result) {
    return call([&] {
        *function = nullptr;
        require(result != nullptr, cudaErrorNotSupported);
        *result = cudaDriverEntryPointSymbolNotFound;
    });
}

#if CUDART_VERSION < 13000
cudaError_t cudaGetDriverEntryPoint(const char* symbol, void** function, unsigned long long flags,
                                    cudaDriverEntryPointQueryResult* result) {
    return cudaGetDriverEntryPointByVersion(symbol, function, 0, flags, result);
}
#endif

cudaChannelFormatDesc cudaCreateChannelDesc(int x, int y, int z, int w, cudaChannelFormatKind kind) {
    return {x, y, z, w, kind};
}

} // extern "C"
