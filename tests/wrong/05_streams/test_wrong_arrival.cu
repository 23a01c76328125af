// Runs on the host, without a device.
#include <catch2/catch_test_macros.hpp>

#include "arrival.cuh"
#include "wrong_arrival.cuh"

namespace {

/// Waits for ever where the image holds the mark.
struct NeverAsksForTheFlag {
    template <class Look, class AllThere, class Rest>
    uint4 operator()(const Look& look, const AllThere&, const Rest&) const {
        return streams::when_arrived(
            look, [] { return false; }, [] {});
    }
};

template <class Arrived> std::string fault_of(const Arrived& arrived) try {
    return streams::testing::arrival_fault(arrived);
} catch (const std::runtime_error& e) {
    return e.what();
}

} // namespace

TEST_CASE("every wrong way to wait for 16 bytes is rejected", "[cuda]") {
    CHECK(fault_of(streams::wrong::DoesNotLook()) != "");
    CHECK(fault_of(streams::wrong::LooksAtOneWord()) != "");
    CHECK(fault_of(streams::wrong::LooksAtThreeWords()) != "");
    CHECK(fault_of(streams::wrong::TakesWhatItSaw()) != "");
    CHECK(fault_of(streams::wrong::WaitsForAnyWord()) != "");
    CHECK(fault_of(NeverAsksForTheFlag()) != "");
}
