// One work-item per byte, as in the lecture, and one mistake each but in the first, which is right.
#define ARGUMENTS \
    global const uchar *in, global uchar *out, ulong first, ulong bytes, uint colours, uint channels, uint work

uchar rounds(uchar v, uint work) {
    for (uint i = 0; i < work; ++i) {
        v = (uchar)(v * 181 + 97);
        v ^= v >> 3;
    }
    return v;
}

kernel void no_mistake(ARGUMENTS) {
    const size_t i = get_global_id(0);
    if (i >= bytes) return;
    const uchar v = in[first + i];
    out[first + i] = (colours >> (i % 4) & 1) ? (uchar)(255 - rounds(v, work)) : v;
}

kernel void inverts_alpha(ARGUMENTS) { // every byte is taken for colour
    const size_t i = get_global_id(0);
    if (i >= bytes) return;
    out[first + i] = (uchar)(255 - rounds(in[first + i], work));
}

kernel void rgb_as_rgba(ARGUMENTS) { // every image is taken for one of four channels
    const size_t i = get_global_id(0);
    if (i >= bytes) return;
    const uchar v = in[first + i];
    out[first + i] = i % 4 != 3 ? (uchar)(255 - rounds(v, work)) : v;
}

kernel void rgba_as_rgb(ARGUMENTS) { // a pixel of RGBA is taken for three bytes: two items, one byte forgotten
    const size_t i = get_global_id(0);
    if (i >= bytes / channels * min(channels, 3u)) return;
    const uchar v = in[first + i];
    out[first + i] = (colours >> (i % 4) & 1) ? (uchar)(255 - rounds(v, work)) : v;
}

kernel void no_bounds_check(ARGUMENTS) { // the ragged group works on to its end
    const size_t i = get_global_id(0);
    const uchar v = i < bytes ? in[first + i] : 0;
    out[first + i] = (colours >> (i % 4) & 1) ? (uchar)(255 - rounds(v, work)) : v;
}

kernel void one_round_short(ARGUMENTS) { // counts from 1
    const size_t i = get_global_id(0);
    if (i >= bytes) return;
    const uchar v = in[first + i];
    out[first + i] = (colours >> (i % 4) & 1) ? (uchar)(255 - rounds(v, work > 0 ? work - 1 : 0)) : v;
}

kernel void counts_in_a_byte(ARGUMENTS) { // the counter wraps
    const size_t i = get_global_id(0);
    if (i >= bytes) return;
    const uchar v = in[first + i];
    out[first + i] = (colours >> (i % 4) & 1) ? (uchar)(255 - rounds(v, (uchar)work)) : v;
}

kernel void first_strip_only(ARGUMENTS) { // the offset of the strip is forgotten
    const size_t i = get_global_id(0);
    if (i >= bytes) return;
    const uchar v = in[i];
    out[i] = (colours >> (i % 4) & 1) ? (uchar)(255 - rounds(v, work)) : v;
}

kernel void minus_from_256(ARGUMENTS) { // 256 - v, which is 255 - v plus one
    const size_t i = get_global_id(0);
    if (i >= bytes) return;
    const uchar v = in[first + i];
    out[first + i] = (colours >> (i % 4) & 1) ? (uchar)(256 - rounds(v, work)) : v;
}

uint capped(uint work) { return min(work, 4096u); }
bool in_whole_vector(size_t i, ulong bytes) { return i / 16 * 16 + 16 <= bytes; }

kernel void counts_in_16_bits(ARGUMENTS) {
    const size_t i = get_global_id(0);
    if (i >= bytes) return;
    const uchar v = in[first + i];
    out[first + i] = (colours >> (i % 4) & 1) ? (uchar)(255 - rounds(v, (ushort)work)) : v;
}

kernel void at_most_4096_in_vectors(ARGUMENTS) { // 16 bytes at a time get no more than 4096 rounds
    const size_t i = get_global_id(0);
    if (i >= bytes) return;
    const uchar v = in[first + i];
    const uint w = in_whole_vector(i, bytes) ? capped(work) : work;
    out[first + i] = (colours >> (i % 4) & 1) ? (uchar)(255 - rounds(v, w)) : v;
}

kernel void at_most_4096_in_the_end(ARGUMENTS) { // what is left after them gets no more
    const size_t i = get_global_id(0);
    if (i >= bytes) return;
    const uchar v = in[first + i];
    const uint w = in_whole_vector(i, bytes) ? work : capped(work);
    out[first + i] = (colours >> (i % 4) & 1) ? (uchar)(255 - rounds(v, w)) : v;
}
