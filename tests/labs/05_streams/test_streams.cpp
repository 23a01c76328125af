#include <algorithm>
#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <cstring>
#include <numeric>
#include <string>

#include "checks.hpp"
#include "gpulab/input.hpp"
#include "link.hpp"
#include "runs.hpp"

using gpulab::Backend;
using gpulab::testing::devices_or_skip;
using streams::Output;
using streams::Problem;
using streams::testing::all_cases;
using streams::testing::small_cases;

namespace {

/// Every variant of a back end, on every device of it, on all cases.
void check_all(Backend backend, const std::vector<streams::testing::Case>& cases) {
    for (const gpulab::Device& device : devices_or_skip(backend)) {
        gpulab::use(device);
        for (const auto& variant : streams::variants()) {
            if (variant.backend != backend) continue;
            INFO(variant.name << " on " << device.name);
            REQUIRE(variant.run != nullptr);
            CHECK(streams::testing::first_fault(variant.run, cases) == "");
        }
    }
}

/// Two pixels whose result anybody can work out, through every variant of a back end.
void check_by_hand(Backend backend) {
    struct ByHand {
        int channels;
        unsigned work;
        std::vector<unsigned char> before, after;
    };
    // Work: 1 * 181 + 97 = 278 = 22 (mod 256); 22 xor 22 / 8 = 22 xor 2 = 20; inverted 235.
    //       0 * 181 + 97 = 97; 97 xor 12 = 109; inverted 146.
    const std::vector<ByHand> list = {{1, 0, {0, 255}, {255, 0}},
                                      {2, 0, {10, 20, 0, 0}, {245, 20, 255, 0}},
                                      {3, 0, {0, 1, 2, 253, 254, 255}, {255, 254, 253, 2, 1, 0}},
                                      {4, 0, {1, 2, 3, 4, 100, 101, 102, 255}, {254, 253, 252, 4, 155, 154, 153, 255}},
                                      {4, 1, {1, 0, 1, 1, 0, 1, 0, 0}, {235, 146, 235, 1, 146, 235, 146, 0}}};
    for (const gpulab::Device& device : devices_or_skip(backend)) {
        gpulab::use(device);
        for (const auto& variant : streams::variants()) {
            if (variant.backend != backend) continue;
            for (const ByHand& hand : list) {
                INFO(variant.name << " on " << device.name << ", " << hand.channels << " channels, work " << hand.work);
                const Problem p{{1, 2, hand.channels, hand.before}, hand.work, 3};
                Output out{std::vector<unsigned char>(p.bytes(), 77), {}};
                gpulab::Stopwatch once;
                variant.run(p, out, once);
                CHECK(out.pixels == hand.after);
            }
        }
    }
}

/// The timeline of a device variant: each strip goes up, is worked on and comes down, in that order, in its lane.
void check_timelines(Backend backend) {
    for (const gpulab::Device& device : devices_or_skip(backend)) {
        gpulab::use(device);
        for (const auto& variant : streams::variants()) {
            if (variant.backend != backend) continue;
            INFO(variant.name << " on " << device.name);
            const Problem p{streams::random_image(64, 50, 4, 1), 0, 7};
            Output out{std::vector<unsigned char>(p.bytes()), {}};
            gpulab::Stopwatch once;
            variant.run(p, out, once);
            const auto& events = out.timeline.events();
            const bool mapped = variant.name == "cuda_mapped", mapped_write = variant.name == "cuda_mapped_write";
            const bool mixed = variant.name == "cuda_mixed", polling = variant.name == "cuda_polling";
            CHECK(events.size() == (mapped ? 1u : mapped_write ? 14u : mixed ? 22u : polling ? 15u : 21u));
            for (const auto& e : events) CHECK(e.end_us >= e.begin_us);
            for (const auto& e : events)
                for (const auto& f : events) // 0.5 us: the resolution of the events
                    if (e.name == f.name &&
                        ((e.kind == "copy up" && f.kind == "kernel") || (e.kind == "kernel" && f.kind == "copy down") ||
                         (e.kind == "polling kernel" && f.kind == "copy down")))
                        CHECK(e.end_us <= f.end_us + 1);
            const double span_ms = 1e-3 * out.timeline.span_us();
            CHECK(span_ms <= out.traced_ms + 0.01); // what the host saw holds what the device noted
            CHECK(streams::overlap_percent(out.timeline) >= 0);
            CHECK(streams::overlap_percent(out.timeline) <= 100);
        }
    }
}

} // namespace

