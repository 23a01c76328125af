// The OpenCL side of device.hpp, and the helpers of gpulab/opencl/.
#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <iterator>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <sys/file.h>
#include <sys/resource.h>
#include <unistd.h>
#include <utility>
#include <vector>

#include "backends.hpp"
#include "gpulab/file.hpp"
#include "gpulab/input_copies.hpp"
#include "gpulab/opencl/buffer.hpp"
#include "gpulab/opencl/context.hpp"

namespace gpulab {

namespace {

/// The cl objects behind devices(Backend::opencl), in the same order. Kept in a heap object that lives as long as
/// the program: destroying cl objects after main has ended crashes some drivers.
std::vector<cl::Device>& handles() {
    static auto* const all = new std::vector<cl::Device>;
    return *all;
}

std::string trimmed(std::string text) {
    while (!text.empty() && (text.back() == '\0' || text.back() == ' ')) text.pop_back();
    return text;
}

// std::regex would be shorter, but a program that a student waits for includes this file, and it compiles for seconds.

/// Where the digits that begin at a place of a text end.
std::size_t end_of_digits(std::string_view text, std::size_t at) {
    while (at < text.size() && text[at] >= '0' && text[at] <= '9') ++at;
    return at;
}

// "<kernel>:7:14: error" with the file and line that the text's #line directives give to its line 7, for compilers that
// count the lines of the text and pass over #line (NVIDIA's). As it is where the text has none before that line.
std::string with_file(const std::string& message, const std::string& text) {
    constexpr std::string_view place = "<kernel>:", directive = "#line ";
    const std::size_t at = message.find(place), begin = at + place.size();
    const std::size_t end = at == std::string::npos ? 0 : end_of_digits(message, begin);
    if (end == 0 || end == begin || end == message.size() || message[end] != ':') return message;
    const int wanted = std::stoi(message.substr(begin, end - begin));
    std::istringstream lines(text);
    std::string line, file;
    int number = 0;
    for (int i = 1; i <= wanted && std::getline(lines, line); ++i, ++number) {
        if (!line.starts_with(directive)) continue;
        const std::size_t first = line.find('"'), last = line.find('"', first + 1);
        if (first == std::string::npos || last == std::string::npos) continue;
        number = std::stoi(line.substr(directive.size())) - 2; // the line after this one has the number that it says
        file = line.substr(first + 1, last - first - 1);
    }
    if (file.empty()) return message;
    return message.substr(0, at) + file + ":" + std::to_string(number) + ":" + message.substr(end + 1);
}

/// What a platform or device says of itself; "" or 0 where it answers with an error.
template <auto name, class Object> auto info_of(const Object& object) {
    try {
        return object.template getInfo<name>();
    } catch (const cl::Error&) {
        return decltype(object.template getInfo<name>()){};
    }
}

constexpr const char* unknown_platform = "an OpenCL library";    // while the loader opens the libraries of all
constexpr std::string_view pocl = "Portable Computing Language"; // its platform

/// The folder where PoCL keeps compiled kernels, and ends the program when it cannot write one.
std::string pocl_cache() {
    const auto variable = [](const char* name) {
        const char* const text = std::getenv(name);
        return std::string(text ? text : "");
    };
    if (const std::string own = variable("POCL_CACHE_DIR"); !own.empty()) return own;
    if (const std::string cache = variable("XDG_CACHE_HOME"); !cache.empty()) return cache + "/pocl/kcache";
    return variable("HOME") + "/.cache/pocl/kcache";
}

/// Why a compiled kernel would not fit PoCL's cache, or "".
std::string full_pocl_cache() {
    const std::string folder = pocl_cache(), why = why_not_writable(folder, std::size_t{1} << 20);
    if (why.empty()) return "";
    return fmt::format("PoCL cannot write compiled kernels to its cache, {}: {} (POCL_CACHE_DIR names another folder)",
                       folder, why);
}

/// Why the stack is too small for PoCL, or "". A kernel of the labs runs in 384 KiB, and ends the program in 256
/// (PoCL 3.1).
std::string small_stack() {
    constexpr rlim_t least = 384 << 10;
    rlimit stack{};
    if (getrlimit(RLIMIT_STACK, &stack) != 0 || stack.rlim_cur >= least) return "";
    return fmt::format("PoCL needs a stack of {} KiB, and it has {} (ulimit -s)", least >> 10, stack.rlim_cur >> 10);
}

/// Gives PoCL a cache that no other program of ours uses at the same time: it reads kernels that another process has
/// not finished writing (pocl issue 1480). The folder stays locked until this process ends. The first is the usual one,
/// so that a program finds the kernels of the run before.
void take_pocl_cache() {
    const std::string usual = std::filesystem::absolute(pocl_cache()).string(); // PoCL takes no other path
    for (int number = 1; number < 1000; ++number) {
        const std::string folder = number == 1 ? usual : fmt::format("{}/{}", usual, number);
        std::error_code failed;
        std::filesystem::create_directories(folder, failed);
        const int opened = open(folder.c_str(), O_RDONLY | O_CLOEXEC);
        if (opened < 0) return; // full_pocl_cache() says why
        if (flock(opened, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) {
            if (folder != pocl_cache()) setenv("POCL_CACHE_DIR", folder.c_str(), 1);
            return;
        }
        close(opened);
    }
}

/// Where the environment says that the platforms are: "OCL_ICD_VENDORS=/here".
std::string told_places() {
    std::string places;
    for (const char* const name : {"OCL_ICD_VENDORS", "OCL_ICD_FILENAMES", "OPENCL_VENDOR_PATH"})
        if (const char* const value = std::getenv(name))
            places += fmt::format("{}{}={}", places.empty() ? "" : ", ", name, value);
    return places;
}

/// The platforms, each asked for its name.
std::vector<std::pair<cl::Platform, std::string>> named_platforms() {
    std::vector<cl::Platform> platforms;
    try {
        cl::Platform::get(&platforms);
    } catch (const cl::Error&) { // the loader answers "no platform" with an error
    }
    std::vector<std::pair<cl::Platform, std::string>> named;
    for (const cl::Platform& one : platforms) named.emplace_back(one, trimmed(info_of<CL_PLATFORM_NAME>(one)));
    return named;
}

/// Whether a platform or a vendor's file has failed in an earlier start of this run.
bool has_failed(const std::string& name) {
    return std::ranges::any_of(detail::aborted_opencl(), [&](const auto& one) { return one.platform == name; });
}

/// While it lives, the loader finds the vendors' files in a folder that lacks those whose libraries fail beside the
/// ones before them. Without a folder or a loader that reads the environment, nothing is left out.
class WorkingVendors {
public:
    WorkingVendors() {
        namespace fs = std::filesystem;
        std::string vendors = "/etc/OpenCL/vendors";
        for (const char* const name : {"OPENCL_VENDOR_PATH", "OCL_ICD_VENDORS"})
            if (const char* const told = std::getenv(name); told && *told) vendors = told;
        std::error_code failed;
        std::set<fs::path> files;
        for (const auto& entry : fs::directory_iterator(vendors, failed))
            if (entry.path().extension() == ".icd") files.insert(entry.path());
        if (files.empty()) return;
        folder_ = fs::temp_directory_path(failed) / fmt::format("gpulab-opencl-{}", static_cast<long>(getpid()));
        fs::remove_all(folder_, failed); // of the start before, which has the same number
        if (detail::given_up(unknown_platform) || !fs::create_directory(folder_, failed)) return;
        setenv("OCL_ICD_VENDORS", (folder_ / "").c_str(), 1);
        if (!detail::fault_in_a_child(named_platforms).empty()) return; // it is none of the files
        for (const fs::path& file : files) {
            const fs::path copy = folder_ / file.filename();
            if (has_failed(file)) continue;
            fs::copy_file(file, copy, failed);
            const std::string fault = detail::fault_in_a_child(named_platforms);
            if (fault.empty()) continue;
            fs::remove(copy, failed);
            const std::string what = fault + " in " + detail::searching;
            detail::remember({file, what});
            std::fputs(
                fmt::format("OpenCL: the library of {} {} and is left out: install it anew, or remove the file.\n",
                            file.string(), what)
                    .c_str(),
                stderr);
        }
    }
    ~WorkingVendors() {
        std::error_code failed;
        std::filesystem::remove_all(folder_, failed);
    }
    WorkingVendors(const WorkingVendors&) = delete;
    WorkingVendors& operator=(const WorkingVendors&) = delete;

private:
    std::filesystem::path folder_;
};

/// Whether a line of a build log only counts: "2 errors generated.", "Device cpu failed to build the program".
bool is_chatter(std::string_view line) {
    const std::size_t digits = end_of_digits(line, 0);
    const std::string_view rest = line.substr(digits);
    return (digits > 0 && (rest.starts_with(" error") || rest.starts_with(" warning")) &&
            rest.ends_with(" generated.")) ||
           (line.starts_with("Device ") && line.ends_with(" failed to build the program"));
}

/// A line with `<kernel>` in place of the absolute path of a .cl file, which is the driver's own.
std::string without_drivers_file(std::string line) {
    constexpr std::string_view suffix = ".cl:", kernel = "<kernel>:";
    for (std::size_t at = line.find('/'); at != std::string::npos; at = line.find('/', at + 1)) {
        const std::size_t end = line.find_first_of(" :", at);
        if ((at > 0 && line[at - 1] != ' ') || end == std::string::npos || end < at + suffix.size() ||
            line.compare(end + 1 - suffix.size(), suffix.size(), suffix) != 0)
            continue;
        line.replace(at, end + 1 - at, kernel);
    }
    return line;
}

/// The lines of a build log that speak of the kernel's text. A .cl file of ours is named by its path in the repository,
/// see EmbedText.cmake; one with an absolute path is the driver's own and holds a text that has no file.
std::string compiler_lines(const std::string& log, const std::string& text) {
    std::string lines, line;
    for (std::istringstream all(log); std::getline(all, line);)
        if (!line.empty() && !is_chatter(line))
            lines += (lines.empty() ? "" : "\n") + with_file(without_drivers_file(line), text);
    return lines.empty() ? log : lines;
}

/// The text as a preprocessor makes it that knows none of the devices, so that a grader's compilers all get the same
/// one: where GPULAB_PREPROCESS says so, and the text itself elsewhere. @throws BuildError as a compiler
std::string preprocessed(const std::string& source, const std::string& options) {
    if (!std::getenv("GPULAB_PREPROCESS")) return source;
    const std::filesystem::path folder = std::filesystem::temp_directory_path();
    const std::string in = folder / "gpulab-kernel", out = in + ".i", log = in + ".log";
    // A file that is asked for may be another one beside a tool, or tell of it.
    std::ofstream(in) << "#pragma GCC poison __has_include __has_include_next __has_embed\n#line 1 \"<kernel>\"\n"
                      << source;
    std::string command = "ulimit -t 10; ulimit -v 2000000; exec cpp -undef -trigraphs -nostdinc -w "
                          "-D__OPENCL_VERSION__=120 -D__OPENCL_C_VERSION__=120"
                          " -DCL_VERSION_1_0=100 -DCL_VERSION_1_1=110 -DCL_VERSION_1_2=120 -D__ENDIAN_LITTLE__=1"
                          " -Dcl_khr_fp64=1 -Dcl_khr_byte_addressable_store=1";
    std::istringstream words(options);
    for (std::string word; words >> word;)
        if (word.starts_with("-D")) command += " '" + word + "'";
    const int code = std::system((command + " '" + in + "' '" + out + "' 2>'" + log + "'").c_str());
    if (code == 127 << 8) return source; // there is none
    const auto text_of = [](const std::string& name) {
        std::ifstream file(name);
        return std::string{std::istreambuf_iterator<char>(file), {}};
    };
    if (code != 0) throw BuildError("an OpenCL kernel does not compile:\n" + compiler_lines(text_of(log), source));
    const std::string text = text_of(out);
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);)
        if (line.starts_with("# ") && line.find("\" 1") != std::string::npos)
            throw BuildError("an OpenCL kernel does not compile: #include names no file here");
    return text;
}

std::map<int, std::unique_ptr<OpenClContext>>& contexts() {
    static auto* const all = new std::map<int, std::unique_ptr<OpenClContext>>; // never destroyed, as above
    return *all;
}

thread_local OpenClContext* current = nullptr;

} // namespace

