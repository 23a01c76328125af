#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "misspelt.cl.hpp"
#include "misspelt_below_ifdef.cl.hpp"

#include "gpulab/opencl/buffer.hpp"
#include "gpulab/opencl/timing.hpp"
#include "gpulab_testing/testing.hpp"

using gpulab::Backend;
using gpulab::ClBuffer;
using gpulab::testing::devices_or_skip;
using gpulab::testing::each_device;

namespace {

const char* const kernels = "kernel void fill(global int* out, int first, int last, int value) {\n"
                            "    const int i = first + (int)get_global_id(0);\n"
                            "    if (i < last) out[i] = value;\n"
                            "}\n";

/// Writes out[first .. last), which may lie outside.
void fill(const ClBuffer<int>& out, int first, int last, int value) {
    cl::Kernel kernel = gpulab::opencl_kernel(kernels, "fill");
    gpulab::set_args(kernel, out.data(), first, last, value);
    gpulab::Stopwatch once;
    gpulab::watch_queue(once, [&](const cl::CommandQueue& queue, gpulab::ClEvents& events) {
        queue.enqueueNDRangeKernel(kernel, cl::NullRange, cl::NDRange(64), cl::NullRange, nullptr, events.add());
    });
    CHECK(once.kernel().repeats == 1);
}

// A small buffer is written and read together with its guard bands, one of more than 64 KiB in parts.
const std::vector<int> lengths = {10, (64 << 10) / sizeof(int) - 1, (64 << 10) / sizeof(int),
                                  (64 << 10) / sizeof(int) + 1};

} // namespace

TEST_CASE("descriptions of OpenCL devices match the driver's, in its order", "[opencl]") {
    devices_or_skip(Backend::opencl);
    const auto& devices = gpulab::devices(Backend::opencl); // all of them, also where tests use GPUs only
    std::vector<cl::Platform> platforms;
    cl::Platform::get(&platforms);
    std::size_t i = 0;
    for (const cl::Platform& platform : platforms) {
        std::vector<cl::Device> here;
        try {
            platform.getDevices(CL_DEVICE_TYPE_ALL, &here);
        } catch (const cl::Error&) { // it has none
        }
        for (const cl::Device& handle : here) {
            REQUIRE(i < devices.size());
            const gpulab::Device& told = devices[i];
            CHECK(told.backend == Backend::opencl);
            CHECK(told.index == static_cast<int>(i));
            CHECK(told.id() == "opencl:" + std::to_string(i));
            CHECK(handle.getInfo<CL_DEVICE_NAME>().starts_with(told.name));
            CHECK_FALSE(told.name.empty());
            CHECK(platform.getInfo<CL_PLATFORM_NAME>().starts_with(told.platform));
            CHECK_FALSE(told.platform.empty());
            std::uint64_t memory = handle.getInfo<CL_DEVICE_GLOBAL_MEM_SIZE>();
            if (told.is_cpu) memory = std::min(memory, gpulab::host_memory_bytes()); // of a container, less
            CHECK(told.memory_bytes == memory);
            CHECK(static_cast<std::size_t>(told.max_group) <= handle.getInfo<CL_DEVICE_MAX_WORK_GROUP_SIZE>());
            CHECK(told.max_group > 0);
            CHECK(told.l2_bytes == handle.getInfo<CL_DEVICE_GLOBAL_MEM_CACHE_SIZE>());
            CHECK(told.compute_units == static_cast<int>(handle.getInfo<CL_DEVICE_MAX_COMPUTE_UNITS>()));
            CHECK(told.fp64 == (handle.getInfo<CL_DEVICE_EXTENSIONS>().find("cl_khr_fp64") != std::string::npos));
            CHECK(told.is_cpu == (handle.getInfo<CL_DEVICE_TYPE>() == CL_DEVICE_TYPE_CPU));
            gpulab::use(told);
            CHECK(gpulab::opencl().device()() == handle());
            CHECK(gpulab::opencl().description().id() == told.id());
            ++i;
        }
    }
    CHECK(i == devices.size());
}

TEST_CASE("an OpenCL buffer carries data to the device and back, one not written is poisoned, one may be empty",
          "[opencl]") {
    each_device(Backend::opencl);
    for (const int length : lengths) {
        const std::size_t n = static_cast<std::size_t>(length);
        std::vector<int> numbers(n), copied(n);
        std::iota(numbers.begin(), numbers.end(), 1);
        ClBuffer<int>(numbers).copy_to(copied);
        CHECK(copied == numbers);
        std::vector<float> out(n, 1);
        ClBuffer<float>(n).copy_to(out);
        CHECK(std::ranges::all_of(out, [](float v) { return std::isnan(v); }));
    }
    std::vector<float> none;
    CHECK_NOTHROW(ClBuffer<float>(0).copy_to(none));
    CHECK_NOTHROW(ClBuffer<float>(none).copy_to(none));
    ClBuffer<int> buffer(3);
    for (const std::size_t length : {0, 2, 4}) {
        std::vector<int> wrong_length(length);
        CHECK_THROWS_AS(buffer.copy_to(wrong_length), gpulab::Error);
        CHECK_THROWS_AS(buffer.copy_from(wrong_length), gpulab::Error);
    }
}

