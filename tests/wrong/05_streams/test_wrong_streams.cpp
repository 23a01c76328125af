// A check is worth what it rejects: every variant here is wrong, and the checks of the right ones must say so.
#include <catch2/catch_test_macros.hpp>

#include "checks.hpp"
#include "gpulab/error.hpp"
#include "late.hpp"
#include "wrong_streams.hpp"

using gpulab::Backend;

namespace {

/// The first fault that the checks of the right variants find, or "".
std::string fault_of(streams::Run* run, Backend backend) try {
    using namespace streams::testing;
    std::vector<gpulab::Tile> tiles;
    const streams::Problem p = small_grids();
    std::string fault = manners_fault(run, backend, p, tiles);
    if (fault.empty()) fault = by_hand_fault(run);
    if (fault.empty()) fault = first_fault(run, all_cases());
    if (fault.empty()) fault = first_fault(run, heavy_cases());
    if (fault.empty()) fault = every_byte_fault(run);
    if (fault.empty()) fault = mark_fault(run);
    if (fault.empty()) fault = first_fault(run, cases_next_to(tiles, gpulab::testing::largest_near_tile(backend), p));
#if defined(STREAMS_LATE)
    if (fault.empty() && backend != Backend::cpu) fault = late_fault(run, backend);
#endif
    return fault;
} catch (const gpulab::WrongResult& e) {
    return e.what();
}

/// @param right right variants in the same harness: accepted, also after all the wrong ones have run
void reject_all(Backend backend, std::span<const streams::wrong::WrongVariant> table,
                const std::vector<streams::Run*>& right) {
    REQUIRE(table.size() >= 8);
    for (const gpulab::Device& device : gpulab::testing::devices_or_skip(backend)) {
        gpulab::use(device);
        for (const auto& wrong : table) {
            INFO(wrong.name << " (" << wrong.mistake << ") on " << device.name);
            std::string fault; // an exception other than the check's own is no rejection: it fails the test
            REQUIRE_NOTHROW(fault = fault_of(wrong.run, backend));
            CHECK(fault != "");
        }
        for (streams::Run* run : right) CHECK(fault_of(run, backend) == ""); // the device still works
    }
}

} // namespace

TEST_CASE("every wrong CPU variant is rejected", "[cpu]") {
    reject_all(Backend::cpu, streams::wrong::cpu_variants(), {streams::wrong::cpu_right});
}

#if defined(GPULAB_WITH_OPENCL)
TEST_CASE("every wrong OpenCL variant is rejected", "[opencl]") {
    reject_all(Backend::opencl, streams::wrong::opencl_variants(), {streams::wrong::opencl_right});
}
#endif

#if defined(GPULAB_WITH_CUDA)
TEST_CASE("every wrong CUDA variant is rejected", "[cuda]") {
    reject_all(Backend::cuda, streams::wrong::cuda_variants(),
               {streams::wrong::cuda_right, streams::wrong::cuda_right_polling});
}
#endif