namespace detail {

std::function<void(const std::function<void()>&)> run_compiler = [](const std::function<void()>& compile) {
    compile();
};

Found find_opencl_devices() {
    Found found;
    const std::string places = told_places();
    std::vector<std::pair<cl::Platform, std::string>> platforms;
    {
        std::optional<WorkingVendors> working;
        if (has_failed(unknown_platform)) working.emplace();
        if (!given_up(unknown_platform)) {
            opencl_works(unknown_platform, searching);
            platforms = named_platforms();
            opencl_rests();
        }
    }
    if (const std::vector<Aborted> aborted = aborted_opencl(); !aborted.empty())
        found.why_none = fmt::format("{} {}", aborted.back().platform, aborted.back().what);
    else if (platforms.empty())
        found.why_none = places.empty() ? "no OpenCL platform (install pocl-opencl-icd to run on the CPU)"
                                        : "no OpenCL platform where the environment says that they are: " + places;
    for (const auto& [platform, name] : platforms) {
        if (given_up(name)) continue;
        if (name == pocl) {
            take_pocl_cache();
            if (const std::string small = small_stack(), full = full_pocl_cache(); !(small + full).empty()) {
                found.why_none = small.empty() ? full : small;
                continue;
            }
        }
        opencl_works(name, searching);
        std::vector<cl::Device> here;
        try {
            platform.getDevices(CL_DEVICE_TYPE_ALL, &here);
        } catch (const cl::Error&) { // a platform without devices says so by an error
        }
        for (const cl::Device& handle : here) {
            Device device;
            device.backend = Backend::opencl;
            device.index = static_cast<int>(found.devices.size());
            device.name = trimmed(info_of<CL_DEVICE_NAME>(handle));
            device.platform = name;
            device.l2_bytes = info_of<CL_DEVICE_GLOBAL_MEM_CACHE_SIZE>(handle);
            device.compute_units = std::max(1, static_cast<int>(info_of<CL_DEVICE_MAX_COMPUTE_UNITS>(handle)));
            device.fp64 = info_of<CL_DEVICE_DOUBLE_FP_CONFIG>(handle) != 0;
            device.is_cpu = (info_of<CL_DEVICE_TYPE>(handle) & CL_DEVICE_TYPE_CPU) != 0;
            device.memory_bytes = info_of<CL_DEVICE_GLOBAL_MEM_SIZE>(handle);
            if (device.is_cpu) device.memory_bytes = std::min<std::uint64_t>(device.memory_bytes, host_memory_bytes());
            std::vector<std::size_t> most = info_of<CL_DEVICE_MAX_WORK_ITEM_SIZES>(handle);
            most.resize(2); // no group here has more dimensions
            most.push_back(info_of<CL_DEVICE_MAX_WORK_GROUP_SIZE>(handle));
            device.max_group = static_cast<int>(*std::ranges::min_element(most));
            found.devices.push_back(device);
            handles().push_back(handle);
        }
    }
    opencl_rests();
    if (found.devices.empty() && found.why_none.empty()) found.why_none = "OpenCL platforms without a device";
    return found;
}

void use_opencl_device(const Device& device) {
    static std::mutex mutex;
    const std::lock_guard lock(mutex);
    auto& slot = contexts()[device.index];
    opencl_works(device.platform, now_doing);
    if (!slot) {
        try {
            slot = std::make_unique<OpenClContext>(device);
        } catch (const cl::Error& e) {
            throw Unsupported(fmt::format("{} cannot be used: {}", device.name, message_of(e)));
        }
    }
    current = slot.get();
}

namespace {

/// Up to this many bytes a buffer and its bands are written, and read, by one command: a blocking command takes 15 us
/// on an H200 however few bytes it has, and tests make a million small buffers.
constexpr std::size_t max_piece = std::size_t{64} << 10;

/// Memory for `bytes`, guarded by bands of a value; neither is set.
GuardedMemory allocate_guarded(std::size_t bytes, unsigned char guard_value) {
    GuardedMemory memory;
    memory.queue = opencl().queue();
    memory.guard = guard_bytes();
    memory.guard_value = guard_value;
    const std::size_t window = std::max<std::size_t>(bytes, 1); // OpenCL has no empty buffers
    memory.whole = cl::Buffer(opencl().context(), CL_MEM_READ_WRITE, window + 2 * memory.guard);
    if (memory.guard > 0) {
        cl_buffer_region region{memory.guard, window};
        memory.window = memory.whole.createSubBuffer(CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &region);
    } else {
        memory.window = memory.whole;
    }
    return memory;
}

/// Writes what is given and the bands around it.
void write_in_one_piece(const GuardedMemory& memory, const std::vector<unsigned char>& content) {
    std::vector<unsigned char> all(content.size() + 2 * memory.guard, memory.guard_value);
    std::ranges::copy(content, all.begin() + static_cast<std::ptrdiff_t>(memory.guard));
    memory.queue.enqueueWriteBuffer(memory.whole, CL_TRUE, 0, all.size(), all.data());
}

void lay_bands(const GuardedMemory& memory, std::size_t bytes) {
    if (memory.guard == 0) return;
    const std::vector<unsigned char> band(memory.guard, memory.guard_value);
    memory.queue.enqueueWriteBuffer(memory.whole, CL_TRUE, 0, band.size(), band.data());
    memory.queue.enqueueWriteBuffer(memory.whole, CL_TRUE, memory.guard + bytes, band.size(), band.data());
}

} // namespace

GuardedMemory guarded_memory(std::size_t bytes, unsigned char fill) {
    GuardedMemory memory = allocate_guarded(bytes, band_bytes.output);
    if (memory.guard > 0 && bytes <= max_piece) {
        write_in_one_piece(memory, std::vector<unsigned char>(bytes, fill));
        return memory;
    }
    lay_bands(memory, bytes);
    poison_memory(memory, bytes, fill, memory.queue);
    memory.queue.finish();
    return memory;
}

GuardedMemory input_memory(const void* host, std::size_t bytes) {
    GuardedMemory memory = allocate_guarded(bytes, band_bytes.input);
    if (memory.guard > 0 && bytes <= max_piece) {
        const auto* const first = static_cast<const unsigned char*>(host);
        write_in_one_piece(memory, std::vector<unsigned char>(first, first + bytes));
    } else {
        lay_bands(memory, bytes);
        write_memory(memory, bytes, host);
        memory.queue.finish();
    }
    if (input_copies)
        input_copies->add(host, [memory](std::size_t offset, const void* from, std::size_t size) {
            memory.queue.enqueueWriteBuffer(memory.window, CL_TRUE, offset, size, from);
        });
    return memory;
}

void poison_memory(const GuardedMemory& memory, std::size_t bytes, unsigned char fill, const cl::CommandQueue& queue,
                   std::size_t piece) {
    if (bytes == 0) return;
    if (memory.guard == 0) {
        // oclgrind 21.10 keeps taking memory that enqueueFillBuffer filled for unset, even after a kernel has written
        // it, so that the next kernel's reads are called uninitialized. A write from the host it understands.
        const std::vector<unsigned char> content(bytes, fill);
        queue.enqueueWriteBuffer(memory.window, CL_TRUE, 0, bytes, content.data());
    } else {
        // NVIDIA's enqueueFillBuffer (driver 580) counts offset and size in 32 bits: from 4 GiB on it fills somewhere
        // else, or breaks the context. So it is given pieces, each from its own beginning.
        cl::Buffer whole = memory.whole; // `window` is itself a sub-buffer, which can have none
        for (std::size_t first = 0; first < bytes; first += piece) {
            cl_buffer_region region{memory.guard + first, std::min(piece, bytes - first)};
            queue.enqueueFillBuffer(whole.createSubBuffer(CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &region),
                                    fill, 0, region.size);
        }
    }
}

void read_memory(const GuardedMemory& from, std::size_t bytes, void* host) {
    if (bytes > 0) from.queue.enqueueReadBuffer(from.window, CL_TRUE, 0, bytes, host);
}

void write_memory(const GuardedMemory& to, std::size_t bytes, const void* host) {
    if (bytes > 0) to.queue.enqueueWriteBuffer(to.window, CL_TRUE, 0, bytes, host);
}

void check_guards(const GuardedMemory& memory, std::size_t bytes, std::size_t element_bytes) {
    if (memory.guard == 0) return;
    if (bytes <= max_piece) {
        std::vector<unsigned char> all(bytes + 2 * memory.guard);
        memory.queue.enqueueReadBuffer(memory.whole, CL_TRUE, 0, all.size(), all.data());
        gpulab::check_guards(all.data(), all.data() + memory.guard + bytes, memory.guard, element_bytes,
                             memory.guard_value);
        return;
    }
    std::vector<unsigned char> before(memory.guard), after(memory.guard);
    memory.queue.enqueueReadBuffer(memory.whole, CL_TRUE, 0, memory.guard, before.data());
    memory.queue.enqueueReadBuffer(memory.whole, CL_TRUE, memory.guard + bytes, memory.guard, after.data());
    gpulab::check_guards(before.data(), after.data(), memory.guard, element_bytes, memory.guard_value);
}

} // namespace detail

