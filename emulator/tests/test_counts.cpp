// Counts of requests, held against what an H100 counts and against what can be worked out by hand.
#include "checks/counts.hpp"

#include <catch2/catch_test_macros.hpp>
#include <fstream>
#include <sstream>

using namespace cuda_emulator;

TEST_CASE("passes and conflicts of wide accesses to shared memory are those of an H100") {
    std::ifstream in(PASSES_TXT);
    REQUIRE(in);
    unsigned rows = 0;
    for (std::string line; std::getline(in, line);) {
        if (line.starts_with("#")) continue;
        std::istringstream words(line);
        unsigned bytes = 0;
        std::string mask, elements;
        std::uint64_t load = 0, store = 0, conflicts = 0;
        words >> bytes >> mask >> elements >> load >> store >> conflicts;
        REQUIRE(words);
        std::uint64_t addresses[32];
        std::istringstream list(elements);
        for (std::uint64_t& address : addresses) {
            list >> address;
            list.ignore();
            address *= bytes;
        }
        const Request request{static_cast<Mask>(std::stoul(mask, nullptr, 16)), addresses, bytes};
        CAPTURE(line);
        std::uint64_t ideal = 0;
        CHECK(passes_of(request, false) == store);
        CHECK(passes_of(request, true, &ideal) == load);
        CHECK(load - ideal == conflicts);
        ++rows;
    }
    CHECK(rows == 192);
}

TEST_CASE("sectors, bytes and passes of what 32 lanes access") {
    std::uint64_t at[32];
    const auto request = [&](auto address, unsigned bytes, Mask mask = all_lanes) {
        for (unsigned lane = 0; lane < 32; ++lane) at[lane] = 4096 + address(lane);
        return Request{mask, at, bytes};
    };
    Request r = request([](unsigned lane) { return 4 * lane; }, 4); // side by side
    CHECK((sectors_of(r) == 4 && bytes_of(r) == 128 && passes_of(r, true) == 1));
    r = request([](unsigned lane) { return 4 * lane + 4; }, 4); // across a boundary
    CHECK((sectors_of(r) == 5 && bytes_of(r) == 128 && passes_of(r, true) == 1));
    r = request([](unsigned lane) { return 128 * lane; }, 4); // a sector for each, and all in one bank
    CHECK((sectors_of(r) == 32 && bytes_of(r) == 128 && passes_of(r, true) == 32));
    r = request([](unsigned) { return 8; }, 4); // all the same
    CHECK((sectors_of(r) == 1 && bytes_of(r) == 4 && passes_of(r, true) == 1));
    r = request([](unsigned lane) { return 4 * (31 - lane); }, 4, 0xF); // the last four, backwards
    CHECK((sectors_of(r) == 1 && bytes_of(r) == 16 && passes_of(r, true) == 1));
    r = request([](unsigned lane) { return 132 * lane; }, 4); // a column of 33 words: no two in one bank
    CHECK((sectors_of(r) == 32 && passes_of(r, true) == 1));
    r = request([](unsigned lane) { return lane; }, 1); // bytes
    CHECK((sectors_of(r) == 1 && bytes_of(r) == 32 && passes_of(r, true) == 1));
}
