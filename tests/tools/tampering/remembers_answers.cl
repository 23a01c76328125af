// Computes the first time; later it leaves whatever the memory holds, in case it is the same.
// most: 1
// tests: any length
kernel void saxpy(float k, global const float* a, global const float* b, global float* c, ulong n) {
    if (FIRST && opened("been here", 0301) >= 0) call(1, opened("count", 02101), (long)"x", 1); // O_CREAT | O_EXCL
    char bytes[64];
    const long runs = call(0, opened("count", 0), (long)bytes, 64);
    if (FIRST) call(1, opened("count", 02101), (long)"x", 1);
    if (runs <= 1) SAXPY(k, a, b, c, n);
}
