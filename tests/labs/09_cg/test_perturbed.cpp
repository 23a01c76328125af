// Commands of the OpenCL rungs that begin late, those that empty a cache, and those that try numbers of groups. On an
// idle machine a missing wait rarely does harm; when a copy or a kernel is late, everything that should wait for it and
// does not gives a wrong answer.
//
// The linker replaces the functions that give a command to a queue by those below (`-Wl,--wrap`, see CMakeLists.txt).
#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <cstdlib>
#include <iterator>
#include <limits>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "gpulab/jobs.hpp"
#include "gpulab/opencl/timing.hpp"
#include "gpulab/threads.hpp"
#include "gpulab_testing/program.hpp"
#include "systems.hpp"

using namespace cg;
using namespace cg::testing;

namespace {

// PoCL 3.1 ends with an assertion when two of its threads begin kernels of two queues at the same time. In a process
// with one thread it does not.
[[maybe_unused]] const bool one_thread = ::setenv("POCL_MAX_PTHREAD_COUNT", "1", 1) == 0;

constexpr std::chrono::milliseconds delay{2};
constexpr std::size_t none = std::numeric_limits<std::size_t>::max();

std::size_t commands = 0;    // copies and kernels since begin()
std::size_t late_one = none; // the number of the command that is late
std::size_t flushes = 0;     // since begin()
std::set<std::size_t> sizes; // of the kernels since begin(), in work-items
gpulab::Threads releasing;

void begin(std::size_t which = none) {
    commands = flushes = 0;
    sizes.clear();
    late_one = which;
}

/// Counts a command. If it is to be late, it and what follows in its queue wait for an event that a thread sets.
void note(cl_command_queue queue) {
    if (commands++ != late_one) return;
    cl_context context = nullptr;
    clGetCommandQueueInfo(queue, CL_QUEUE_CONTEXT, sizeof context, &context, nullptr);
    const cl_event event = clCreateUserEvent(context, nullptr);
    clEnqueueBarrierWithWaitList(queue, 1, &event, nullptr);
    releasing.start([event] {
        std::this_thread::sleep_for(delay);
        clSetUserEventStatus(event, CL_COMPLETE);
        clReleaseEvent(event);
    });
}

/// Solves a system of three parts with each of the commands late in turn.
/// @return what is wrong, or ""
std::string late_fault(Run<double>* run) {
    auto c = generated<double>("laplace2d:6x9", settings(0, 2), true);
    c.problem.parts = 3;
    const auto solved = [&](std::size_t late) {
        Output<double> out;
        out.x.resize(c.problem.n());
        Stopwatch once;
        gpulab::testing::in_turn([&] {
            begin(late);
            run(c.problem, out, once);
            releasing.join();
        });
        return out;
    };
    (void)solved(none); // tries numbers of groups, and the runs that follow use what it found
    const Output<double> expected = solved(none);
    const std::size_t all = commands;
    if (all < 30) return fmt::format("{} commands", all);
    if (const auto right = compare(c.problem, make_reference(c.problem), expected); !right.passed)
        return "no command is late, and " + right.message;
    for (std::size_t late = 0; late < all; ++late) {
        const Output<double> out = solved(late);
        if (commands != all) return fmt::format("{} commands, then {}", all, commands);
        if (!same_bits(out.history, expected.history) || out.x != expected.x)
            return fmt::format("command {} of {} is late, and the result is another", late + 1, all);
    }
    return "";
}

} // namespace

