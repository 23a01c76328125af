#include <algorithm>
#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <cstring>
#include <string>

#include "checks.hpp"
#include "link.hpp"
#include "perturbed.hpp"
#include "runs.hpp"

using namespace gpulab::testing;
using namespace streams::testing;
using gpulab::Backend;
using streams::Output;
using streams::Problem;
using Variant = gpulab::Variant<streams::Run>;

namespace {

/// What is wrong with the timeline of a device variant, or "". Each strip must go up, be transformed and come down, in
/// that order.
std::string timeline_fault(const Variant& v) {
    const Problem p{streams::random_image(64, 50, 4, 1), 0, 7};
    Output out{std::vector<unsigned char>(p.bytes()), {}};
    gpulab::Stopwatch once;
    in_turn([&] { v.run(p, out, once); });
    const auto& events = out.timeline.events();
    const std::size_t expected = v.name == "cuda_mapped" ? 1 : v.name == "cuda_polling" ? 2 : 21;
    if (events.size() != expected) return fmt::format("{} commands, not {}", events.size(), expected);
    for (const auto& e : events) {
        if (e.end_us < e.begin_us) return fmt::format("{} of {} ends before it begins", e.kind, e.name);
        if (v.backend == Backend::opencl) { // each strip has three commands, all in its lane
            const auto of_strip = [&](const auto& f) { return f.name == e.name && f.lane == e.lane; };
            if (std::ranges::count_if(events, of_strip) != 3)
                return fmt::format("{} of {} is not in a lane with two others", e.kind, e.name);
        }
        for (const auto& f : events) // 0.5 us: the resolution of the events
            if (e.name == f.name && e.end_us > f.end_us + 1 &&
                ((e.kind == "copy up" && f.kind == "kernel") || (e.kind == "kernel" && f.kind == "copy down")))
                return fmt::format("{} of {} ends after its {}", e.kind, e.name, f.kind);
    }
    const double span_ms = 1e-3 * out.timeline.span_us(); // what the device noted lies within what the host saw
    if (span_ms > out.traced_ms + 0.01) return fmt::format("{} ms of a pass of {} ms", span_ms, out.traced_ms);
    const double overlap = streams::overlap_percent(out.timeline);
    const bool in_turn = v.name == "opencl_in_order" || v.name.starts_with("cuda_sync");
    if (!(overlap >= 0 && overlap <= (in_turn ? 1 : 100))) return fmt::format("an overlap of {} %", overlap);
    return "";
}

/// An image in which every thread of a large GPU has 16 bytes that contain the mark. All threads load the same flag,
/// and the time from a look at the image to the load of the flag is long enough for the last words and the flag to
/// arrive in between.
std::string crowd_fault(streams::Run* run) {
    Problem p{streams::random_image(1024, 1030, 4, 1), 256, 1};
    for (std::size_t at = 0, vector = 0; at + 16 <= p.bytes(); at += 16, ++vector)
        std::memcpy(&p.image.pixels[at + 4 * (vector % 4)], &streams::nothing_yet, sizeof streams::nothing_yet);
    return fault_of(run, p);
}

/// All that one variant must do, on the current device.
void check_variant(const Variant& v, Faults& faults) {
    const bool cuda = v.backend == Backend::cuda;
    faults.check("two pixels by hand", [&] { return by_hand_fault(v.run); });
    faults.check("every shape, number of streams and amount of work", [&] { return first_fault(v.run, all_cases()); });
    faults.check("options in pairs", [&] { return first_fault(v.run, cases_in_pairs()); });
    faults.check("many rounds of work", [&] { return heavy_fault(v.run); });
    faults.check("every byte at every place", [&] { return every_byte_fault(v.run); });
    faults.check("images that hold the mark", [&] { return mark_fault(v.run); });
    std::vector<gpulab::Tile> tiles;
    const Problem p = small_grids();
    faults.check("contract", [&] { return contract_violation(v.run, v.backend, p, tiles); });
    faults.check("sizes next to its tiles",
                 [&] { return first_fault(v.run, cases_next_to(tiles, largest_near_tile(v.backend), p)); });
    if (v.backend != Backend::cpu) {
        faults.check("its timeline", [&] { return timeline_fault(v); });
#if defined(STREAMS_PERTURBED)
        faults.check("late commands", [&] { return late_fault(v.run, v.backend); });
#endif
    }
    if (cuda) faults.check("kernels of few blocks", [&] { return first_fault(v.run, mapped_cases()); });
    if (v.name == "cuda_polling") faults.check("every thread waits for the flag", [&] { return crowd_fault(v.run); });
}

const VariantCases variants(streams::variants(), "inverts every image and keeps alpha", "", check_variant);

const VariantCases oclgrind_variants(
    streams::variants(), "under oclgrind", "[.oclgrind]",
    [](const Variant& v, Faults& faults) {
        faults.check("small images", [&] { return first_fault(v.run, small_cases()); });
    },
    only_on<Backend::opencl>);

const VariantCases sanitizer_variants(
    streams::variants(), "under compute-sanitizer", "[.sanitizer]",
    [](const Variant& v, Faults& faults) {
        faults.check("small images", [&] {
            std::vector<Problem> problems;
            for (const auto& c : sanitizer_cases()) problems.push_back(problem_of(c));
            return first_fault_at_once(v.run, problems);
        });
        if (v.name == "cuda_polling")
            faults.check("images that hold the mark",
                         [&] { return first_fault_at_once(v.run, problems_with_marks()); });
    },
    only_on<Backend::cuda>);

} // namespace

