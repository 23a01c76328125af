/// @file
/// Which device a rank computes on, and how ranks exchange halo and sums: through host memory and MPI, or from GPU to
/// GPU by NCCL. The ranks of a computer take different devices, as long as there are enough.
#pragma once

#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "gpulab/device.hpp"
#include "gpulab/error.hpp"

namespace cg {

/// Where a rank computes, in a form that all ranks can be told.
struct Place {
    gpulab::Backend on = gpulab::Backend::cpu;
    int computer = 0; ///< the first rank of this rank's computer
    /// Of a GPU: pci_address(); of another OpenCL device with memory of its own: its id. Empty where the device shares
    /// the computer's memory.
    char address[32] = "";
};

/// The devices that ranks use: the GPUs, where there are some.
/// @throws gpulab::UsageError when there is no device
inline std::vector<gpulab::Device> devices_for_ranks(gpulab::Backend on) {
    std::vector<gpulab::Device> devices = gpulab::devices(on);
    if (devices.empty())
        throw gpulab::UsageError(fmt::format("--on {}: {}", gpulab::name_of(on), gpulab::why_no_devices(on)));
    const auto is_gpu = [](const gpulab::Device& d) { return !d.is_cpu; };
    if (std::ranges::any_of(devices, is_gpu)) std::erase_if(devices, [&](const auto& d) { return !is_gpu(d); });
    return devices;
}

/// Copies a text into an array of characters, as much of it as there is room for.
template <std::size_t size> void copy_text(const std::string& text, char (&to)[size]) {
    to[text.copy(to, size - 1)] = '\0';
}

/// How many devices these are. Ranks may share a GPU; and all CPU cores of a computer count as one device, because they
/// share its memory.
inline std::size_t count_devices(const std::vector<Place>& places) {
    std::set<std::pair<int, std::string>> devices;
    for (const Place& place : places) devices.emplace(place.computer, place.address);
    return devices.size();
}

/// Why ranks in these places cannot use NCCL, or "". NCCL needs a GPU of its own for every rank.
/// @param built whether the program has been built with NCCL
inline std::string why_not_nccl(const std::vector<Place>& places, bool built) {
    for (std::size_t i = 0; i < places.size(); ++i)
        if (places[i].on != gpulab::Backend::cuda)
            return fmt::format("rank {} computes on {}, and NCCL is for GPUs", i,
                               places[i].on == gpulab::Backend::cpu ? "a CPU core" : "an OpenCL device");
    for (std::size_t i = 0; i < places.size(); ++i)
        for (std::size_t j = 0; j < i; ++j)
            if (places[i].computer == places[j].computer && std::strcmp(places[i].address, places[j].address) == 0)
                return fmt::format("ranks {} and {} share a GPU, and NCCL needs one for each", j, i);
    return built ? "" : "cg_mpi is built without NCCL";
}

/// Whether the ranks use NCCL. All of them come to the same answer.
/// @param requested auto, host or nccl @param obstacle see why_not_nccl()
/// @throws gpulab::UsageError when NCCL is wanted and cannot be
inline bool takes_nccl(const std::string& requested, const std::string& obstacle) {
    if (requested == "nccl" && !obstacle.empty()) throw gpulab::UsageError("--link nccl: " + obstacle);
    return requested != "host" && obstacle.empty();
}

} // namespace cg