TEST_CASE("every CPU variant inverts two pixels as worked out by hand and keeps alpha", "[cpu]") {
    check_by_hand(Backend::cpu);
}
TEST_CASE("every OpenCL variant inverts two pixels as worked out by hand and keeps alpha", "[opencl]") {
    check_by_hand(Backend::opencl);
}
TEST_CASE("every CUDA variant inverts two pixels as worked out by hand and keeps alpha", "[cuda]") {
    check_by_hand(Backend::cuda);
}

TEST_CASE("every CPU variant agrees at every shape, stream count and amount of work", "[cpu]") {
    check_all(Backend::cpu, all_cases());
}
TEST_CASE("every OpenCL variant agrees at every shape, stream count and amount of work", "[opencl]") {
    check_all(Backend::opencl, all_cases());
}
TEST_CASE("every CUDA variant agrees at every shape, stream count and amount of work", "[cuda]") {
    check_all(Backend::cuda, all_cases());
}

TEST_CASE("every OpenCL variant has a timeline with each strip's three commands in order", "[opencl]") {
    check_timelines(Backend::opencl);
}
TEST_CASE("every CUDA variant has a timeline with each strip's commands in order", "[cuda]") {
    check_timelines(Backend::cuda);
}

TEST_CASE("an image that is full of the mark, or has some of it, is inverted all the same", "[cuda][.sanitizer]") {
    for (const gpulab::Device& device : devices_or_skip(Backend::cuda)) {
        gpulab::use(device);
        for (const auto& variant : streams::variants()) {
            if (variant.backend != Backend::cuda) continue;
            for (const unsigned percent : {100u, 50u, 1u}) {
                for (const std::size_t width : {64u, 5u}) {
                    INFO(variant.name << " on " << device.name << ", " << percent << " % marks, width " << width);
                    Problem p{streams::random_image(width, 50, 4, 1), 0, 7};
                    for (std::size_t i = 0; i < p.bytes(); i += 4)
                        if (gpulab::random_bits(2, i) % 100 < percent)
                            std::memcpy(&p.image.pixels[i], &streams::nothing_yet, sizeof streams::nothing_yet);
                    Output reference{std::vector<unsigned char>(p.bytes()), {}}, out = reference;
                    gpulab::Stopwatch once;
                    streams::cpu_sequential(p, reference, once);
                    CHECK(gpulab::testing::fault_of(variant.run, p, out,
                                                    [&] { return streams::compare(reference, out); }) == "");
                }
            }
        }
    }
}

TEST_CASE("every OpenCL variant on small images, for oclgrind", "[.oclgrind]") {
    check_all(Backend::opencl, small_cases());
}
TEST_CASE("every CUDA variant on small images, for the sanitizer", "[.sanitizer]") {
    check_all(Backend::cuda, small_cases());
}

TEST_CASE("strips cover every row once, for every height and number of strips", "[cpu]") {
    for (std::size_t height = 1; height <= 70; ++height)
        for (std::size_t count = 1; count <= 64; ++count) {
            const gpulab::Image image{3, height, 4, {}};
            const auto equal = streams::equal_strips(image, count), growing = streams::growing_strips(image, count),
                       tenfold = streams::growing_strips(image, count, 10);
            for (const auto* strips : {&equal, &growing, &tenfold}) {
                std::size_t next = 0;
                bool whole_rows = true;
                for (const auto& s : *strips) {
                    whole_rows = whole_rows && s.first == next && s.bytes > 0 && s.bytes % image.row_bytes() == 0;
                    next += s.bytes;
                }
                if (!whole_rows || next != image.bytes())
                    FAIL("height " << height << ", " << count << " strips: " << next << " of " << image.bytes());
            }
            CHECK(growing.size() <= count);
            CHECK(tenfold.size() <= count);
            const auto [least, most] = std::minmax_element(
                equal.begin(), equal.end(), [](const auto& a, const auto& b) { return a.bytes < b.bytes; });
            CHECK(equal.size() == std::min(count, height));
            CHECK(most->bytes - least->bytes <= image.row_bytes());
        }
}

