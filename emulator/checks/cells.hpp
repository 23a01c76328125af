/// @file
/// Who last wrote a piece of memory, and who has read it since.
#pragma once

#include <cstddef>
#include <cstdint>

#include "checks/ordering.hpp"

namespace cuda_emulator {

/// How strong an access is in the sense of the PTX ISA: atomic operations, volatile, relaxed and stronger ones do not
/// race with each other where the scope of each includes the other's thread. What cp.async writes is under way until
/// its thread has waited for it: nobody may touch it.
enum class Strength : unsigned { weak, block, device, under_way };

/// The last access of a kind. 16 bytes of zeros: none.
struct Record {
    std::uint32_t round = 0; ///< of which launch (shared memory: of which block's run); another one's do not count
    std::uint32_t block = 0;
    Time time = 0;
    std::uint32_t who = 0; ///< thread 10 bits, strength 2, instruction 20

    static std::uint32_t pack(unsigned thread, Strength strength, std::uint32_t instruction) {
        return thread | static_cast<unsigned>(strength) << 10 | (instruction & 0xfffff) << 12;
    }
    unsigned thread() const { return who & 0x3ff; }
    Strength strength() const { return static_cast<Strength>(who >> 10 & 3); }
    std::uint32_t instruction() const { return who >> 12; }
    Stamp stamp() const { return {block, static_cast<std::uint16_t>(thread()), time}; }
};

/// The records of memory cells: of words of four bytes, and of the bytes of what is accessed byte by byte.
struct Cells {
    Record *write = nullptr, *read = nullptr, *other_read = nullptr;
};

/// Calls `race(earlier record, whether that was a write)` for those with which an access to cell `i` races.
template <class Race>
void check(const Cells& cells, std::size_t i, const Record& mine, bool writes, BlockOrder& order, const Race& race) {
    const auto races = [&](const Record& r) {
        if (r.round != mine.round) return false;
        if (r.strength() == Strength::under_way) return true;
        if (order.knows(mine.thread(), r.stamp())) return false;
        const auto strong = [](const Record& one) {
            return one.strength() == Strength::block || one.strength() == Strength::device;
        };
        if (!strong(r) || !strong(mine)) return true;
        return r.block != mine.block && (r.strength() == Strength::block || mine.strength() == Strength::block);
    };
    if (races(cells.write[i])) race(cells.write[i], true);
    if (!writes) return;
    if (races(cells.read[i])) race(cells.read[i], false);
    if (races(cells.other_read[i])) race(cells.other_read[i], false);
}

/// The same, and notes the access.
///
/// Of those who have read a cell two are remembered, of different blocks or warps where possible: of any two readers at
/// least one races with a writer who knows of neither. (FastTrack remembers all.)
template <class Race>
void note(const Cells& cells, std::size_t i, const Record& mine, bool writes, BlockOrder& order, const Race& race) {
    check(cells, i, mine, writes, order, race);
    Record &one = cells.read[i], &other = cells.other_read[i];
    if (writes) {
        cells.write[i] = mine;
        if (one.round == mine.round) one.round = 0; // not touched in vain: an untouched page takes no memory
        if (other.round == mine.round) other.round = 0;
        return;
    }
    const bool strong = mine.strength() != Strength::weak;
    const auto replaceable = [&](const Record& r) {
        return r.round != mine.round || order.knows(mine.thread(), r.stamp()) ||
               (r.strength() != Strength::weak && !strong);
    };
    const auto warp = [](const Record& r) { return r.thread() / 32; };
    if (replaceable(one)) one = mine;
    else if (replaceable(other)) other = mine;
    else if (strong && (one.strength() == Strength::weak || other.strength() == Strength::weak)) return;
    else if (one.block == other.block &&
             (mine.block != one.block || (warp(one) == warp(other) && warp(mine) != warp(one))))
        other = mine;
}

} // namespace cuda_emulator
