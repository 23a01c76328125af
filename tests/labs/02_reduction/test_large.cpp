// Arrays of more than 2^31 elements, on GPUs that have the memory.
#include <catch2/catch_test_macros.hpp>

#include "gpulab_testing/testing.hpp"
#include "large.hpp"

using gpulab::Backend;
using gpulab::Device;
using gpulab::testing::devices_or_skip;
using reduction::Scan;
using reduction::testing::apart;
using reduction::testing::large;
using reduction::testing::ones_apart;
using reduction::testing::other_apart;

namespace {

/// The GPUs of a back end; skips the test case, before anything large is allocated, when none has the memory.
std::vector<Device> large_devices(Backend backend) {
    std::vector<Device> devices = devices_or_skip(backend);
    std::erase_if(devices, [](const Device& d) { return d.is_cpu || !reduction::testing::room_for_large(d); });
    if (devices.empty()) SKIP("needs a GPU with 20 GB, and 30 GB on the host");
    return devices;
}

/// Calls check(run) on a device for every variant of a table that takes any n.
template <class Table, class Check> void check_all(const Device& device, const Table& table, const Check& check) {
    gpulab::use(device);
    int checked = 0;
    for (const auto& variant : table) {
        if (variant.backend != device.backend || variant.name.ends_with("one_block")) continue;
        INFO(variant.name << " on " << device.name);
        std::string fault;
        try {
            fault = check(variant.run);
        } catch (const gpulab::Unsupported&) {
            CHECK(variant.baseline); // a library may count in 32 bits, if it says so
            continue;
        }
        CHECK(fault == "");
        ++checked;
    }
    CHECK(checked >= 1);
}

} // namespace

namespace {

void check_sums(Backend backend) {
    const auto devices = large_devices(backend);
    const reduction::SumProblem<float> p{ones_apart(apart)};
    for (const Device& device : devices)
        check_all(device, reduction::sum_variants<float>(),
                  [&](auto* run) { return reduction::testing::large_fault(run, p, gpulab::ceil_div(large, apart)); });
}

void check_dots(Backend backend) {
    const auto devices = large_devices(backend);
    const reduction::DotProblem<float> p{ones_apart(apart), ones_apart(other_apart)};
    for (const Device& device : devices)
        check_all(device, reduction::dot_variants<float>(), [&](auto* run) {
            return reduction::testing::large_fault(run, p, gpulab::ceil_div(large, apart * other_apart));
        });
}

void check_scans(Backend backend) {
    const auto devices = large_devices(backend);
    const reduction::ScanProblem<float> p{Scan::inclusive, ones_apart(apart)};
    reduction::Prefixes<float> out(large);
    for (const Device& device : devices)
        check_all(device, reduction::scan_variants<float>(),
                  [&](auto* run) { return reduction::testing::large_scan_fault(run, p, out); });
}

} // namespace

TEST_CASE("every CUDA sum reaches elements beyond the 2^31st", "[cuda][large]") { check_sums(Backend::cuda); }
TEST_CASE("every CUDA dot product reaches elements beyond the 2^31st", "[cuda][large]") { check_dots(Backend::cuda); }
TEST_CASE("every CUDA prefix sum reaches elements beyond the 2^31st", "[cuda][large]") { check_scans(Backend::cuda); }

#if defined(GPULAB_WITH_CUDA)
TEST_CASE("the exclusive prefix sum in one pass reaches elements beyond the 2^31st", "[cuda][large]") {
    const auto devices = large_devices(Backend::cuda);
    const reduction::ScanProblem<float> p{Scan::exclusive, ones_apart(apart)};
    reduction::Prefixes<float> out(large);
    for (const Device& device : devices) {
        gpulab::use(device);
        CHECK(reduction::testing::large_scan_fault(reduction::cuda_scan_look_back<float>, p, out) == "");
    }
}
#endif