OpenClContext::OpenClContext(const Device& device)
    : OpenClContext(device, handles().at(static_cast<std::size_t>(device.index))) {}

OpenClContext::OpenClContext(const Device& description, const cl::Device& device)
    : description_(description), device_(device), context_(device_),
      queue_(context_, device_, CL_QUEUE_PROFILING_ENABLE) {}

std::vector<OpenClContext*> opencl_parts(const Device& device, std::size_t count) {
    static std::mutex mutex;
    static auto* const made = new std::map<int, std::vector<std::unique_ptr<OpenClContext>>>; // never destroyed
    const std::lock_guard lock(mutex);
    std::vector<std::unique_ptr<OpenClContext>>& parts = (*made)[device.index];
    if (parts.empty()) {
        cl::Device whole = handles().at(static_cast<std::size_t>(device.index));
        std::vector<cl::Device> cut;
        if (device.is_cpu && device.compute_units > 1) {
            const cl_device_partition_property equally[] = {CL_DEVICE_PARTITION_EQUALLY, 1, 0};
            try {
                whole.createSubDevices(equally, &cut);
            } catch (const cl::Error&) { // it cannot be cut
                cut.clear();
            }
        }
        if (cut.empty()) cut.push_back(whole);
        for (const cl::Device& part : cut) {
            Device description = device;
            description.compute_units = static_cast<int>(part.getInfo<CL_DEVICE_MAX_COMPUTE_UNITS>());
            parts.push_back(std::make_unique<OpenClContext>(description, part));
        }
    }
    std::vector<OpenClContext*> chosen;
    for (std::size_t i = 0; i < count; ++i) chosen.push_back(parts[i % parts.size()].get());
    return chosen;
}

