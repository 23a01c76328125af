// One work-item per 16 bytes of a strip. A strip begins with a pixel, so a byte's place among the 16 tells whether it
// is alpha. The arithmetic on a byte is in rounds.cl.

// colours: bit i, of 4, says whether byte i of four neighbouring bytes is colour. The mask is built in words and used
// as bytes, which assumes a little-endian device.
uchar16 colour_mask(uint colours) {
    const uint four = (colours & 1 ? 255u : 0) | (colours & 2 ? 255u << 8 : 0) | (colours & 4 ? 255u << 16 : 0) |
                      (colours & 8 ? 255u << 24 : 0);
    return as_uchar16((uint4)(four));
}

// first: the strip's first byte in both buffers
kernel void invert(global const uchar* restrict in, global uchar* restrict out, ulong first, ulong bytes, uint colours,
                   uint work) {
    // EXERCISE invert
    //| // TODO: this item has the 16 bytes of the strip from 16 * get_global_id(0) on, or fewer at the end of the
    //| // strip, or none. Whole vectors: vload16, transform() with colour_mask(colours), vstore16; neither needs an
    //| // address that 16 divides. A ragged end: transform_byte(), byte by byte. Byte i of the strip is colour if bit
    //| // i % 4 of colours is set.
    const ulong begin = get_global_id(0) * (ulong)16;
    if (begin >= bytes) return;
    const uchar16 colour = colour_mask(colours);
    if (begin + 16 <= bytes) {
        vstore16(transform(vload16(0, in + first + begin), colour, work), 0,
                 out + first + begin); // vload and vstore need no alignment
    } else {
        for (ulong i = begin; i < bytes; ++i)
            out[first + i] = transform_byte(in[first + i], colours >> (i % 4) & 1, work);
    }
    // END EXERCISE
}
