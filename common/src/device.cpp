#include "gpulab/device.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <string_view>
#include <thread>
#include <utility>

#include "backends.hpp"
#include "gpulab/error.hpp"
#include "gpulab/options.hpp"

#if defined(__APPLE__)
#include <sys/sysctl.h>
#else
#include <sched.h>
#include <unistd.h>
#endif

namespace gpulab {

namespace {

std::string cpu_name() {
    std::ifstream info("/proc/cpuinfo");
    for (std::string line; std::getline(info, line);) {
        if (line.starts_with("model name")) {
            const std::size_t colon = line.find(": ");
            if (colon != std::string::npos) return line.substr(colon + 2);
        }
    }
    return "CPU";
}

detail::Found find_cpu() {
    detail::check_processor();
    Device device;
    device.backend = Backend::cpu;
    device.name = cpu_name();
    device.memory_bytes = host_memory_bytes();
    device.compute_units = hardware_threads();
    device.is_cpu = true;
    return {{device}, ""};
}

const detail::Found& found(Backend backend) {
    static const detail::Found cpu = find_cpu();
    if (backend == Backend::cpu) return cpu;
    if (backend == Backend::opencl) {
        static const detail::Found opencl = detail::find_opencl_devices();
        return opencl;
    }
    static const detail::Found cuda = detail::find_cuda_devices();
    return cuda;
}

} // namespace

std::string detail::lower(std::string text) {
    for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return text;
}

std::string Device::id() const {
    const std::string place = std::string(name_of(backend)) + ":";
    if (!emulated) return place + std::to_string(index);
    return place + "emulated" + (index == 0 ? "" : ":" + std::to_string(index));
}

bool Device::is_meant_by(std::string requested) const {
    requested = detail::lower(std::move(requested));
    for (const Backend any : {Backend::cpu, Backend::opencl, Backend::cuda}) {
        const std::string word(name_of(any));
        if (requested == word) return backend == any;
        if (requested.starts_with(word + ":")) return requested == id();
    }
    return requested.size() >= 3 && (detail::lower(name).find(requested) != std::string::npos ||
                                     detail::lower(platform).find(requested) != std::string::npos);
}

const std::vector<Device>& devices(Backend backend) { return found(backend).devices; }

const std::string& why_no_devices(Backend backend) { return found(backend).why_none; }

namespace {
thread_local std::vector<Device> in_use;
} // namespace

std::string detail::now_doing = "a kernel";

void use(const Device& device) { use(std::span(&device, 1)); }

void use(std::span<const Device> chosen) {
    const Device& first = chosen.front();
    detail::opencl_rests();
    if (first.backend == Backend::cuda) detail::use_cuda_device(first);
    if (first.backend == Backend::opencl) detail::use_opencl_device(first);
    in_use = std::vector<Device>(chosen.begin(), chosen.end());
}

const std::vector<Device>& devices_in_use() { return in_use; }

int hardware_threads() {
    if (const char* const requested = std::getenv("GPULAB_CPU_THREADS")) {
        const std::int64_t threads = parse_size(requested, "GPULAB_CPU_THREADS");
        if (threads < 1 || threads > 4096) throw UsageError("GPULAB_CPU_THREADS: 1 ... 4096 threads are possible");
        return static_cast<int>(threads);
    }
    static const int cores = [] {
        int here = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
#if defined(__linux__)
        cpu_set_t set; // those that the scheduler gives this process
        if (sched_getaffinity(0, sizeof set, &set) == 0) here = CPU_COUNT(&set);
#endif
        const double share = detail::share_of_machine().cores;
        return share > 0 ? std::min(here, static_cast<int>(std::ceil(share))) : here;
    }();
    return cores;
}

std::uint64_t host_memory_bytes() {
#if defined(__APPLE__)
    std::uint64_t bytes = 0;
    std::size_t length = sizeof(bytes);
    return sysctlbyname("hw.memsize", &bytes, &length, nullptr, 0) == 0 ? bytes : 0;
#else
    const auto whole =
        static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<std::uint64_t>(sysconf(_SC_PAGE_SIZE));
    static const std::uint64_t share = detail::share_of_machine().memory_bytes;
    return share > 0 ? std::min(share, whole) : whole;
#endif
}

bool detail::built_for(std::string_view architectures, int capability) {
    for (std::string_view rest = architectures; !rest.empty();) {
        const std::string_view one = rest.substr(0, rest.find(','));
        rest.remove_prefix(std::min(rest.size(), one.size() + 1));
        int number = 0;
        const std::string_view kind(std::from_chars(one.data(), one.data() + one.size(), number).ptr,
                                    one.data() + one.size());
        if (number == 0) return true; // "native", "all": made for what was there
        if (kind != "-virtual" && number / 10 == capability / 10 && number <= capability) return true;
        if (kind != "-real" && number <= capability) return true;
    }
    return false;
}

#if !defined(GPULAB_WITH_CUDA)
namespace detail {
Found find_cuda_devices() { return {{}, "built without CUDA: " GPULAB_NO_CUDA}; }
void use_cuda_device(const Device&) { throw Error("built without CUDA"); }
double measure_cuda(const Device&, Arithmetic) { return 0; }
void ask_cuda(const Device&, GpuState&) { throw Error("built without CUDA"); }
} // namespace detail
#endif

#if !defined(GPULAB_WITH_OPENCL)
namespace detail {
Found find_opencl_devices() { return {{}, "built without OpenCL (no OpenCL library was found)"}; }
void use_opencl_device(const Device&) { throw Error("built without OpenCL"); }
double measure_opencl(const Device&, Arithmetic) { return 0; }
} // namespace detail
#endif

#if !defined(GPULAB_WITH_OPENCL) || !defined(__linux__) // elsewhere a library that aborts ends the program
namespace detail {
std::vector<Aborted> aborted_opencl() { return {}; }
bool aborted_in_a_rung() { return false; }
bool given_up(const std::string&) { return false; }
void remember(const Aborted&) {}
std::string fault_in_a_child(const std::function<void()>&) { return ""; }
void survive_opencl(char* const*) {}
void opencl_works(const std::string&, const std::string&) {}
void opencl_rests() {}
} // namespace detail
#endif

} // namespace gpulab
