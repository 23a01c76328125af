// Includes the input of the worker, where the next case would come from.
// most: 0
// tests: one block
#include "/dev/stdin"
kernel void saxpy(float k, global const float* a, global const float* b, global float* c, ulong n) {}
