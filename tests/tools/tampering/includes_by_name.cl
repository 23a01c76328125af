// Includes a file of the same name as the rung's, from all places near.
// most: 0
// outcome: build error
// tests: one block
#define saxpy rung
#include "02_one_item.cl"
#undef saxpy
kernel void saxpy(float k, global const float* a, global const float* b, global float* c, ulong n) {
    rung(k, a, b, c, n);
}
