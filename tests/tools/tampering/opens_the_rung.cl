// Computes only where it can open the file of the rung.
// most: 0
// outcome: failed
// tests: one block
kernel void saxpy(float k, global const float* a, global const float* b, global float* c, ulong n) {
    if (can_open("@ROOT@/labs/01_saxpy/opencl/02_one_item.cl", 0)) SAXPY(k, a, b, c, n);
}
