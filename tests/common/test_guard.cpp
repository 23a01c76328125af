// Guard bands: what damages them is seen wherever it is, and told once.
#include <catch2/catch_test_macros.hpp>
#include <cstddef>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "gpulab/error.hpp"
#include "gpulab/guard.hpp"
#include "gpulab_testing/testing.hpp"

namespace {

using Bytes = std::vector<unsigned char>;

/// What check_guards() says of two bands, or "".
std::string fault(const Bytes& before, const Bytes& after, std::size_t element_bytes, unsigned char expected) {
    return gpulab::testing::message_of<gpulab::WrongResult>(
        [&] { gpulab::check_guards(before.data(), after.data(), before.size(), element_bytes, expected); });
}

std::string past_the_end(std::size_t elements) {
    return "the kernel wrote past the end of a buffer (" + std::to_string(elements) + " elements past the last)";
}

std::string before_the_start(std::size_t elements) {
    return "the kernel wrote before the start of a buffer (" + std::to_string(elements) + " elements before)";
}

} // namespace

TEST_CASE("any changed byte of either guard band is a fault, at its distance from the buffer") {
    const std::size_t size = 64;
    for (const unsigned char expected : {gpulab::guard_byte, gpulab::input_guard_byte}) {
        const Bytes whole(size, expected);
        CHECK(fault(whole, whole, 4, expected) == "");
        for (std::size_t i = 0; i < size; ++i) {
            Bytes damaged = whole;
            damaged[i] ^= 1;
            REQUIRE(fault(whole, damaged, 4, expected) == past_the_end(i / 4 + 1));
            REQUIRE(fault(damaged, whole, 4, expected) == before_the_start((size - 1 - i) / 4 + 1));
            REQUIRE(fault(whole, damaged, 8, expected) == past_the_end(i / 8 + 1));
        }
    }
    CHECK(fault({}, {}, 4, gpulab::guard_byte) == "");
}

TEST_CASE("of several stray writes, the one nearest to the buffer is reported") {
    Bytes before(64, gpulab::guard_byte), after = before;
    before[3] = before[59] = 0;
    CHECK(fault(before, after, 4, gpulab::guard_byte) == before_the_start(2));
    after[60] = after[9] = 0;
    CHECK(fault(before, after, 4, gpulab::guard_byte) == past_the_end(3));
}

TEST_CASE("the bands of inputs and of outputs hold what no kernel takes for data") {
    CHECK(gpulab::guard_byte != gpulab::input_guard_byte);
    const Bytes output(64, gpulab::guard_byte);
    CHECK(fault(output, output, 4, gpulab::input_guard_byte) != "");
    CHECK_NOTHROW(gpulab::check_guards(output.data(), output.data(), 64, 4)); // an output's, unless told
}

TEST_CASE("the bands for minima and maxima hold values that win") {
    Bytes low(8, gpulab::low_guard_byte), high(8, gpulab::high_guard_byte);
    const auto as = [](const Bytes& bytes, auto value) {
        std::memcpy(&value, bytes.data(), sizeof value);
        return value;
    };
    CHECK(as(low, 0.0f) < -1e38f);
    CHECK(as(low, 0.0) < -1e303);
    CHECK(as(low, 0) < -10'000'000);
    CHECK(as(high, 0.0f) > 1e38f);
    CHECK(as(high, 0.0) > 1e303);
    CHECK(as(high, 0) > 10'000'000);
}

TEST_CASE("GuardBands changes the bands of new buffers, and changes them back") {
    const auto now = [] {
        return std::pair(int{gpulab::detail::band_bytes.output}, int{gpulab::detail::band_bytes.input});
    };
    const auto before = now();
    CHECK(before == std::pair<int, int>(gpulab::guard_byte, gpulab::input_guard_byte));
    {
        const gpulab::GuardBands low(gpulab::low_guard_byte);
        CHECK(now() == std::pair<int, int>(gpulab::low_guard_byte, gpulab::low_guard_byte));
        const gpulab::GuardBands high(gpulab::high_guard_byte);
        CHECK(now() == std::pair<int, int>(gpulab::high_guard_byte, gpulab::high_guard_byte));
    }
    CHECK(now() == before);
}

TEST_CASE("the width of the guard bands is 4096 bytes, or what the environment says, in multiples of 512") {
    CHECK(gpulab::detail::guard_bytes_from(nullptr) == 4096);
    CHECK(gpulab::detail::guard_bytes_from("0") == 0);
    CHECK(gpulab::detail::guard_bytes_from("1") == 512);
    CHECK(gpulab::detail::guard_bytes_from("512") == 512);
    CHECK(gpulab::detail::guard_bytes_from("513") == 1024);
    CHECK(gpulab::detail::guard_bytes_from("64Mi") == std::size_t{64} << 20);
    for (const char* bad : {"", "-1", "x", "65Mi"}) {
        INFO("'" << bad << "'");
        CHECK_THROWS_AS(gpulab::detail::guard_bytes_from(bad), gpulab::UsageError);
    }
}
