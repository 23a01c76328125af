// Kernels that only the checks of arrays beyond 32 bits can reject, and that those must reject.
#if defined(GPULAB_WITH_CUDA)
#include <catch2/catch_test_macros.hpp>
#include <utility>

#include "checks.hpp"
#include "index_in_32_bits.hpp"
#include "large.hpp"

using gpulab::Backend;
using reduction::Scan;
using reduction::testing::large_fault;
using reduction::testing::large_scan_fault;
using reduction::testing::ones_among;
using reduction::testing::ones_shared;

namespace {

template <class Index> void accepts_small() {
    const auto& sizes = gpulab::testing::small_sizes();
    CHECK(reduction::testing::first_fault<float>(reduction::wrong::sum_counted_in<Index>, Backend::cuda, sizes) == "");
    CHECK(reduction::testing::first_dot_fault<float>(reduction::wrong::dot_counted_in<Index>, Backend::cuda, sizes) ==
          "");
    CHECK(reduction::testing::first_scan_fault<float>(reduction::wrong::scan_counted_in<Index>, Backend::cuda, sizes) ==
          "");
}

/// The inputs of the large checks, handed on from one to the next: together they would not fit into most hosts.
struct Inputs {
    std::vector<float> ones, every_other;
};

template <class Index> void rejects_large(Inputs& inputs) {
    const std::size_t n = inputs.ones.size();
    reduction::DotProblem<float> two{std::move(inputs.ones), std::move(inputs.every_other)};
    CHECK(large_fault(reduction::wrong::dot_counted_in<Index>, two, ones_shared(n)) != "");
    reduction::SumProblem<float> one{std::move(two.a)};
    CHECK(large_fault(reduction::wrong::sum_counted_in<Index>, one, ones_among(n)) != "");
    // The device still works: neither was rejected because something else had broken it.
    CHECK(large_fault(reduction::wrong::sum_counted_in<std::size_t>, one, ones_among(n)) == "");
    reduction::ScanProblem<float> scan{Scan::inclusive, std::move(one.a)};
    reduction::Prefixes<float> out = std::move(two.b);
    CHECK(large_scan_fault(reduction::wrong::scan_counted_in<Index>, scan, out) != "");
    inputs.ones = std::move(scan.a);
}

} // namespace

TEST_CASE("CUDA kernels that count in 32 bits are right for small arrays", "[cuda]") {
    for (const gpulab::Device& device : gpulab::testing::devices_or_skip(Backend::cuda)) {
        gpulab::use(device);
        accepts_small<int>();
        accepts_small<unsigned>();
    }
}

TEST_CASE("CUDA kernels that count in 32 bits are rejected beyond them", "[cuda][large]") {
    for (const auto& [device, n] : gpulab::testing::large_devices_or_skip(Backend::cuda, 2, 2)) {
        gpulab::use(device);
        Inputs inputs{reduction::testing::ones_apart(n), reduction::testing::every_other(n)};
        rejects_large<int>(inputs);
        if (n < gpulab::testing::beyond_unsigned) continue;
        inputs.every_other = reduction::testing::every_other(n);
        rejects_large<unsigned>(inputs);
    }
}
#endif
