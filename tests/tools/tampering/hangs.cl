// Never ends.
// most: 0
// outcome: timed out
// tests: one block
// seconds: 3
kernel void saxpy(float k, global const float* a, global const float* b, global float* c, ulong n) {
    volatile int i = 0;
    while (i == 0) {
    }
}
