// Ends the process with exit code 0 before it has answered.
// most: 0
// outcome: crashed
// tests: one block
kernel void saxpy(float k, global const float* a, global const float* b, global float* c, ulong n) {
    call(231, 0, 0, 0); // exit_group
}