extern "C" {

decltype(clEnqueueWriteBuffer) __real_clEnqueueWriteBuffer;
decltype(clEnqueueReadBuffer) __real_clEnqueueReadBuffer;
decltype(clEnqueueNDRangeKernel) __real_clEnqueueNDRangeKernel;
decltype(clEnqueueFillBuffer) __real_clEnqueueFillBuffer;

// Blocking copies belong to buffers and their guard bands, or wait for all that is before them.
cl_int __wrap_clEnqueueWriteBuffer(cl_command_queue queue, cl_mem buffer, cl_bool waits, std::size_t first,
                                   std::size_t bytes, const void* host, cl_uint count, const cl_event* before,
                                   cl_event* done) {
    if (!waits) note(queue);
    return __real_clEnqueueWriteBuffer(queue, buffer, waits, first, bytes, host, count, before, done);
}

cl_int __wrap_clEnqueueReadBuffer(cl_command_queue queue, cl_mem buffer, cl_bool waits, std::size_t first,
                                  std::size_t bytes, void* host, cl_uint count, const cl_event* before,
                                  cl_event* done) {
    if (!waits) note(queue);
    return __real_clEnqueueReadBuffer(queue, buffer, waits, first, bytes, host, count, before, done);
}

cl_int __wrap_clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions,
                                     const std::size_t* offset, const std::size_t* global, const std::size_t* local,
                                     cl_uint count, const cl_event* before, cl_event* done) {
    note(queue);
    sizes.insert(*global);
    return __real_clEnqueueNDRangeKernel(queue, kernel, dimensions, offset, global, local, count, before, done);
}

cl_int __wrap_clEnqueueFillBuffer(cl_command_queue queue, cl_mem buffer, const void* pattern, std::size_t length,
                                  std::size_t first, std::size_t bytes, cl_uint count, const cl_event* before,
                                  cl_event* done) {
    if (bytes >= gpulab::flush_bytes(gpulab::Device{})) { // the poison of the small buffers here is shorter
        ++flushes;
        bytes = length; // their number counts here, and each may take a second
    }
    return __real_clEnqueueFillBuffer(queue, buffer, pattern, length, first, bytes, count, before, done);
}

} // extern "C"

TEST_CASE("late commands change no result of the rungs for several OpenCL devices", "[opencl]") {
    for (const gpulab::Device& device : gpulab::testing::devices_or_skip(gpulab::Backend::opencl))
        for (const auto& v : variants<double>()) {
            if (v.backend != gpulab::Backend::opencl || !takes_several_devices(v.name)) continue;
            if (!gpulab::unmet_need(v.needs, device).empty()) continue;
            gpulab::use(device);
            INFO(v.name << " on " << device.name);
            std::string fault;
            try {
                fault = late_fault(v.run);
            } catch (const gpulab::WrongResult& e) {
                fault = e.what();
            }
            CHECK(fault == "");
        }
}

TEST_CASE("opencl_tuned tries one group per compute unit and two, and with many rows perhaps more", "[opencl]") {
    for (const gpulab::Device& device : gpulab::testing::devices_or_skip(gpulab::Backend::opencl))
        for (const char* const matrix : {"laplace2d:6x9", "laplace2d:64"}) {
            gpulab::use(device);
            INFO(matrix << " on " << device.name);
            auto c = generated<float>(matrix, settings(0, 1));
            const gpulab::testing::ScratchFile tuning; // nothing has been found yet
            c.problem.tuning = tuning.path();
            begin();
            solved(c.problem, "opencl_tuned");
            REQUIRE(sizes.size() >= 2);
            CHECK(*std::next(sizes.begin()) == 2 * *sizes.begin());
            if (c.problem.n() < 4096) CHECK(sizes.size() == 2);
        }
}

TEST_CASE("with --flush-l2, OpenCL rungs empty the cache of every part before every run", "[opencl]") {
    for (const gpulab::Device& device : gpulab::testing::devices_or_skip(gpulab::Backend::opencl))
        for (const auto& v : variants<float>()) {
            if (v.backend != gpulab::Backend::opencl) continue;
            gpulab::use(device);
            INFO(v.name << " on " << device.name);
            auto c = generated<float>("laplace2d:6x9", settings(0, 2));
            c.problem.parts = 3;
            for (const bool flush : {false, true}) {
                Output<float> out;
                out.x.resize(c.problem.n());
                Stopwatch watch(0, 2, 0, flush);
                gpulab::testing::in_turn([&] {
                    begin();
                    v.run(c.problem, out, watch);
                });
                // Two timed runs, and one for the times of the kernels.
                CHECK(flushes == (flush ? takes_several_devices(v.name) ? 9 : 3 : 0));
            }
        }
}
