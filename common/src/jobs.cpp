#include "gpulab/jobs.hpp"

#include <algorithm>
#include <cstdlib>
#include <fmt/format.h>
#include <new>
#include <sstream>

namespace gpulab {

void detail::no_variant_called(std::string_view name) { throw Error("no variant is called " + std::string(name)); }

std::string unmet_need(const Needs& needs, const Device& device) {
    if (device.backend == Backend::cuda && device.compute_capability < needs.compute_capability)
        return fmt::format("needs compute capability {}.{}, {} has {}.{}", needs.compute_capability / 10,
                           needs.compute_capability % 10, device.name, device.compute_capability / 10,
                           device.compute_capability % 10);
    if (needs.gpu && device.emulated) return "needs a GPU";
    if (needs.fp64 && !device.fp64) return fmt::format("needs double precision, {} has none", device.name);
    if (needs.cooperative_launch && !device.cooperative_launch)
        return fmt::format("needs cooperative launch, {} has none", device.name);
    return "";
}

std::string why_unable(const std::exception& e, const Device& device) {
    if (dynamic_cast<const Unsupported*>(&e)) return e.what();
    const std::string message = message_of(e);
    const auto is = [&](const char* code) { return message.ends_with(code); };
    if (dynamic_cast<const std::bad_alloc*>(&e) || is("CL_OUT_OF_HOST_MEMORY") ||
        is("CL_MEM_OBJECT_ALLOCATION_FAILURE"))
        return "not enough memory: " + message;
    // Rungs take groups of up to 256 work-items for granted. Where a device has them, a group that it refuses is a
    // fault.
    if (!(is("CL_INVALID_WORK_GROUP_SIZE") || is("CL_INVALID_WORK_ITEM_SIZE"))) return "";
    if (device.max_group == 0 || device.max_group >= 256) return "";
    return fmt::format("needs larger groups: {} takes at most {} work-items", device.name, device.max_group);
}

std::string why_unsolved(std::string_view variant) {
    const char* const list = std::getenv("GPULAB_UNSOLVED");
    std::istringstream words(list ? list : "");
    for (std::string word; words >> word;)
        if (const std::size_t end = word.find('='); end != std::string::npos && word.substr(0, end) == variant)
            return "unsolved: it is the exercise " + word.substr(end + 1);
    return "";
}

std::string unmet_need(const Needs& needs, std::span<const Device> devices) {
    for (const Device& device : devices)
        if (std::string unmet = unmet_need(needs, device); !unmet.empty()) return unmet;
    if (devices.size() < needs.devices)
        return fmt::format("needs {} devices, this run has {}", needs.devices, devices.size());
    return "";
}

void refuse_variants(const Options& options) {
    if (!options.chosen_variants().empty())
        throw UsageError("--study " + options.study() + " has its own kernels; --variant does not apply");
}

std::vector<Device> study_devices(const Options& options, std::initializer_list<Backend> backends) {
    refuse_variants(options);
    std::vector<Device> found;
    std::string names, why; // why what the user asked for by name is not here
    for (const Backend backend : backends) {
        const std::vector<Device> more = options.devices(backend);
        found.insert(found.end(), more.begin(), more.end());
        names += fmt::format("{}{}", names.empty() ? "" : " or ", name_of(backend));
        const std::string why_none = options.named(backend) ? options.why_no_devices(backend) : "";
        if (!why_none.empty()) why += fmt::format(" ({}: {})", name_of(backend), why_none);
    }
    if (found.empty()) throw UsageError(fmt::format("--study {} needs a device of {}{}", options.study(), names, why));
    return found;
}

double total_ms(int repeats, const std::function<Pass()>& pass) {
    std::vector<double> times_ms;
    double spent_ms = 0;
    for (int i = 0; i < std::min(5, repeats) && (i == 0 || spent_ms < 300); ++i) {
        const Pass p = pass();
        times_ms.push_back(p.took_ms - p.left_out_ms);
        spent_ms += p.took_ms;
    }
    return summarise(times_ms).median;
}

std::string lack_of_memory(std::span<const Device> devices, double host_memory_bytes, double device_bytes,
                           double host_bytes, const std::string& name) {
    const std::string what = name.empty() ? "this problem" : name + ": this problem";
    constexpr double gib = 1024.0 * 1024.0 * 1024.0;
    if (host_memory_bytes > 0 && host_bytes > host_memory_bytes)
        return fmt::format("{} needs {:.1f} GiB of main memory; this computer has {:.1f} GiB", what, host_bytes / gib,
                           host_memory_bytes / gib);
    for (const Device& device : devices) {
        const auto memory = static_cast<double>(device.memory_bytes);
        const double needed = device.is_cpu ? device_bytes + host_bytes : device_bytes;
        if (memory > 0 && needed > memory)
            return fmt::format("{} needs {:.1f} GiB on {} ({}), which has {:.1f} GiB", what, needed / gib, device.id(),
                               device.name, memory / gib);
    }
    return "";
}

std::string lack_of_memory(const Options& options, double device_bytes, double host_bytes, const std::string& name) {
    std::vector<Device> devices;
    for (const Backend backend : {Backend::opencl, Backend::cuda})
        if (options.wants_any(backend)) // else its devices take no part
            for (const Device& device : options.devices(backend)) devices.push_back(device);
    return lack_of_memory(devices, static_cast<double>(host_memory_bytes()), device_bytes, host_bytes, name);
}

void check_memory(const Options& options, double device_bytes, double host_bytes, const std::string& name) {
    if (const std::string lack = lack_of_memory(options, device_bytes, host_bytes, name); !lack.empty())
        throw UsageError(lack);
}

} // namespace gpulab