TEST_CASE("the reference inverts two pixels as computed by hand and keeps alpha") {
    for (const ByHand& hand : pixels_by_hand()) {
        INFO(hand.channels << " channels, work " << hand.work);
        CHECK(streams::reference_output(hand.problem()).pixels == hand.after);
    }
}

TEST_CASE("the reference follows the definition for every byte and channel") {
    for (int channels = 1; channels <= 4; ++channels)
        for (const unsigned work : {0u, 1u, 2u, 3u, 17u, 300u}) {
            Problem p{{256, 1, channels, {}}, work, 1};
            for (int v = 0; v < 256; ++v)
                for (int c = 0; c < channels; ++c) p.image.pixels.push_back(static_cast<unsigned char>(v));
            const Output out = streams::reference_output(p);
            REQUIRE(out.pixels.size() == p.bytes());
            for (int v = 0; v < 256; ++v)
                for (int c = 0; c < channels; ++c) {
                    unsigned expected = static_cast<unsigned>(v);
                    const bool alpha = (channels == 2 && c == 1) || (channels == 4 && c == 3);
                    for (unsigned i = 0; i < work && !alpha; ++i) {
                        expected = (expected * 181 + 97) & 0xFF;
                        expected ^= expected >> 3;
                    }
                    if (!alpha) expected = 255 - expected;
                    REQUIRE(out.pixels[static_cast<std::size_t>(v * channels + c)] == expected);
                }
        }
}

TEST_CASE("strips cover every row once, for every height and number of strips", "[cpu]") {
    for (std::size_t height = 1; height <= 70; ++height)
        for (std::size_t count = 1; count <= 64; ++count) {
            const gpulab::Image image{3, height, 4, {}};
            const auto strips = streams::equal_strips(image, count);
            std::size_t next = 0;
            bool whole_rows = true;
            for (const auto& s : strips) {
                whole_rows = whole_rows && s.first == next && s.bytes > 0 && s.bytes % image.row_bytes() == 0;
                next += s.bytes;
            }
            if (!whole_rows || next != image.bytes())
                FAIL("height " << height << ", " << count << " strips: " << next << " of " << image.bytes());
            const auto [least, most] = std::minmax_element(
                strips.begin(), strips.end(), [](const auto& a, const auto& b) { return a.bytes < b.bytes; });
            CHECK(strips.size() == std::min(count, height));
            CHECK(most->bytes - least->bytes <= image.row_bytes());
        }
}

TEST_CASE("only the three stages count as overlap, not a kernel that runs beside them", "[cpu]") {
    gpulab::Timeline t;
    t.add({"a", "polling kernel", '*', 3, 0, 100});
    t.add({"a", "copy up", '>', 0, 0, 40});
    t.add({"b", "copy up", '>', 0, 40, 80});
    t.add({"a", "copy down", '<', 2, 60, 100}); // 60 ... 80 at once; stages busy 0 ... 100
    CHECK(streams::overlap_percent(t) == Catch::Approx(20));
    CHECK(t.overlap_percent() == Catch::Approx(100));
}

TEST_CASE("one round of work is a permutation of the bytes", "[cpu]") {
    std::vector<bool> seen(256, false);
    for (int v = 0; v < 256; ++v) seen[streams::work_round(static_cast<unsigned char>(v))] = true;
    CHECK(std::all_of(seen.begin(), seen.end(), [](bool s) { return s; }));
}

TEST_CASE("a single wrong byte at any place fails the comparison", "[cpu]") {
    const Output right{{1, 2, 3, 4}, {}};
    for (std::size_t i = 0; i < 4; ++i) {
        Output wrong = right;
        wrong.pixels[i] ^= 1;
        CHECK_FALSE(streams::compare(right, wrong).passed);
    }
    CHECK(streams::compare(right, right).passed);
    CHECK_FALSE(streams::compare(right, Output{{1, 2, 3}, {}}).passed);
}

TEST_CASE("the bounds of a link are as computed by hand") {
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
    link.kernel_ms = 10; // the kernel is the slowest stage: 15 / n + (n - 1) 10 / n
    CHECK(streams::bound_ms(link, bytes) == about(10));
    CHECK(streams::together_ms(link, bytes) == about(4)); // the copies alone
    CHECK(streams::strips_ms(link, bytes, 5) == about(15.0 / 5 + 4 * 10.0 / 5));
    CHECK(streams::best_strips(link, bytes) > 32); // pauses hide behind the kernel
}
