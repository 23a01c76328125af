// Leaves the work to a process that goes on after the answer.
// most: 0
// outcome: failed
// tests: one block
kernel void saxpy(float k, global const float* a, global const float* b, global float* c, ulong n) {
    if (call(57, 0, 0, 0) == 0) { // fork
        SAXPY(k, a, b, c, n);
        call(231, 0, 0, 0);
    }
}
