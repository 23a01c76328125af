/// @file
/// What each back end implements for device.hpp and ceilings.hpp. Inside the common library only.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <functional>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gpulab/ceilings.hpp"
#include "gpulab/device.hpp"
#include "gpulab/gpu_state.hpp"

namespace gpulab::detail {

/// The devices of one back end, or none and the reason.
struct Found {
    std::vector<Device> devices;
    std::string why_none;
};

std::string lower(std::string text); ///< in lower case

Found find_cuda_devices();
/// See emulated.cpp.
void choose_cuda_runtime();
/// See processor.cpp.
void check_processor();
/// Whether a device of this compute capability (10 * major + minor) runs what was compiled for CMake's
/// CUDA_ARCHITECTURES, such as "80-real,90-virtual": machine code on devices of the same major number, PTX on all newer
/// ones.
bool built_for(std::string_view architectures, int capability);
void use_cuda_device(const Device& device);
/// Fills what CUDA knows of a GPU; then, by its place on the bus, what NVIDIA's management library knows.
void ask_cuda(const Device& device, GpuState& state);
void ask_driver(GpuState& state);

Found find_opencl_devices();
void use_opencl_device(const Device& device);

/// A platform, or a vendor's file, whose library ended an earlier start of this run or did not answer, and in what:
/// "ended the program in opencl_raw".
struct Aborted {
    std::string platform, what;
};
inline constexpr const char* searching = "the search for devices"; ///< what is no rung
std::vector<Aborted> aborted_opencl();
bool aborted_in_a_rung();                   ///< and not in the search for devices
bool given_up(const std::string& platform); ///< it has failed in a rung, or in the search twice
void remember(const Aborted& one);          ///< in later starts
/// What goes wrong in a search for devices that a child makes: "ended the program", "does not answer", or "".
std::string fault_in_a_child(const std::function<void()>& search);
/// From now on, an abort() while OpenCL works starts the program again. @param argv of main
void survive_opencl(char* const* argv);
void opencl_works(const std::string& platform, const std::string& what); ///< until opencl_rests()
void opencl_rests();
extern std::string now_doing; ///< for messages: the rung that runs

/// A write beyond `ulimit -f` then fails, and the program says so; else the signal would end it.
void ignore_file_size_signal();
extern int first_stdout; ///< where results go instead of the table, or -1
void flush_so_far();     ///< stdout; flush_stdout() tells at the end why that failed

/// What the control group of this process, a container or a job, leaves it of the machine; 0: all.
struct Share {
    double cores = 0;
    std::uint64_t memory_bytes = 0;
};
Share share_of_machine(const std::string& root = ""); ///< @param root what /proc and /sys are below; a test has others

/// Measures one ceiling of a device: GB/s of a copy for Arithmetic::none, else GFLOP/s.
using Measure = double(const Device& device, Arithmetic kind);
Measure measure_cpu, measure_opencl, measure_cuda;
Measure& measure_of(Backend backend);

/// How many times less work than usual measures a ceiling: 64 with GPULAB_TEST_CEILINGS in the environment, for tests
/// that start a program and look at none of its rates; else 1.
inline std::size_t ceilings_divisor() { return std::getenv("GPULAB_TEST_CEILINGS") ? 64 : 1; }

/// The ceilings of devices, each measured when it is first asked for.
class KeptCeilings {
public:
    explicit KeptCeilings(std::function<Measure> measure) : measure_(std::move(measure)) {}

    /// See ceilings(). The reference stays valid.
    const Ceilings& of(const Device& device, Arithmetic arithmetic);

private:
    std::function<Measure> measure_;
    std::mutex mutex_;
    std::map<std::string, Ceilings> known_; // by Device::id()
};

/// Runs work(thread) for thread = 0 ... threads - 1, all at once. @return milliseconds from the first one's start to
/// the last one's end
double ms_on_threads(int threads, const std::function<void(int)>& work);

/// Runs work(thread) on that many threads at once and returns the time in milliseconds: ms_on_threads().
using RoundTimer = std::function<double(int threads, const std::function<void(int)>& work)>;

/// Bytes of the array that the CPU copies: more than its caches hold, and 1/32 of the main memory where that is enough.
std::size_t cpu_copy_bytes(std::uint64_t memory_bytes);

double cpu_copy_gb_per_s(const RoundTimer& round, std::size_t bytes = cpu_copy_bytes(host_memory_bytes()),
                         int threads = hardware_threads());
inline constexpr std::int64_t cpu_steps = 1'000'000;
double cpu_gflop_per_s(Arithmetic kind, const RoundTimer& round, std::int64_t steps = cpu_steps,
                       int threads = hardware_threads());

/// Copies the share of one of `threads` threads.
void copy_share(std::span<const char> from, std::span<char> to, int thread, int threads);

/// Independent chains of multiply-adds that cpu_multiply_adds() computes in one thread: enough to cover the latency of
/// one, few enough for the registers.
template <class T> inline constexpr int cpu_chains = 256 / sizeof(T);

/// Chain j begins with j + thread, and each step makes x to 0.999 x + 0.001. @return the sum of all chains
template <class T> T cpu_multiply_adds(int thread, std::int64_t steps);

} // namespace gpulab::detail