TEST_CASE("a kernel that does not compile is reported by its file and line, without the driver's own files",
          "[opencl]") {
    const gpulab::Device& device = each_device(Backend::opencl);
    const auto message = [](const std::string& text, const std::string& options) {
        return gpulab::testing::message_of<gpulab::BuildError>(
            [&] { gpulab::opencl_kernel(text, "misspelt", options); });
    };
    using Catch::Matchers::ContainsSubstring, Catch::Matchers::StartsWith;
    const std::string begin = "an OpenCL kernel does not compile for " + device.name + ":\n";
    const std::string commented = message(misspelt_cl, "");
    CHECK_THAT(commented, StartsWith(begin) && ContainsSubstring("tests/common/misspelt.cl:4:"));
    CHECK_THAT(message(misspelt_below_ifdef_cl, "-DUNUSED=1"),
               StartsWith(begin) && ContainsSubstring("tests/common/misspelt_below_ifdef.cl:4:"));
    // Texts put together: each part keeps its own lines.
    CHECK_THAT(message(std::string("#define REAL float\n#define TILE 16\n") + misspelt_cl, ""),
               ContainsSubstring("tests/common/misspelt.cl:4:"));
    CHECK_THROWS_MATCHES(gpulab::opencl_kernel(kernels, "no_such_kernel"), gpulab::Error,
                         Catch::Matchers::MessageMatches(ContainsSubstring("no_such_kernel")));
    // A text without a file: its line is all there is to say.
    const std::string nameless = message("kernel void misspelt(global int* out) {\n    out[0] = undeclared;\n}\n", "");
    CHECK_THAT(nameless, ContainsSubstring(":2:") && ContainsSubstring("undeclared"));
    for (const char* const of_driver : {"temp", "/.cache/", "failed to build", " generated."}) {
        CHECK_THAT(commented, !ContainsSubstring(of_driver));
        CHECK_THAT(nameless, !ContainsSubstring(of_driver));
    }
}

TEST_CASE("a stray write of an OpenCL kernel is a wrong result, noted when the buffer goes unless it was thrown before",
          "[opencl]") {
    if (gpulab::guard_bytes() == 0) SKIP("without guard bands there is nothing to see a stray write with");
    each_device(Backend::opencl);
    std::vector<int> out(10);
    ClBuffer<int> inside(10), before(10);
    fill(inside, 0, 10, 7);
    CHECK_NOTHROW(inside.copy_to(out));
    CHECK(out == std::vector<int>(10, 7));
    fill(before, -1, 10, 7);
    CHECK_THROWS_AS(before.copy_to(out), gpulab::WrongResult);
    const auto guard = static_cast<int>(gpulab::guard_bytes() / sizeof(int)); // elements of a guard band
    for (const int n : lengths) {
        const auto noted = [n](int first, int last) { // by an input of n elements that a kernel wrote to
            gpulab::take_stray_write();
            {
                const ClBuffer<int> input(std::vector<int>(static_cast<std::size_t>(n), 1));
                fill(input, first, last, 7);
            }
            return gpulab::take_stray_write();
        };
        CHECK(noted(0, n) == "");
        CHECK(noted(n, n + 1) == "the kernel wrote past the end of a buffer (1 elements past the last)");
        CHECK(noted(n - 1 + guard, n + guard) ==
              "the kernel wrote past the end of a buffer (" + std::to_string(guard) + " elements past the last)");
        CHECK(noted(-1, 0) == "the kernel wrote before the start of a buffer (1 elements before)");
        CHECK(noted(-guard, 1 - guard) ==
              "the kernel wrote before the start of a buffer (" + std::to_string(guard) + " elements before)");
    }
    // What a damaged buffer, whose damage was thrown, still notes when it goes after this.
    const auto noted_after = [&](const auto& then) {
        {
            ClBuffer<int> damaged(10);
            fill(damaged, 0, 11, 7);
            CHECK_THROWS_AS(damaged.copy_to(out), gpulab::WrongResult);
            then(damaged);
        }
        return gpulab::take_stray_write();
    };
    CHECK(noted_after([](ClBuffer<int>& damaged) { // the next variant is not blamed for it
              ClBuffer<int> moved(std::move(damaged)), assigned(1);
              assigned = std::move(moved);
          }) == "");
    CHECK(noted_after([](ClBuffer<int>& damaged) { // what was told of goes with the memory
              CHECK_THROWS_AS(damaged.check_guard_bands(), gpulab::WrongResult); // still seen by who looks again
              ClBuffer<int> fresh(10);
              std::swap(damaged, fresh);
          }) == "");
    CHECK(noted_after([](ClBuffer<int>& damaged) {
              ClBuffer<int> fresh(10);
              std::swap(damaged, fresh);
              fill(damaged, 0, 11, 7);
          }) != "");
}