TEST_CASE("growing strips grow evenly, and the last is as many times as high as the first as was asked", "[cpu]") {
    const gpulab::Image image{1, 1500, 1, {}};
    const auto heights = [&](std::size_t count, std::size_t last_to_first) {
        std::vector<std::size_t> list;
        for (const auto& s : streams::growing_strips(image, count, last_to_first)) list.push_back(s.bytes);
        return list;
    };
    using Heights = std::vector<std::size_t>;
    CHECK(heights(5, 2) == Heights{200, 250, 300, 350, 400}); // of 1500 = 7.5 times the first
    CHECK(heights(4, 4) == Heights{150, 300, 450, 600});      // 10 times
    CHECK(heights(3, 1) == Heights{500, 500, 500});
    CHECK(heights(1, 10) == Heights{1500});
    CHECK(streams::growing_strips(image, 5).back().bytes == 400);
}

TEST_CASE("only the three stages count as overlap, not a kernel that runs beside them all the time", "[cpu]") {
    gpulab::Timeline t;
    t.add({"a", "mapped kernel", '*', 3, 0, 100});
    t.add({"a", "copy up", '>', 0, 0, 40});
    t.add({"b", "copy up", '>', 0, 40, 80});
    t.add({"a", "copy down", '<', 2, 60, 100}); // 60 ... 80 at once; stages busy 0 ... 100
    CHECK(streams::overlap_percent(t) == Catch::Approx(20));
    CHECK(t.overlap_percent() == Catch::Approx(100));
}

TEST_CASE("one round of work is a permutation of the bytes, so no information is lost", "[cpu]") {
    std::vector<bool> seen(256, false);
    for (int v = 0; v < 256; ++v) seen[streams::work_round(static_cast<unsigned char>(v))] = true;
    CHECK(std::all_of(seen.begin(), seen.end(), [](bool s) { return s; }));
}

TEST_CASE("a single wrong byte anywhere fails the comparison", "[cpu]") {
    const Output right{{1, 2, 3, 4}, {}};
    for (std::size_t i = 0; i < 4; ++i) {
        Output wrong = right;
        wrong.pixels[i] ^= 1;
        CHECK_FALSE(streams::compare(right, wrong).passed);
    }
    CHECK(streams::compare(right, right).passed);
    CHECK_FALSE(streams::compare(right, Output{{1, 2, 3}, {}}).passed);
}

TEST_CASE("what a link can carry is worked out as by hand") {
    // 6 MB: 2 ms up and 3 ms down alone, 3 ms and 4 ms with the other direction busy, a kernel of 1 ms.
    const std::size_t bytes = 6'000'000;
    streams::Link link{
        .up_alone = 3, .down_alone = 2, .up = 2, .down = 1.5, .together = 1.5, .pause_ms = 0.1, .kernel_ms = 1};
    const auto about = [](double ms) { return Catch::Approx(ms).epsilon(1e-12); };
    CHECK(streams::bound_ms(link, bytes) == about(4));
    CHECK(streams::together_ms(link, bytes) == about(4));
    CHECK(streams::sum_ms(link, bytes) == about(6));
    CHECK(streams::strips_ms(link, bytes, 1) == about(6));
    CHECK(streams::strips_ms(link, bytes, 4) == about(6.0 / 4 + 3 * (4.0 / 4 + 0.1)));
    // 6 / n + (n - 1) (4 / n + 0.1) = 3.9 + 2 / n + 0.1 n is smallest near n = sqrt(20): 4.8 at 4 as well as at 5.
    CHECK(streams::strips_ms(link, bytes, streams::best_strips(link, bytes)) == about(4.8));
    link.kernel_ms = 10; // the kernel decides: 15 / n + (n - 1) 10 / n
    CHECK(streams::bound_ms(link, bytes) == about(10));
    CHECK(streams::strips_ms(link, bytes, 5) == about(15.0 / 5 + 4 * 10.0 / 5));
    CHECK(streams::best_strips(link, bytes) > 32); // its pauses hide behind it
}
