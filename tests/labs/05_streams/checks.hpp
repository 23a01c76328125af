/// @file
/// The checks that every variant of this lab goes through.
#pragma once

#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <functional>
#include <string>
#include <vector>

#include "gpulab/input.hpp"
#include "gpulab_testing/pairs.hpp"
#include "gpulab_testing/steps.hpp"
#include "streams.hpp"

namespace streams::testing {

using namespace gpulab::testing;

/// The shape of an image and the settings with which to process it.
struct Case {
    std::size_t width, height;
    int channels;
    std::size_t streams;
    unsigned work;
    unsigned mapped_blocks = 32;
};

/// One pixel; fewer rows than streams; strips of a byte or three; heights that leave every kind of remainder; rows that
/// are no multiple of 16, 4 or 2 bytes; one stream and 64; every number of channels; without work and with some.
inline const std::vector<Case>& all_cases() {
    static const std::vector<Case> cases = {
        {1, 1, 4, 1, 0},    {1, 1, 1, 64, 0},   {1, 1, 3, 2, 5},      {3, 2, 4, 6, 0},      {5, 7, 3, 3, 1},
        {7, 5, 2, 4, 2},    {16, 9, 4, 2, 0},   {16, 10, 4, 3, 0},    {16, 11, 4, 4, 3},    {31, 33, 1, 5, 0},
        {33, 31, 3, 7, 0},  {33, 64, 2, 8, 1},  {63, 65, 4, 64, 0},   {64, 64, 4, 64, 0},   {64, 63, 3, 64, 2},
        {64, 13, 4, 6, 0},  {65, 127, 1, 9, 0}, {20, 128, 4, 16, 7},  {17, 129, 3, 32, 0},  {255, 37, 4, 6, 0},
        {256, 61, 3, 6, 0}, {257, 43, 2, 6, 1}, {961, 271, 4, 16, 1}, {3840, 217, 4, 6, 0}, {37, 9, 4, 3, 255},
        {1, 40, 1, 20, 0},  {1, 64, 3, 64, 0},  {3840, 300, 4, 2, 4}, {3840, 300, 4, 1, 0}}; // strips beyond a MiB
    return cases;
}

/// Each number of rounds on whole vectors of 16 bytes, with strips that begin at a multiple of 16 and strips that do
/// not, and on ends of 1 ... 15 bytes.
inline std::vector<Case> with_rounds(const std::vector<unsigned>& numbers) {
    std::vector<Case> list;
    for (const unsigned work : numbers)
        for (const Case& shape : {Case{4, 1, 4, 1, 0}, Case{8, 2, 2, 2, 0}, Case{19, 2, 1, 2, 0}, Case{5, 1, 3, 1, 0}})
            list.push_back({shape.width, shape.height, shape.channels, shape.streams, work});
    return list;
}
/// Numbers of rounds near the limits of 8 and 12 bits.
inline const std::vector<Case>& heavy_cases() {
    static const std::vector<Case> cases = [] {
        std::vector<Case> list = with_rounds({255, 256, 257, 4095, 4096, 4097, 5000});
        list.insert(list.end(), {{33, 7, 3, 2, 256}, {64, 8, 2, 3, 300}});
        return list;
    }();
    return cases;
}
/// The same near and beyond the limits of 16 and 17 bits, and the most that the program takes. With that many a kernel
/// takes up to a fifth of a second, and does the same as with fewer: these are run only once.
inline const std::vector<Case>& heaviest_cases() {
    static const std::vector<Case> cases = [] {
        std::vector<Case> list = with_rounds({65535, 65536, 65537, 131073});
        list.insert(list.end(), {{4, 1, 4, 1, 1'000'000}, {3, 1, 1, 1, 1'000'000}});
        return list;
    }();
    return cases;
}

/// A kernel of few blocks that works in host memory. With one block it takes milliseconds for the largest image, so
/// that a pass that does not wait for it gives a wrong answer.
inline const std::vector<Case>& mapped_cases() {
    static const std::vector<Case> cases = {{33, 31, 3, 7, 0, 1},    {33, 31, 3, 7, 1, 1},   {33, 31, 3, 7, 0, 2},
                                            {1, 2, 1, 2, 0, 1},      {1, 1, 1, 1, 0, 1},     {961, 21, 4, 3, 3, 2},
                                            {3840, 600, 4, 2, 3, 1}, {3840, 600, 4, 2, 0, 1}};
    return cases;
}

/// Options crossed with each other: width, height, channels, streams, work, and the blocks of a kernel that works in
/// host memory.
inline std::vector<Case> cases_in_pairs() {
    const std::vector<std::size_t> widths = {1, 5, 64, 961}, heights = {1, 7, 64, 217}, streams = {1, 3, 6, 64};
    const std::vector<unsigned> works = {0, 1, 3, 255}, blocks = {1, 2, 32};
    std::vector<Case> list;
    for (const auto& row : all_pairs({widths.size(), heights.size(), 4, streams.size(), works.size(), blocks.size()}))
        list.push_back({widths[row[0]], heights[row[1]], static_cast<int>(row[2]) + 1, streams[row[3]], works[row[4]],
                        blocks[row[5]]});
    return list;
}

/// The smaller ones, for oclgrind, and strips of two groups (8 KiB) and a ragged one.
inline const std::vector<Case>& small_cases() {
    static const std::vector<Case> cases = {{1, 1, 4, 1, 0},    {1, 1, 3, 4, 5},   {5, 7, 3, 3, 1},   {7, 5, 2, 4, 2},
                                            {9, 11, 4, 4, 1},   {17, 13, 1, 6, 0}, {5, 2, 4, 2, 256}, {1, 40, 1, 20, 0},
                                            {2051, 2, 4, 2, 0}, {2735, 1, 3, 1, 1}};
    return cases;
}

/// For compute-sanitizer: a block and a ragged one, rows that begin at any address, and grids that stride twice and end
/// ragged: one block beyond 8 KiB, cuda_polling's beyond 1 MiB.
inline const std::vector<Case>& sanitizer_cases() {
    static const std::vector<Case> cases = {{1, 1, 4, 1, 0},   {5, 7, 3, 3, 1},       {1025, 2, 4, 2, 0, 1},
                                            {33, 64, 2, 8, 1}, {1041, 4, 4, 2, 1, 1}, {1025, 257, 4, 1, 0}};
    return cases;
}

inline Problem problem_of(const Case& c) {
    Problem p{random_image(c.width, c.height, c.channels, seed + c.width + c.height), c.work, c.streams};
    p.mapped_blocks = c.mapped_blocks;
    return p;
}

/// A fault with the problem at which it was found, or "".
inline std::string at_problem(const Problem& p, const std::string& fault) {
    if (fault.empty()) return "";
    return fmt::format("{} x {} pixels of {} channels, {} streams, work {}: {}", p.image.width, p.image.height,
                       p.image.channels, p.streams, p.work, fault);
}

/// What is wrong with a variant's answer to a problem, or "".
inline std::string fault_of(Run* run, const Problem& p) {
    const Output reference = reference_output(p);
    Output out = reference;
    return at_problem(p, gpulab::testing::fault_of(run, p, out, [&] { return compare(reference, out); }));
}

/// Runs a variant on every case on the current device.
/// @return the first fault and its case; "" when all answers are right
inline std::string first_fault(Run* run, const std::vector<Case>& cases) {
    return first_in(cases, [&](const Case& c) { return fault_of(run, problem_of(c)); });
}

/// The same for what makes every command slow: runs each problem only once.
inline std::string first_fault_at_once(Run* run, const std::vector<Problem>& problems) {
    return first_in(problems, [&](const Problem& p) {
        Output out{std::vector<unsigned char>(p.bytes()), {}};
        poison(out);
        Stopwatch once;
        in_turn([&] { run(p, out, once); });
        return at_problem(p, compare(reference_output(p), out).message);
    });
}

/// What is wrong with a variant's answers for many rounds of work, or "".
inline std::string heavy_fault(Run* run) {
    std::string fault = first_fault(run, heavy_cases());
    if (!fault.empty()) return fault;
    std::vector<Problem> problems;
    for (const Case& c : heaviest_cases()) problems.push_back(problem_of(c));
    return first_fault_at_once(run, problems);
}

/// Two pixels whose result can be computed by hand.
struct ByHand {
    int channels;
    unsigned work;
    std::vector<unsigned char> before, after;
    Problem problem() const { return {{1, 2, channels, before}, work, 3}; }
};

inline const std::vector<ByHand>& pixels_by_hand() {
    // Work: 1 * 181 + 97 = 278 = 22 (mod 256); 22 xor 22 / 8 = 22 xor 2 = 20; inverted 235.
    //       0 * 181 + 97 = 97; 97 xor 12 = 109; inverted 146.
    // Twice: 20 * 181 + 97 = 3717 = 133; 133 xor 16 = 149; inverted 106.
    //        109 * 181 + 97 = 19826 = 114; 114 xor 14 = 124; inverted 131.
    static const std::vector<ByHand> list = {
        {1, 0, {0, 255}, {255, 0}},
        {2, 0, {10, 20, 0, 0}, {245, 20, 255, 0}},
        {3, 0, {0, 1, 2, 253, 254, 255}, {255, 254, 253, 2, 1, 0}},
        {4, 0, {1, 2, 3, 4, 100, 101, 102, 255}, {254, 253, 252, 4, 155, 154, 153, 255}},
        {4, 1, {1, 0, 1, 1, 0, 1, 0, 0}, {235, 146, 235, 1, 146, 235, 146, 0}},
        {2, 2, {1, 1, 0, 0}, {106, 1, 131, 0}}};
    return list;
}

inline std::string by_hand_fault(Run* run) {
    return first_in(pixels_by_hand(), [&](const ByHand& hand) {
        Output out{std::vector<unsigned char>(hand.before.size(), 77), {}};
        Stopwatch once;
        in_turn([&] { run(hand.problem(), out, once); });
        const std::string fault = compare({hand.after, {}}, out).message;
        return fault.empty() ? "" : fmt::format("{} channels, work {}: {}", hand.channels, hand.work, fault);
    });
}

/// Each of the 256 bytes at each of the 16 places of a vector; in strips that begin at a multiple of 16 bytes and in
/// strips that do not; as colour and as alpha.
inline std::string every_byte_fault(Run* run) {
    for (int channels = 1; channels <= 4; ++channels)
        for (const unsigned work : {0u, 1u, 4u, 255u}) {
            const std::size_t width = 4096 / static_cast<std::size_t>(channels) + 1;
            Problem p{random_image(width, 3, channels, 1), work, 3};
            for (std::size_t i = 0; i < p.bytes(); ++i) {
                const std::size_t at = i % p.image.row_bytes(); // in the strip, which is a row
                p.image.pixels[i] = static_cast<unsigned char>(at / 16 + 16 * (at % 16));
            }
            if (const std::string fault = fault_of(run, p); !fault.empty()) return fault;
        }
    return "";
}

/// Images that contain the mark of cuda_polling, so that they look as if they had not arrived: as 100, 50 and 1 % of
/// the words; in each subset of the four words of 16 bytes; and beginning at each of 16 bytes, across words as well.
inline std::vector<Problem> problems_with_marks() {
    std::vector<Problem> problems;
    /// Puts the mark at each multiple of `step` bytes that `wanted` says.
    const auto add = [&](std::size_t width, int channels, std::size_t step, const auto& wanted) {
        Problem& p = problems.emplace_back(Problem{random_image(width, 50, channels, 1), 0, 7});
        for (std::size_t at = 0; at < p.bytes(); at += step)
            if (wanted(at))
                std::memcpy(&p.image.pixels[at], &nothing_yet, std::min(sizeof nothing_yet, p.bytes() - at));
    };
    for (const auto& [width, channels] : {std::pair<std::size_t, int>{64, 4}, {5, 4}, {67, 1}, {31, 3}, {33, 2}}) {
        for (const unsigned percent : {100u, 50u, 1u})
            add(width, channels, 4, [&](std::size_t at) { return gpulab::random_bits(2, at) % 100 < percent; });
        add(width, channels, 4, [](std::size_t at) { return at / 16 >> at / 4 % 4 & 1; }); // vector v: the bits of v
        add(width, channels, 33, [](std::size_t) { return true; });
    }
    return problems;
}

inline std::string mark_fault(Run* run) {
    return first_in(problems_with_marks(), [&](const Problem& p) { return fault_of(run, p); });
}

/// Images and strips of as many bytes and rows as the variant's tiles, and of one more and one less.
/// @param p the problem with which the variant named them; its mapped_blocks are used here too
inline std::vector<Case> cases_next_to(const std::vector<gpulab::Tile>& tiles, std::size_t largest, const Problem& p) {
    std::vector<Case> cases;
    const auto add = [&](std::size_t width, std::size_t height, int channels, std::size_t streams, unsigned work) {
        if (width > 0 && height > 0) cases.push_back({width, height, channels, streams, work, p.mapped_blocks});
    };
    for (const std::size_t bytes : sizes_next_to(tiles, largest, "bytes")) {
        const int channels = bytes % 4 == 0 ? 4 : bytes % 3 == 0 ? 3 : bytes % 2 == 0 ? 2 : 1;
        add(bytes, 1, 1, 1, 1);                                             // as the only strip
        add(bytes / static_cast<std::size_t>(channels), 2, channels, 2, 0); // as two strips
    }
    for (const std::size_t rows : sizes_next_to(tiles, largest, "rows")) {
        add(5, rows, 3, p.streams, 0);
        add(4, rows, 4, p.streams, 1);
    }
    return cases;
}

/// Runs a variant on a small problem. @return what it failed to do beside its answer, or ""
/// @param tiles receives the tiles that it names
inline std::string contract_violation(Run* run, gpulab::Backend backend, const Problem& p,
                                      std::vector<gpulab::Tile>& tiles) {
    Output out{std::vector<unsigned char>(p.bytes()), {}};
    Stopwatch once;
    in_turn([&] { run(p, out, once); });
    tiles = once.tiles();
    const std::string fault = gpulab::testing::contract_violation(backend, false, once, {"bytes", "rows"});
    if (!fault.empty()) return fault;
    const auto pixels_of = [&](std::vector<unsigned char>& pixels, Stopwatch& watch) {
        run(p, out, watch);
        pixels = out.pixels;
    };
    return reset_fault(pixels_of, out.pixels);
}

/// A problem with small grids.
inline Problem small_grids() { return problem_of({64, 50, 4, 6, 0, 3}); }

} // namespace streams::testing
