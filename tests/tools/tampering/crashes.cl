// Writes to address 8.
// most: 0
// outcome: crashed
// tests: one block
kernel void saxpy(float k, global const float* a, global const float* b, global float* c, ulong n) {
    *(volatile global int*)8 = 1;
}
