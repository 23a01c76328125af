/// @file
/// One process's share of the system: its rows and its pieces of the vectors, on CPU cores, an OpenCL device or a GPU.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "cg.hpp"
#include "gpulab/device.hpp"
#include "gpulab/error.hpp"
#include "scalars.hpp"
#include "split.hpp"

namespace cg {

/// What a process does in an iteration. Host memory is where the halo comes from and goes to.
template <class T> class RankPart {
public:
    virtual ~RankPart() = default;
    /// x = p = x_0, r = b.
    virtual void reset() = 0;
    /// Copies the elements of p that others need, as part.send lists them.
    virtual void pack(T* out) = 0;
    /// Begins q = A p for the inner rows; need not have ended when this returns.
    virtual void multiply_inner() = 0;
    /// Takes the halo, multiplies the rows at the border. @return this part's share of p . q
    virtual double multiply_border(const T* halo) = 0;
    /// r -= alpha q, and x += alpha p unless `only_r`. @return this part's shares
    virtual ResidualSums update(T alpha, bool only_r) = 0;
    /// p = z + beta p
    virtual void next_p(T beta) = 0;
    /// Copies this part's elements of x.
    virtual void solution(T* out) = 0;
    /// The device in words.
    virtual std::string device() const = 0;
};

/// A part on the CPU. @param threads at least 1
template <class T>
std::unique_ptr<RankPart<T>> make_cpu_part(const Problem<T>& problem, const Part<T>& part, unsigned threads);
/// The same on an OpenCL device; a lone CPU is cut into sub-devices.
/// @param local_rank number of this process among those of its computer: each takes a different device
template <class T>
std::unique_ptr<RankPart<T>> make_opencl_part(const Problem<T>& problem, const Part<T>& part, int local_rank);
/// The same on a GPU. @param local_rank as above
template <class T>
std::unique_ptr<RankPart<T>> make_cuda_part(const Problem<T>& problem, const Part<T>& part, int local_rank);

/// The OpenCL devices that ranks use: the GPUs, where there are some.
/// @throws gpulab::UsageError when there is no device
inline std::vector<gpulab::Device> opencl_devices_for_ranks() {
    std::vector<gpulab::Device> devices = gpulab::devices(gpulab::Backend::opencl);
    if (devices.empty()) throw gpulab::UsageError("--on opencl: " + gpulab::why_no_devices(gpulab::Backend::opencl));
    const auto is_gpu = [](const gpulab::Device& d) { return !d.is_cpu; };
    if (std::ranges::any_of(devices, is_gpu)) std::erase_if(devices, [&](const auto& d) { return !is_gpu(d); });
    return devices;
}
/// The device of the rank with this number on its computer; ranks share devices where there are fewer.
/// @pre the back end has devices
inline const gpulab::Device& device_of_rank(gpulab::Backend backend, int local_rank) {
    const auto& devices = gpulab::devices(backend);
    return devices[static_cast<std::size_t>(local_rank) % devices.size()];
}
/// The same of opencl_devices_for_ranks().
inline gpulab::Device opencl_device_of_rank(int local_rank) {
    const auto devices = opencl_devices_for_ranks();
    return devices[static_cast<std::size_t>(local_rank) % devices.size()];
}
/// Where a CUDA device is on its computer, as "0000:3b:00.0". Two processes may have different numbers for one device,
/// or one number for two devices (CUDA_VISIBLE_DEVICES); this address is unique.
std::string pci_address(const gpulab::Device& gpu);

} // namespace cg
