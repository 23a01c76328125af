// Kernels that only the checks of more than 2^31 elements can reject, and that those must reject.
#if defined(GPULAB_WITH_CUDA)
#include <catch2/catch_test_macros.hpp>
#include <utility>

#include "checks.hpp"
#include "index_in_32_bits.hpp"
#include "large.hpp"

using gpulab::Backend;
using reduction::Scan;
using reduction::testing::apart;
using reduction::testing::large;
using reduction::testing::large_fault;
using reduction::testing::ones_apart;
using reduction::testing::other_apart;

TEST_CASE("CUDA kernels that count in 32 bits are right for small arrays", "[cuda]") {
    for (const gpulab::Device& device : gpulab::testing::devices_or_skip(Backend::cuda)) {
        gpulab::use(device);
        const auto& sizes = gpulab::testing::small_sizes();
        CHECK(reduction::testing::first_fault<float>(reduction::wrong::sum_index_in_32_bits, Backend::cuda, sizes) ==
              "");
        CHECK(reduction::testing::first_dot_fault<float>(reduction::wrong::dot_index_in_32_bits, Backend::cuda,
                                                         sizes) == "");
        CHECK(reduction::testing::first_scan_fault<float>(reduction::wrong::scan_index_in_32_bits, Backend::cuda,
                                                          sizes) == "");
    }
}

TEST_CASE("CUDA kernels that count in 32 bits are rejected beyond 2^31 elements", "[cuda][large]") {
    for (const gpulab::Device& device : gpulab::testing::devices_or_skip(Backend::cuda)) {
        if (!reduction::testing::room_for_large(device)) SKIP("needs 20 GB on the device and 30 GB on the host");
        gpulab::use(device);
        reduction::DotProblem<float> two{ones_apart(apart), ones_apart(other_apart)};
        CHECK(large_fault(reduction::wrong::dot_index_in_32_bits, two, gpulab::ceil_div(large, apart * other_apart)) !=
              "");
        reduction::SumProblem<float> one{std::move(two.a)};
        CHECK(large_fault(reduction::wrong::sum_index_in_32_bits, one, gpulab::ceil_div(large, apart)) != "");
        // The device still works: neither was rejected because something else had broken it.
        CHECK(large_fault(reduction::cuda_single_pass<float>, one, gpulab::ceil_div(large, apart)) == "");
        const reduction::ScanProblem<float> scan{Scan::inclusive, std::move(one.a)};
        reduction::Prefixes<float> out = std::move(two.b);
        CHECK(reduction::testing::large_scan_fault(reduction::wrong::scan_index_in_32_bits, scan, out) != "");
    }
}
#endif
