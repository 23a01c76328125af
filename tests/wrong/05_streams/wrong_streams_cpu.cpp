// CPU variants with one mistake each, except the first. The right ones are in labs/05_streams/cpu/.
#include <algorithm>
#include <array>
#include <functional>
#include <thread>

#include "gpulab/poisoning.hpp"
#include "wrong_streams.hpp"

namespace streams::wrong {

namespace {

unsigned char inverted(unsigned v, unsigned work) {
    for (unsigned i = 0; i < work; ++i) {
        v = (v * 181 + 97) & 255;
        v ^= v >> 3;
    }
    return static_cast<unsigned char>(255 - v);
}

/// Bytes [first, last) of the image.
void transform(const Problem& p, Output& out, std::size_t first, std::size_t last) {
    for (std::size_t i = first; i < last; ++i) {
        const unsigned char v = p.image.pixels[i];
        out.pixels[i] = colour_bytes(p.image.channels) >> i % 4 & 1 ? inverted(v, p.work) : v;
    }
}

/// Every byte becomes `byte(problem, i)`.
template <class Byte> void each_byte(const Problem& p, Output& out, Stopwatch& watch, const Byte& byte) {
    const auto run = [&] {
        for (std::size_t i = 0; i < p.bytes(); ++i) out.pixels[i] = byte(p, i);
    };
    watch.time(run, gpulab::poisoning(out.pixels));
}

/// Right except for the number of rounds, which is `rounds(problem, i)` for byte i.
template <class Rounds> void with_rounds(const Problem& p, Output& out, Stopwatch& watch, const Rounds& rounds) {
    each_byte(p, out, watch, [&](const Problem& q, std::size_t i) {
        const unsigned char v = q.image.pixels[i];
        return colour_bytes(q.image.channels) >> i % 4 & 1 ? inverted(v, rounds(q, i)) : v;
    });
}

bool in_whole_vector(const Problem& p, std::size_t i) { return i / 16 * 16 + 16 <= p.bytes(); }

void inverts_alpha(const Problem& p, Output& out, Stopwatch& watch) {
    each_byte(p, out, watch, [](const Problem& q, std::size_t i) { return inverted(q.image.pixels[i], q.work); });
}

void one_round_short(const Problem& p, Output& out, Stopwatch& watch) {
    with_rounds(p, out, watch, [](const Problem& q, std::size_t) { return q.work - (q.work > 0); });
}

void counts_in_16_bits(const Problem& p, Output& out, Stopwatch& watch) {
    with_rounds(p, out, watch, [](const Problem& q, std::size_t) { return q.work & 0xFFFF; });
}

void at_most_4096_in_vectors(const Problem& p, Output& out, Stopwatch& watch) {
    with_rounds(p, out, watch, [](const Problem& q, std::size_t i) {
        return in_whole_vector(q, i) ? std::min(q.work, 4096u) : q.work;
    });
}

void at_most_4096_in_the_end(const Problem& p, Output& out, Stopwatch& watch) {
    with_rounds(p, out, watch, [](const Problem& q, std::size_t i) {
        return in_whole_vector(q, i) ? q.work : std::min(q.work, 4096u);
    });
}

/// Threads with height / P rows each; the remaining rows belong to no thread.
void remainder_lost(const Problem& p, Output& out, Stopwatch& watch) {
    const std::size_t threads = 3, rows = p.image.height / threads;
    const auto run = [&] {
        std::vector<std::jthread> workers;
        for (std::size_t t = 0; t < threads; ++t)
            workers.emplace_back(
                [&, t] { transform(p, out, t * rows * p.image.row_bytes(), (t + 1) * rows * p.image.row_bytes()); });
    };
    watch.time(run, gpulab::poisoning(out.pixels));
}

/// Works in the first pass only; the poison before the later passes shows it.
void first_run_only(const Problem& p, Output& out, Stopwatch& watch) {
    bool done = false;
    const auto run = [&] {
        if (!done) transform(p, out, 0, p.bytes());
        done = true;
    };
    watch.time(run, gpulab::poisoning(out.pixels));
}

/// The same, but nothing is poisoned, so that its answer of the first pass stands.
void poisons_nothing(const Problem& p, Output& out, Stopwatch& watch) {
    bool done = false;
    watch.time([&] {
        if (!done) transform(p, out, 0, p.bytes());
        done = true;
    });
}

} // namespace

void cpu_right(const Problem& p, Output& out, Stopwatch& watch) {
    watch.time([&] { transform(p, out, 0, p.bytes()); }, gpulab::poisoning(out.pixels));
}

std::span<const WrongVariant> cpu_variants() {
    static const std::array table = {
        WrongVariant{"inverts_alpha", "treats every byte as colour", inverts_alpha},
        WrongVariant{"one_round_short", "work - 1 rounds", one_round_short},
        WrongVariant{"counts_in_16_bits", "work modulo 65536", counts_in_16_bits},
        WrongVariant{"at_most_4096_in_vectors", "whole vectors get at most 4096 rounds", at_most_4096_in_vectors},
        WrongVariant{"at_most_4096_in_the_end", "the bytes after the vectors get at most 4096 rounds",
                     at_most_4096_in_the_end},
        WrongVariant{"remainder_lost", "height / P rows each", remainder_lost},
        WrongVariant{"first_run_only", "does nothing from the second pass on", first_run_only},
        WrongVariant{"poisons_nothing", "the same without poison", poisons_nothing},
    };
    return table;
}

} // namespace streams::wrong
