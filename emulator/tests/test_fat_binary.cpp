// LZ4's block format by hand, and what is no fat binary.
#include <catch2/catch_test_macros.hpp>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "fat_binary.hpp"

using cuda_emulator::decompress_lz4;
using Bytes = std::vector<std::uint8_t>;

TEST_CASE("literals and matches of LZ4 become what was packed") {
    CHECK(decompress_lz4(Bytes{0x30, 'a', 'b', 'c'}, 3) == "abc");
    // "ab", then 6 bytes from 2 back, which overlap what they make; then "x".
    CHECK(decompress_lz4(Bytes{0x22, 'a', 'b', 2, 0, 0x10, 'x'}, 9) == "ababababx");
    // 15 + 3 literals; a match of 15 + 4 + 1 from 1 back.
    Bytes long_one{0xF0, 3};
    long_one.insert(long_one.end(), 18, 'z');
    CHECK(decompress_lz4(long_one, 18) == std::string(18, 'z'));
    CHECK(decompress_lz4(Bytes{0x1F, 'q', 1, 0, 1, 0x10, 'r'}, 22) == std::string(21, 'q') + "r");
}

TEST_CASE("damaged LZ4 is refused") {
    const std::vector<std::pair<Bytes, std::size_t>> cases = {
        {{0x30, 'a', 'b'}, 3},      // ends within the literals
        {{0x30, 'a', 'b', 'c'}, 4}, // makes too little
        {{0x30, 'a', 'b', 'c'}, 2}, // and too much
        {{0x12, 'a', 2, 0}, 7},     // from before the beginning
        {{0x12, 'a', 0, 0}, 7},     // from nowhere
        {{0xF0}, 20},               // ends within a length
        {{0x12, 'a', 1}, 7},        // ends within a distance
    };
    for (const auto& [bytes, size] : cases) CHECK_THROWS_AS(decompress_lz4(bytes, size), std::runtime_error);
}

TEST_CASE("what is no fat binary is refused") {
    const std::vector<std::uint32_t> nothing(16, 7);
    CHECK_THROWS_AS(cuda_emulator::read_fat_binary(nothing.data()), std::runtime_error);
    CHECK_THROWS_AS(cuda_emulator::read_container(nothing.data()), std::runtime_error);
}