UseOpenCl::UseOpenCl(OpenClContext& context) : before_(current) { current = &context; }
UseOpenCl::~UseOpenCl() { current = before_; }

const cl::Program& OpenClContext::program(const std::string& source, const std::string& options) {
    const std::string key = options + '\n' + source;
    const auto known = programs_.find(key);
    if (known != programs_.end()) return known->second;
    if (const std::string full = description_.platform == pocl ? full_pocl_cache() : ""; !full.empty())
        throw Error(full); // by now
    cl::Program program(context_, preprocessed(source, options));
    try {
        detail::run_compiler(
            [&] { program.build({device_}, ("-cl-std=CL1.2 -cl-kernel-arg-info " + options).c_str()); });
    } catch (const cl::Error& e) {
        const std::string log = trimmed(program.getBuildInfo<CL_PROGRAM_BUILD_LOG>(device_));
        throw BuildError(fmt::format("an OpenCL kernel does not compile for {}:\n{}", description_.name,
                                     log.empty() ? opencl_error_name(e.err()) + ", and the driver gives no log"
                                                 : compiler_lines(log, source)));
    }
    return programs_.emplace(key, program).first->second;
}

std::size_t OpenClContext::max_work_group(const cl::Kernel& kernel) const {
    return kernel.getWorkGroupInfo<CL_KERNEL_WORK_GROUP_SIZE>(device_);
}

