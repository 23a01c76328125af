// An image of more than 2^32 bytes, in one strip, on GPUs that have the memory.
#include <catch2/catch_test_macros.hpp>

#include "checks.hpp"
#include "gpulab_testing/large.hpp"

using gpulab::Backend;

namespace {

void check_variants(Backend backend) {
    for (const auto& [device, n] : gpulab::testing::large_devices_or_skip(backend, 1, 2)) { // floats, four bytes each
        gpulab::use(device);
        const std::size_t width = 65537; // odd, so that the bytes 2^31 and 2^32 further on differ
        const streams::Problem p{streams::random_image(width, n / width + 1, 1, gpulab::testing::seed), 0, 1};
        const streams::Output reference = streams::reference_output(p);
        streams::Output out = reference;
        int checked = 0;
        for (const auto& variant : streams::variants()) {
            if (variant.backend != backend) continue;
            INFO(variant.name << " on " << device.name << ", " << p.bytes() << " bytes");
            streams::poison(out);
            gpulab::take_stray_write();
            gpulab::Stopwatch once;
            REQUIRE_NOTHROW(variant.run(p, out, once));
            CHECK(gpulab::take_stray_write() == "");
            if (out.pixels != reference.pixels) CHECK(streams::compare(reference, out).message == "");
            ++checked;
        }
        CHECK(checked >= 3);
    }
}

} // namespace

TEST_CASE("every CUDA variant reaches the bytes beyond 2^32", "[cuda][large]") { check_variants(Backend::cuda); }
TEST_CASE("every OpenCL variant reaches the bytes beyond 2^32", "[opencl][large]") { check_variants(Backend::opencl); }
