#include "gpulab/gpu_state.hpp"

#include <array>
#include <type_traits>

#include "backends.hpp"
#include "gpulab/error.hpp"

#if defined(__linux__)
#include <dlfcn.h>
#endif

namespace gpulab {

namespace detail {

#if defined(__linux__)
namespace {

/// Functions of NVIDIA's management library, as its header nvml.h declares them; 0 is success. The library comes with
/// the driver, so it is looked for when the program runs.
struct Nvml {
    struct Violation {
        unsigned long long reference_us = 0, violated_ns = 0;
    };
    int (*init)() = nullptr;
    int (*driver_version)(char*, unsigned) = nullptr;
    int (*handle_by_pci)(const char*, void**) = nullptr;
    int (*clock)(void*, int, unsigned*) = nullptr, (*most_clock)(void*, int, unsigned*) = nullptr;
    int (*violation)(void*, int, Violation*) = nullptr;
    int (*processes)(void*, unsigned*, void*) = nullptr;
    bool works = false;

    Nvml() {
        void* const library = dlopen("libnvidia-ml.so.1", RTLD_NOW);
        if (library == nullptr) return;
        const auto find = [&](const char* name, auto& function) {
            function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
            return function != nullptr;
        };
        find("nvmlDeviceGetClockInfo", clock);
        find("nvmlDeviceGetMaxClockInfo", most_clock);
        find("nvmlDeviceGetViolationStatus", violation);
        find("nvmlDeviceGetComputeRunningProcesses_v3", processes);
        works = find("nvmlInit_v2", init) && find("nvmlSystemGetDriverVersion", driver_version) &&
                find("nvmlDeviceGetHandleByPciBusId_v2", handle_by_pci) && init() == 0;
    }
};

} // namespace

void ask_driver(GpuState& state) {
    static const Nvml nvml;
    void* gpu = nullptr;
    std::array<char, 96> version{};
    if (!nvml.works || nvml.handle_by_pci(state.pci.c_str(), &gpu) != 0 ||
        nvml.driver_version(version.data(), version.size()) != 0)
        return;
    state.driver = version.data();
    constexpr int of_sm = 1, of_memory = 2;
    const auto mhz = [&](auto* function, int which) {
        unsigned value = 0;
        return function && function(gpu, which, &value) == 0 ? value : 0;
    };
    state.sm_mhz = mhz(nvml.clock, of_sm);
    state.most_sm_mhz = mhz(nvml.most_clock, of_sm);
    state.memory_mhz = mhz(nvml.clock, of_memory);
    state.most_memory_mhz = mhz(nvml.most_clock, of_memory);
    constexpr int by_power = 0, by_heat = 1;
    const auto violated_ms = [&](int policy) {
        Nvml::Violation so_far;
        return nvml.violation && nvml.violation(gpu, policy, &so_far) == 0
                   ? static_cast<double>(so_far.violated_ns) / 1e6
                   : 0;
    };
    state.slowed_by_power_ms = violated_ms(by_power);
    state.slowed_by_heat_ms = violated_ms(by_heat);
    unsigned count = 0; // with room for none of them it says how many there are, and that there is no room
    constexpr int no_room = 7;
    if (const int code = nvml.processes ? nvml.processes(gpu, &count, nullptr) : -1; code == 0 || code == no_room)
        state.processes = static_cast<int>(count);
}
#else
void ask_driver(GpuState&) {}
#endif

} // namespace detail

GpuState gpu_state(const Device& device) {
    GpuState state;
    try {
        detail::ask_cuda(device, state);
        detail::ask_driver(state);
    } catch (const Error&) {
    }
    return state;
}

} // namespace gpulab