TEST_CASE("a buffer is poisoned in pieces, all of it and nothing beside it", "[opencl]") {
    each_device(Backend::opencl);
    const cl::CommandQueue& queue = gpulab::opencl().queue();
    for (const std::size_t bytes : {1, 4095, 4096, 4097, 3 * 4096, 3 * 4096 + 100}) {
        const auto memory = gpulab::detail::guarded_memory(bytes, 1);
        std::vector<unsigned char> content(bytes);
        gpulab::detail::poison_memory(memory, bytes, 7, queue, 4096);
        queue.finish();
        gpulab::detail::read_memory(memory, bytes, content.data());
        CHECK(content == std::vector<unsigned char>(bytes, 7));
        CHECK_NOTHROW(gpulab::detail::check_guards(memory, bytes, 1));
    }
}

TEST_CASE("a kernel in an OpenCL buffer of exact size is clean, for oclgrind", "[.oclgrind]") {
    gpulab::use(devices_or_skip(Backend::opencl).front());
    std::vector<int> out(10);
    const ClBuffer<int> inside(10);
    fill(inside, 0, 10, 7);
    inside.copy_to(out);
    CHECK(out == std::vector<int>(10, 7));
}

namespace {

const char* const planted = "kernel void race(global int* out) { out[0] = (int)get_global_id(0); }\n"
                            "kernel void stray(global int* out) { out[64 + get_global_id(0)] = 1; }\n"
                            "kernel void unset(global int* out) {\n"
                            "    local int shared_value[64];\n"
                            "    out[get_global_id(0)] = shared_value[63 - get_local_id(0)] > 0 ? 1 : 2;\n"
                            "}\n";

/// Runs one of the kernels above, whose mistake oclgrind must find. Only under oclgrind.
void run_planted(const char* name) {
    gpulab::use(devices_or_skip(Backend::opencl).front());
    const ClBuffer<int> out(64);
    cl::Kernel kernel = gpulab::opencl_kernel(planted, name);
    gpulab::set_args(kernel, out.data());
    gpulab::Stopwatch once;
    gpulab::watch_queue(once, [&](const cl::CommandQueue& queue, gpulab::ClEvents& events) {
        queue.enqueueNDRangeKernel(kernel, cl::NullRange, cl::NDRange(64), cl::NDRange(64), nullptr, events.add());
    });
    CHECK(once.kernel().repeats == 1);
}

} // namespace

TEST_CASE("a kernel whose items all write one element, for oclgrind", "[.planted-race]") { run_planted("race"); }
TEST_CASE("a kernel that writes past its buffer, for oclgrind", "[.planted-stray]") { run_planted("stray"); }
TEST_CASE("a kernel that reads unset local memory, for oclgrind", "[.planted-unset]") { run_planted("unset"); }

TEST_CASE("what an OpenCL kernel reads outside a buffer is NaN, or what GuardBands says", "[opencl]") {
    if (gpulab::guard_bytes() == 0) SKIP("without guard bands there is nothing to read");
    each_device(Backend::opencl);
    const auto read = [](const cl::Buffer& from, int i) { // from[i], and then the poison that takes its place
        cl::Kernel kernel = gpulab::opencl_kernel(
            "kernel void get(global const float* in, int i, global float* out) { out[0] = in[i]; }", "get");
        const ClBuffer<float> result(1);
        gpulab::set_args(kernel, from, i, result.data());
        gpulab::opencl().queue().enqueueNDRangeKernel(kernel, cl::NullRange, cl::NDRange(1));
        std::vector<float> out(1), poisoned(1);
        result.copy_to(out);
        result.poison_async(gpulab::opencl().queue());
        result.copy_to(poisoned);
        CHECK(std::isnan(poisoned[0]));
        return out[0];
    };
    for (const int n : lengths) {
        const ClBuffer<float> usual(std::vector<float>(static_cast<std::size_t>(n), 1));
        CHECK(read(usual.data(), n - 1) == 1);
        const gpulab::GuardBands bands(gpulab::low_guard_byte);
        const ClBuffer<float> in(std::vector<float>(static_cast<std::size_t>(n), 1));
        const ClBuffer<float> between(static_cast<std::size_t>(n));
        for (const int i : {-1, n}) {
            CHECK(std::isnan(read(usual.data(), i)));
            CHECK(read(in.data(), i) < -1e38f);
            CHECK(read(between.data(), i) < -1e38f);
        }
        CHECK_NOTHROW(in.check_guard_bands());
        CHECK_NOTHROW(between.check_guard_bands());
    }
}
