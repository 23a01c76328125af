// 16 bytes at a time. A work-group owns a tile of 4 x (local size) float4; item l takes float4 number l, l + local
// size, ... of it, so that neighbouring items always touch neighbouring vectors.
// The pointers are cast to float4: vload4 promises no more than the alignment of a float, and a GPU then loads four
// times 4 bytes. The buffers start at multiples of 16 bytes, so the cast is right.
#define PER_ITEM 4

kernel void saxpy(float k, global const float* restrict a, global const float* restrict b, global float* restrict c,
                  ulong n) {
    global const float4* a4 = (global const float4*)a;
    global const float4* b4 = (global const float4*)b;
    global float4* c4 = (global float4*)c;
    const size_t vectors = n / 4;
    const size_t local_size = get_local_size(0);
    const size_t first = get_group_id(0) * local_size * PER_ITEM + get_local_id(0);

    if (first + (PER_ITEM - 1) * local_size < vectors) { // a whole tile: all loads before the first use
        float4 x[PER_ITEM], y[PER_ITEM];
        #pragma unroll
        for (int j = 0; j < PER_ITEM; ++j) x[j] = a4[first + j * local_size];
        #pragma unroll
        for (int j = 0; j < PER_ITEM; ++j) y[j] = b4[first + j * local_size];
        #pragma unroll
        for (int j = 0; j < PER_ITEM; ++j) c4[first + j * local_size] = k * x[j] + y[j];
    } else {
        for (int j = 0; j < PER_ITEM; ++j) {
            const size_t v = first + j * local_size;
            if (v < vectors) c4[v] = k * a4[v] + b4[v];
        }
    }

    // n mod 4 elements are left over: the first work-items take one each.
    const size_t i = vectors * 4 + get_global_id(0);
    if (get_global_id(0) < 4 && i < n) c[i] = k * a[i] + b[i];
}
