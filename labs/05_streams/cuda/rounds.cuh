/// @file
/// The work for a word of four bytes: work rounds on each byte, then 255 minus the result.
#pragma once

namespace streams {

/// Applies the work to the colour bytes of a word and inverts them; the other bytes stay.
/// @param colours bit i: byte i is colour
// EXERCISE repair-rounds
//| // TODO: this function has a mistake. Find it and repair it.
__device__ inline unsigned transform_word(unsigned word, unsigned colours, unsigned work) {
    unsigned result = word;
#pragma unroll
    for (unsigned i = 0; i < 4; ++i) {
        if (!(colours >> i & 1)) continue;
        unsigned v = word >> 8 * i & 255;
        for (unsigned round = 0; round < work; ++round) {
            v = (v * 181 + 97) & 255;
            v ^= v >> 3;
        }
        result = (result & ~(255u << 8 * i)) | (255 - v) << 8 * i;
    }
    return result;
}
// END EXERCISE

} // namespace streams
