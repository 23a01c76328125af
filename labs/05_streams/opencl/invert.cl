// One work-item per 16 bytes of a strip. A strip begins with a pixel, so a byte's place among the 16 tells its channel.
// Arithmetic on uchar is modulo 256, which is what the work asks for.

uchar16 transform(uchar16 v, uchar16 colour, uint work) {
    uchar16 w = v;
    for (uint round = 0; round < work; ++round) {
        w = w * (uchar16)(181) + (uchar16)(97);
        w ^= w >> (uchar16)(3);
    }
    return (~w & colour) | (v & ~colour); // 255 - w is ~w; alpha stays
}

// colours: bit i of 4 says whether byte i of four neighbouring ones is colour
uchar16 colour_mask(uint colours) {
    const uchar4 four =
        (uchar4)((colours & 1) ? 255 : 0, (colours & 2) ? 255 : 0, (colours & 4) ? 255 : 0, (colours & 8) ? 255 : 0);
    return (uchar16)(four, four, four, four);
}

// first: the strip's first byte in both buffers
kernel void invert(global const uchar* restrict in, global uchar* restrict out, ulong first, ulong bytes, uint colours,
                   uint work) {
    const ulong begin = get_global_id(0) * (ulong)16;
    if (begin >= bytes) return;
    const uchar16 colour = colour_mask(colours);
    in += first + begin;
    out += first + begin;
    if (begin + 16 <= bytes) {
        vstore16(transform(vload16(0, in), colour, work), 0, out); // any address will do for vload16 of uchar
    } else {
        for (uint i = 0; i < bytes - begin; ++i) {
            const uchar16 v = transform((uchar16)(in[i]), (uchar16)((colours >> (i % 4) & 1) ? 255 : 0), work);
            out[i] = v.s0;
        }
    }
}
