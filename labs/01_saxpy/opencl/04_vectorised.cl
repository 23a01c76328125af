// One float4 per work-item: 16 bytes in one load. The pointers are cast to float4, which has an alignment of 16
// bytes; the buffers start at multiples of 16 bytes, so the cast is valid. vload4 assumes only the alignment of a
// float, so a GPU has to load 4 bytes four times.
kernel void saxpy(float k, global const float* restrict a, global const float* restrict b, global float* restrict c,
                  ulong n) {
    // ANSWER many-blocks
    global const float4* a4 = (global const float4*)a;
    global const float4* b4 = (global const float4*)b;
    global float4* c4 = (global float4*)c;
    const size_t v = get_global_id(0);
    const size_t vectors = n / 4;
    if (v < vectors) c4[v] = k * a4[v] + b4[v];

    // n mod 4 elements remain at the end: the first work-items take one each.
    const size_t i = vectors * 4 + v;
    if (v < 4 && i < n) c[i] = k * a[i] + b[i];
    // END ANSWER
}
