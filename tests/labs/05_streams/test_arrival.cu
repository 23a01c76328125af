// Runs on the host, without a device.
#include <catch2/catch_test_macros.hpp>

#include "arrival.cuh"

TEST_CASE("cuda_polling takes 16 bytes only when all four words or the whole image have arrived", "[cuda]") {
    CHECK(streams::testing::arrival_fault([](const auto& look, const auto& all_there, const auto& rest) {
              return streams::when_arrived(look, all_there, rest);
          }) == "");
}
