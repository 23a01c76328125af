// Right, but with twenty times the work: each item writes its element again and again.
// most: 1.2
// outcome: failed
// tests: as fast as the rung
// repeats: 25
kernel void saxpy(float k, global const float* a, global const float* b, global float* c, ulong n) {
    const size_t i = get_global_id(0);
    for (int times = 0; i < n && times < 20; ++times) {
        volatile global float* const out = c + i;
        *out = k * a[i] + b[i];
    }
}
