#include "link.hpp"

#include <algorithm>
#include <map>
#include <string>

#include "gpulab/error.hpp"

namespace streams {

double bound_ms(const Link& link, std::size_t bytes) {
    const auto size = static_cast<double>(bytes);
    return std::max({size / (link.up * 1e6), size / (link.down * 1e6), link.kernel_ms});
}

double together_ms(const Link& link, std::size_t bytes) { return static_cast<double>(bytes) / (link.together * 1e6); }

double sum_ms(const Link& link, std::size_t bytes) {
    const auto size = static_cast<double>(bytes);
    return size / (link.up_alone * 1e6) + link.kernel_ms + size / (link.down_alone * 1e6);
}

double strips_ms(const Link& link, std::size_t bytes, std::size_t n) {
    const auto strips = static_cast<double>(n), size = static_cast<double>(bytes) / strips;
    const double copy = size / (std::min(link.up, link.down) * 1e6) + link.pause_ms;
    return sum_ms(link, bytes) / strips + (strips - 1) * std::max(copy, link.kernel_ms / strips);
}

std::size_t best_strips(const Link& link, std::size_t bytes) {
    std::size_t best = 1;
    for (std::size_t n = 2; n <= max_strips; ++n)
        if (strips_ms(link, bytes, n) < strips_ms(link, bytes, best)) best = n;
    return best;
}

Link measure_link([[maybe_unused]] const gpulab::Device& device, [[maybe_unused]] const Problem& p) {
    static std::map<std::string, Link> known;
    gpulab::use(device);
#if defined(GPULAB_WITH_CUDA)
    if (device.backend == gpulab::Backend::cuda) {
        if (!known.contains(device.id())) known[device.id()] = cuda_copy_rates();
        Link link = known[device.id()];
        link.kernel_ms = cuda_kernel_ms(p);
        link.pin_ms = cuda_pin_ms(p.bytes());
        return link;
    }
#endif
#if defined(GPULAB_WITH_OPENCL)
    if (device.backend == gpulab::Backend::opencl) {
        if (!known.contains(device.id())) known[device.id()] = opencl_copy_rates();
        Link link = known[device.id()];
        link.kernel_ms = opencl_kernel_ms(p);
        link.pin_ms = opencl_pin_ms(p.bytes());
        return link;
    }
#endif
    throw gpulab::Error("no link between the host and " + device.id());
}

} // namespace streams