OpenClContext& opencl() {
    if (!current) {
        if (devices(Backend::opencl).empty()) throw Unsupported(why_no_devices(Backend::opencl));
        use(devices(Backend::opencl).front());
    }
    return *current;
}

cl::Kernel opencl_kernel(const std::string& source, const char* name, const std::string& options) {
    const cl::Program& program = opencl().program(source, options);
    try {
        return cl::Kernel(program, name);
    } catch (const cl::Error& e) {
        std::string message = fmt::format("OpenCL kernel '{}': {}", name, opencl_error_name(e.err()));
        if (e.err() == CL_INVALID_KERNEL_NAME) {
            std::string kernels = program.getInfo<CL_PROGRAM_KERNEL_NAMES>();
            std::replace(kernels.begin(), kernels.end(), ';', ' ');
            message += fmt::format(": there is none of this name; the text has {}", kernels.empty() ? "none" : kernels);
        }
        throw Error(message);
    }
}

void detail::argument_refused(const cl::Kernel& kernel, cl_uint index, const cl::Error& error) {
    std::string wanted;
    try { // not all drivers keep what the text declares
        const auto text = [](std::string name) { return trimmed(std::move(name)); };
        wanted = fmt::format("; the kernel declares {} arguments", kernel.getInfo<CL_KERNEL_NUM_ARGS>());
        wanted += fmt::format(", this one as '{} {}'", text(kernel.getArgInfo<CL_KERNEL_ARG_TYPE_NAME>(index)),
                              text(kernel.getArgInfo<CL_KERNEL_ARG_NAME>(index)));
    } catch (const cl::Error&) {
    }
    throw Error(fmt::format("OpenCL kernel '{}' does not take the host's argument {}, counted from 1: {}{}",
                            trimmed(kernel.getInfo<CL_KERNEL_FUNCTION_NAME>()), index + 1,
                            opencl_error_name(error.err()), wanted));
}

