// The kernels of the studies. cuda/studies.cu explains what each of them shows.
kernel void block_size(float k, global const float* a, global const float* b, global float* c, ulong n) {
    // ANSWER many-blocks
    //| // withheld, because it tells the answer of the exercise many-blocks
    const size_t i = get_global_id(0);
    if (i < n) c[i] = k * a[i] + b[i];
    // END ANSWER
}

// Item (x, y) takes element x * stride + y. The items of a group are neighbours in x, so their elements are `stride`
// apart.
kernel void strided(float k, global const float* a, global const float* b, global float* c, ulong n) {
    const size_t i = get_global_id(0) * get_global_size(1) + get_global_id(1);
    if (i < n) c[i] = k * a[i] + b[i];
}

// The host defines ROUNDS when it builds the program.
kernel void divergence(int even_odd, global uint* out, ulong n) {
    const size_t i = get_global_id(0);
    if (i >= n) return;
    const bool first = even_odd ? i % 2 == 0 : i / 32 % 2 == 0;
    uint x = (uint)(i + 1);
    if (first) {
        for (uint r = 0; r < ROUNDS; ++r) {
            x ^= x >> 13;
            x ^= x << 17;
            x ^= x >> 5;
        }
    } else {
        for (uint r = 0; r < ROUNDS; ++r) {
            x ^= x << 13;
            x ^= x >> 17;
            x ^= x << 5;
        }
    }
    out[i] = x;
}
