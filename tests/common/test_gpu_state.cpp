// Tests for gpu_state.hpp, with a library of NVIDIA's that is made up (fake_nvml.cpp). A program of its own loads it,
// because this one may have loaded the real one.
#include <cstdlib>
#include <string>

#include <catch2/catch_test_macros.hpp>

#include "backends.hpp"

using gpulab::GpuState;

TEST_CASE("NVIDIA's library is asked about the GPU with this place on the bus", "[.fake-nvml]") {
    GpuState state, other;
    state.pci = "0000:3b:00.0";
    other.pci = "0000:5e:00.0";
    gpulab::detail::ask_driver(state);
    CHECK(state.driver == "580.95.05");
    CHECK((state.sm_mhz == 1410 && state.most_sm_mhz == 1980));
    CHECK((state.memory_mhz == 2619 && state.most_memory_mhz == 0)); // the latter is not supported
    CHECK((state.slowed_by_power_ms == 2500 && state.slowed_by_heat_ms == 0));
    CHECK(state.processes == 2);
    gpulab::detail::ask_driver(other);
    CHECK((other.driver.empty() && other.processes == 0));
}

TEST_CASE("clocks, limits and other processes are those that NVIDIA's library tells") {
    const std::string command =
        "LD_LIBRARY_PATH=" FAKE_NVML " GPULAB_EMULATOR=never " TEST_COMMON " '[.fake-nvml]' > /dev/null";
    CHECK(std::system(command.c_str()) == 0);
}

TEST_CASE("a GPU that there is not has no state, and that is no error") {
    gpulab::Device none;
    none.backend = gpulab::Backend::cuda;
    none.index = 1000;
    const GpuState state = gpulab::gpu_state(none);
    CHECK((state.pci.empty() && state.driver.empty()));
}
