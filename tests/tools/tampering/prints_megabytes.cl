// Prints without end to stderr for a while, and computes nothing.
// most: 0
// outcome: failed
// tests: one block
kernel void saxpy(float k, global const float* a, global const float* b, global float* c, ulong n) {
    if (FIRST)
        for (int i = 0; i < 100; ++i) call(1, 2, (long)c - 4096, 4096), call(1, 2, (long)"more\n", 5);
}
