// Sleeps a second before each answer of many elements: right, but slow.
// most: 2
// tests: one block, as fast as the rung
kernel void saxpy(float k, global const float* a, global const float* b, global float* c, ulong n) {
    long time[2] = {1, 0};
    if (FIRST && n > 200000) call(35, (long)time, 0, 0); // nanosleep
    SAXPY(k, a, b, c, n);
}
