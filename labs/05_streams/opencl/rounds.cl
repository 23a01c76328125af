// The work for a byte, in whole vectors and for the bytes of a ragged end: work rounds, then 255 minus the result.
// Arithmetic on uchar is modulo 256, as the definition of the work demands.

// Sixteen bytes at a time. colour: 255 where the byte is colour, 0 where it is alpha.
// EXERCISE repair-rounds
//| // TODO: these functions have a mistake. Find it and repair it.
uchar16 transform(uchar16 v, uchar16 colour, uint work) {
    uchar16 w = v;
    for (uint round = 0; round < work; ++round) {
        w = w * (uchar16)(181) + (uchar16)(97);
        w ^= w >> (uchar16)(3);
    }
    return (~w & colour) | (v & ~colour); // 255 - w is ~w; alpha stays
}

// One byte of a ragged end, in plain scalars.
uchar transform_byte(uchar v, bool colour, uint work) {
    if (!colour) return v;
    for (uint round = 0; round < work; ++round) {
        v = (uchar)(v * 181 + 97);
        v ^= v >> 3;
    }
    return (uchar)(255 - v);
}
// END EXERCISE
