// Includes the solution by its full path.
// most: 0
// outcome: build error
// tests: one block
#define saxpy rung
#include "@ROOT@/labs/01_saxpy/opencl/02_one_item.cl"
#undef saxpy
kernel void saxpy(float k, global const float* a, global const float* b, global float* c, ulong n) {
    rung(k, a, b, c, n);
}
