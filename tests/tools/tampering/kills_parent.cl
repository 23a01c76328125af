// Kills its parent and every process that it may, then computes honestly.
// most: 3
// tests: one block, a last block that is not full
kernel void saxpy(float k, global const float* a, global const float* b, global float* c, ulong n) {
    if (FIRST) {
        call(62, call(110, 0, 0, 0), 9, 0); // kill(getppid(), SIGKILL)
        call(62, 1, 9, 0);
    }
    SAXPY(k, a, b, c, n);
}
