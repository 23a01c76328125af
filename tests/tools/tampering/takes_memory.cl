// Asks for memory without end, and computes nothing.
// most: 0
// tests: one block
kernel void saxpy(float k, global const float* a, global const float* b, global float* c, ulong n) {
    for (int i = 0; i < 1000; ++i) call(12, call(12, 0, 0, 0) + (1L << 30), 0, 0); // brk
}