std::string opencl_error_name(cl_int code) {
    switch (code) {
#define GPULAB_NAME(name) \
    case name: return #name
        GPULAB_NAME(CL_DEVICE_NOT_FOUND);
        GPULAB_NAME(CL_DEVICE_NOT_AVAILABLE);
        GPULAB_NAME(CL_COMPILER_NOT_AVAILABLE);
        GPULAB_NAME(CL_MEM_OBJECT_ALLOCATION_FAILURE);
        GPULAB_NAME(CL_OUT_OF_RESOURCES);
        GPULAB_NAME(CL_OUT_OF_HOST_MEMORY);
        GPULAB_NAME(CL_PROFILING_INFO_NOT_AVAILABLE);
        GPULAB_NAME(CL_BUILD_PROGRAM_FAILURE);
        GPULAB_NAME(CL_MISALIGNED_SUB_BUFFER_OFFSET);
        GPULAB_NAME(CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
        GPULAB_NAME(CL_INVALID_VALUE);
        GPULAB_NAME(CL_INVALID_DEVICE);
        GPULAB_NAME(CL_INVALID_CONTEXT);
        GPULAB_NAME(CL_INVALID_MEM_OBJECT);
        GPULAB_NAME(CL_INVALID_KERNEL_NAME);
        GPULAB_NAME(CL_INVALID_KERNEL_ARGS);
        GPULAB_NAME(CL_INVALID_ARG_INDEX);
        GPULAB_NAME(CL_INVALID_ARG_VALUE);
        GPULAB_NAME(CL_INVALID_ARG_SIZE);
        GPULAB_NAME(CL_INVALID_WORK_DIMENSION);
        GPULAB_NAME(CL_INVALID_WORK_GROUP_SIZE);
        GPULAB_NAME(CL_INVALID_WORK_ITEM_SIZE);
        GPULAB_NAME(CL_INVALID_BUFFER_SIZE);
        GPULAB_NAME(CL_INVALID_GLOBAL_WORK_SIZE);
#undef GPULAB_NAME
    default: return fmt::format("OpenCL error {}", code);
    }
}

} // namespace gpulab
