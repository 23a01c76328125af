// How a thread of cuda_polling waits, with a memory that changes as the test says. On a GPU the moments in which a
// mistake shows are too short to hit. Runs on the host, without a device.
#include <algorithm>
#include <array>
#include <catch2/catch_test_macros.hpp>
#include <vector>

#include "cuda/arrival.cuh"

TEST_CASE("cuda_polling takes 16 bytes only when all four words or the whole image have arrived", "[cuda]") {
    using Words = std::array<unsigned, 4>;
    struct Script {
        std::vector<Words> looks; // what each look sees; all further looks see the last one
        std::size_t complete;     // the flag is up after this many looks
        Words expected;
    };
    constexpr unsigned n = streams::nothing_yet;
    std::vector<Script> scripts;
    for (unsigned missing = 0; missing < 16; ++missing) { // each choice of words that arrive last
        const Words whole{1, 2, 3, 4};
        Words part = whole;
        for (unsigned word = 0; word < 4; ++word)
            if (missing >> word & 1) part[word] = n;
        scripts.push_back({{part, part, part, whole}, 100, whole}); // long before the flag
        scripts.push_back({{part, part, whole}, 2, whole});         // after a look, and the flag then too
        scripts.push_back({{part, whole}, 1, whole});               // the same after the first look
        scripts.push_back({{part}, 3, part});                       // never: the image's own words look like the mark
        scripts.push_back({{Words{n, n, n, n}, part}, 2, part});    // the same, and the others are late
        scripts.push_back({{Words{n, n, n, n}, part}, 1, part});
    }
    for (const Script& script : scripts) {
        std::size_t looks = 0;
        const auto look = [&] {
            const Words w = script.looks[std::min(looks, script.looks.size() - 1)];
            if (++looks > 1000) FAIL("it looks forever");
            return uint4{w[0], w[1], w[2], w[3]};
        };
        const uint4 got = streams::when_arrived(
            look, [&] { return looks >= script.complete; }, [] {});
        INFO("after " << looks << " looks; " << n << " is the mark");
        CHECK(Words{got.x, got.y, got.z, got.w} == script.expected);
    }
}
