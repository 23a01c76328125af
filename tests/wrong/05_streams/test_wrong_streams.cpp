// A check is worth what it rejects: every variant here is wrong, and the check of the right ones must say so.
#include <catch2/catch_test_macros.hpp>

#include "checks.hpp"
#include "wrong_streams.hpp"

using gpulab::Backend;

namespace {

void reject_all(Backend backend, std::span<const streams::wrong::WrongVariant> table, std::string_view right_name) {
    REQUIRE(table.size() >= 10);
    for (const gpulab::Device& device : gpulab::testing::devices_or_skip(backend)) {
        gpulab::use(device);
        for (const auto& wrong : table) {
            INFO(wrong.name << " (" << wrong.mistake << ") on " << device.name);
            std::string fault; // an exception other than the check's own is no rejection: it fails the test
            REQUIRE_NOTHROW(fault = streams::testing::first_fault(wrong.run, streams::testing::all_cases()));
            const bool planted_none = wrong.name.starts_with("no_mistake"); // the launcher itself is right
            CHECK((fault == "") == planted_none);
        }
        // The device still works, so none was rejected because another had broken it.
        bool checked = false;
        for (const auto& right : streams::variants())
            if (right.name == right_name) {
                checked = true;
                CHECK(streams::testing::first_fault(right.run, streams::testing::small_cases()) == "");
            }
        CHECK(checked);
    }
}

} // namespace

#if defined(GPULAB_WITH_OPENCL)
TEST_CASE("every wrong OpenCL variant is rejected", "[opencl]") {
    reject_all(Backend::opencl, streams::wrong::opencl_variants(), "opencl_queues");
}
#endif

#if defined(GPULAB_WITH_CUDA)
TEST_CASE("every wrong CUDA variant is rejected", "[cuda]") {
    reject_all(Backend::cuda, streams::wrong::cuda_variants(), "cuda_depth_first");
}
#endif
