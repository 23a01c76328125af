// Arrays that 32 bits cannot count, on GPUs that have the memory.
#include <catch2/catch_test_macros.hpp>

#include "gpulab_testing/testing.hpp"
#include "large.hpp"

using gpulab::Backend;
using gpulab::Device;
using gpulab::testing::large_devices_or_skip;
using reduction::Scan;
using reduction::testing::every_other;
using reduction::testing::ones_among;
using reduction::testing::ones_apart;
using reduction::testing::ones_shared;

namespace {

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

void check_sums(Backend backend) {
    for (const auto& [device, n] : large_devices_or_skip(backend, 2, 2)) {
        const reduction::SumProblem<float> p{ones_apart(n)};
        check_all(device, reduction::sum_variants<float>(),
                  [&](auto* run) { return reduction::testing::large_fault(run, p, ones_among(p.size())); });
    }
}

void check_dots(Backend backend) {
    for (const auto& [device, n] : large_devices_or_skip(backend, 2, 2)) {
        const reduction::DotProblem<float> p{ones_apart(n), every_other(n)};
        check_all(device, reduction::dot_variants<float>(),
                  [&](auto* run) { return reduction::testing::large_fault(run, p, ones_shared(p.size())); });
    }
}

void check_scans(Backend backend) {
    for (const auto& [device, n] : large_devices_or_skip(backend, 2, 2)) {
        const reduction::ScanProblem<float> p{Scan::inclusive, ones_apart(n)};
        reduction::Prefixes<float> out(n);
        check_all(device, reduction::scan_variants<float>(),
                  [&](auto* run) { return reduction::testing::large_scan_fault(run, p, out); });
    }
}

} // namespace

TEST_CASE("every CUDA sum reaches elements that 32 bits do not count", "[cuda][large]") { check_sums(Backend::cuda); }
TEST_CASE("every OpenCL sum reaches elements that 32 bits do not count", "[opencl][large]") {
    check_sums(Backend::opencl);
}
TEST_CASE("every CUDA dot product reaches elements that 32 bits do not count", "[cuda][large]") {
    check_dots(Backend::cuda);
}
TEST_CASE("every OpenCL dot product reaches elements that 32 bits do not count", "[opencl][large]") {
    check_dots(Backend::opencl);
}
TEST_CASE("every CUDA prefix sum reaches elements that 32 bits do not count", "[cuda][large]") {
    check_scans(Backend::cuda);
}
TEST_CASE("every OpenCL prefix sum reaches elements that 32 bits do not count", "[opencl][large]") {
    check_scans(Backend::opencl);
}

#if defined(GPULAB_WITH_CUDA)
TEST_CASE("the exclusive prefix sum in one pass reaches elements that 32 bits do not count", "[cuda][large]") {
    for (const auto& [device, n] : large_devices_or_skip(Backend::cuda, 2, 2)) {
        gpulab::use(device);
        const reduction::ScanProblem<float> p{Scan::exclusive, ones_apart(n)};
        reduction::Prefixes<float> out(n);
        CHECK(reduction::testing::large_scan_fault(reduction::cuda_scan_look_back<float>, p, out) == "");
    }
}
#endif
